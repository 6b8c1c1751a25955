"""What the files of a home say about its gateway. Reads only: no lock is tried, nothing is made."""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from hermes_desktop.core.events import UndoneWork
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.runtime_files import identity_files, process_facts
from hermes_desktop.gateway.runtime_files.identity_events import ForeignGateway
from hermes_desktop.gateway.status import drain_requested, read_foreign_gateway

SILENT_AFTER_S = 120.0
"""Hermes Desktop says every half minute that it is there."""
_LOOKS = 5


@dataclass(frozen=True, slots=True)
class PlatformFacts:
    """What the gateway says about one platform. Times are seconds since the epoch."""

    name: str
    state: str
    error: str = ""
    updated_at: float | None = None


@dataclass(frozen=True, slots=True)
class GatewayFacts:
    """Who is the gateway of a home, or who was the last one. Times are seconds since the epoch.

    Attributes:
        gateway: The one that runs; None when none does.
        program_pid: The program behind it: itself, or the Hermes Desktop that hosts it.
        windowed: Whether that program is one with a window; None when nobody tells.
        state: What it says about itself; of the last one, when none runs.
        updated_at: When that was written.
        exit_reason: Why the last one ended, "" for an end in order.
        service: The definition of a service that starts `hermes gateway` for this home.
        drain_requested: A tool asks the gateway to take no new messages.
        not_ours: Why Hermes Desktop hosts no gateway of this home; "" where it may.
        undone: What `hermes` expects of the gateway that runs and that it does not do.
    """

    home: Path
    gateway: ForeignGateway | None
    program_pid: int = 0
    windowed: bool | None = None
    state: str = ""
    started_at: float | None = None
    updated_at: float | None = None
    exit_reason: str = ""
    platforms: tuple[PlatformFacts, ...] = ()
    service: Path | None = None
    drain_requested: bool = False
    not_ours: str = ""
    undone: UndoneWork | None = None

    @property
    def kind(self) -> str | None:
        """``hermes-desktop``, ``hermes``, or None."""
        if self.gateway is None:
            return None
        return "hermes-desktop" if self.gateway.is_hermes_desktop else "hermes"

    @property
    def ended_without_a_word(self) -> bool:
        """Whether the last one was killed, or crashed."""
        said_the_end = self.state in {"", "stopped", "startup_failed"}
        return self.gateway is None and not said_the_end

    @property
    def name(self) -> str:
        """The gateway in words, for a sentence about it."""
        if self.kind == "hermes":
            return "hermes gateway"
        return "hermes-desktop gateway run" if self.windowed is False else "Hermes Desktop"

    def is_silent(self, now: float) -> bool:
        """Whether it should have been heard of and was not."""
        late = self.updated_at is not None and now - self.updated_at > SILENT_AFTER_S
        return self.kind == "hermes-desktop" and late


def read_facts(paths: HermesPaths, checks: HostingChecks | None = None) -> GatewayFacts:
    """Look at the files of a home and at the process they name."""
    found = read_foreign_gateway(paths.home)
    data = identity_files.read_json(paths.home / identity_files.STATE_FILE)
    said: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
    if found is not None and said.get("pid") != found.record.pid:
        said = {}
    program = _program_of(found)
    return GatewayFacts(
        home=paths.home,
        gateway=found,
        program_pid=program,
        windowed=_is_windowed(found, program),
        state=_state_of(found, said),
        started_at=None if found is None or found.age_s is None else time.time() - found.age_s,
        updated_at=_moment(said.get("updated_at")),
        exit_reason=str(said.get("exit_reason") or ""),
        platforms=() if found is None else _platforms(found.platforms),
        service=(checks or HostingChecks.here()).service(paths),
        drain_requested=drain_requested(paths.home),
        not_ours=_not_ours(paths),
        undone=_undone(paths) if found is not None and found.is_hermes_desktop else None,
    )


def _not_ours(paths: HermesPaths) -> str:
    if not paths.state_db.exists():
        return ""
    from hermes_desktop.state.database.home_marks import kind_of_home

    return kind_of_home(paths.state_db).title


def _undone(paths: HermesPaths) -> UndoneWork | None:
    from hermes_desktop.services.hosting.undone_work import read_work, undone_work

    for _ in range(_LOOKS):  # each waits for whoever is writing
        with contextlib.suppress(BlockingIOError):
            return undone_work(read_work(paths))
    return None


def _state_of(found: ForeignGateway | None, said: Mapping[str, Any]) -> str:
    if found is not None and process_facts.is_frozen(found.record.pid):
        return "frozen"
    return str(said.get("gateway_state") or "")


def _program_of(found: ForeignGateway | None) -> int:
    if found is None:
        return 0
    *_, word, pid = ("", "", *found.record.argv)
    return int(pid) if word == "--parent" and pid.isdecimal() else found.record.pid


def _is_windowed(found: ForeignGateway | None, program: int) -> bool | None:
    line = process_facts.command_line(program) if found and found.is_hermes_desktop else None
    return None if line is None else ("gateway", "run") not in pairwise(line.split())


def _platforms(said: Mapping[str, Mapping[str, Any]]) -> tuple[PlatformFacts, ...]:
    return tuple(
        PlatformFacts(
            name,
            str(each.get("state") or "?"),
            str(each.get("error_message") or each.get("error_code") or ""),
            _moment(each.get("updated_at")),
        )
        for name, each in sorted(said.items())
    )


def _moment(value: Any) -> float | None:
    """Seconds since the epoch of an ISO date; None when it is none."""
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except (ValueError, OverflowError):
        return None
