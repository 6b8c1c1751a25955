"""The state of a home's gateway, from its files, for programs that do not host it, and its end.

Reading tries no lock.
"""

import contextlib
import threading
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
"""Hermes Desktop updates its status file every half minute."""
_LOOKS = 5


@dataclass(frozen=True, slots=True)
class PlatformFacts:
    """The state that the gateway reports for one platform. Times are seconds since the epoch."""

    name: str
    state: str
    error: str = ""
    updated_at: float | None = None


@dataclass(frozen=True, slots=True)
class GatewayFacts:
    """The current or last gateway of a home. Times are seconds since the epoch.

    Attributes:
        gateway: The running gateway; None when none runs.
        program_pid: Its program: itself, or the Hermes Desktop that hosts it.
        windowed: Whether that program has a window; None when it is unknown.
        state: The state it reports; that of the last gateway, when none runs.
        updated_at: When the state was written.
        exit_reason: Why the last one ended, "" for a normal end.
        service: The definition of a service that starts `hermes gateway` for this home.
        drain_requested: A tool asks the gateway to accept no new messages.
        not_ours: Why Hermes Desktop hosts no gateway of this home; "" where it may.
        undone: Work that `hermes` expects of the running gateway and that it does not do.
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
        """Whether the last gateway was killed, or crashed."""
        said_the_end = self.state in {"", "stopped", "startup_failed"}
        return self.gateway is None and not said_the_end

    @property
    def name(self) -> str:
        """The name of the gateway, for a sentence about it."""
        if self.kind == "hermes":
            return "hermes gateway"
        return "hermes-desktop gateway run" if self.windowed is False else "Hermes Desktop"

    def is_silent(self, now: float) -> bool:
        """Return whether a status update of the gateway is overdue."""
        late = self.updated_at is not None and now - self.updated_at > SILENT_AFTER_S
        return self.kind == "hermes-desktop" and late


def read_facts(
    paths: HermesPaths, checks: HostingChecks | None = None, *, look_into_databases: bool = True
) -> GatewayFacts:
    """Read the files of a home and inspect the process they name.

    Args:
        paths: The home.
        checks: Finds the service of the home.
        look_into_databases: Also find out ``not_ours`` and ``undone``. SQLite may create a log and
            its index for that.
    """
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
        not_ours=_not_ours(paths) if look_into_databases else "",
        undone=_undone(paths) if look_into_databases and _is_our_gateway(found) else None,
    )


def stop_gateway(
    paths: HermesPaths, gateway: ForeignGateway, environ: Mapping[str, str], cancel: threading.Event
) -> str:
    """Ask a gateway to stop, and wait for its end. Blocks; nothing is killed.

    Args:
        paths: The home.
        gateway: The gateway, whichever program it is.
        environ: The process environment, for `hermes gateway stop`.
        cancel: Ends the wait when it is set.

    Returns:
        Why it did not stop; "" if it did.
    """
    from hermes_desktop.gateway.identity.polite_stop import ask_to_go, wait_until_gone  # noqa: PLC0415 - for one command

    if not gateway.record.is_live():
        return ""
    return ask_to_go(paths, gateway, environ, cancel=cancel) or wait_until_gone(gateway, cancel)


def _is_our_gateway(found: ForeignGateway | None) -> bool:
    return found is not None and found.is_hermes_desktop


def _not_ours(paths: HermesPaths) -> str:
    if not paths.state_db.exists():
        return ""
    from hermes_desktop.state.database.home_marks import kind_of_home  # noqa: PLC0415 - loads SQLite

    return kind_of_home(paths.state_db).title


def _undone(paths: HermesPaths) -> UndoneWork | None:
    from hermes_desktop.services.hosting.undone_work import read_work, undone_work  # noqa: PLC0415 - as above

    for _ in range(_LOOKS):  # each attempt waits for a writer
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
    """Convert an ISO date to seconds since the epoch; None when it is not one."""
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except (ValueError, OverflowError):
        return None
