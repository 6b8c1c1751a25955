"""Automatic deletion of old sessions, where the user has switched it on.

A clock that jumps forward makes every session look old. So the wall clock is compared with clocks
that only count elapsed time. After a jump the clock is not trusted until it has returned, or has
run evenly for a week.
"""

import asyncio
import json
import logging
import math
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import ConfigError, HermesError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.platforms.machine_watch import boot_clock
from hermes_desktop.services.hosting.gateway_host import GatewayHost
from hermes_desktop.services.settings.history_options import UpkeepSettings
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.session_prompts import SessionPrompts
from hermes_desktop.state.database.home_marks import kind_of_home
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase

log = logging.getLogger(__name__)

_DAY_S = 86_400.0
TOLERANCE_S = 300.0
MOST_AWAY_S = 31 * _DAY_S
"""The longest plausible time between two runs of the program; more counts as a clock jump."""
SETTLED_S = 7 * _DAY_S


@dataclass(frozen=True, slots=True)
class ClockNote:
    """The state of the clock check, stored between runs of the program. Epoch seconds.

    Attributes:
        seen: The latest time that the clock showed; 0 when unknown.
        off_by: The seconds by which it jumped without returning; 0 when it is trusted.
        since: The time since which it has run evenly after the jump.
    """

    seen: float = 0.0
    off_by: float = 0.0
    since: float = 0.0

    @classmethod
    def of(cls, text: str | None) -> "ClockNote":
        """Parse what :attr:`text` returned; anything else yields an empty note."""
        try:
            found = json.loads(text or "{}")
            values = [float(found.get(name, 0.0)) for name in ("seen", "off_by", "since")]
        except (AttributeError, OverflowError, RecursionError, TypeError, ValueError):
            return cls()
        return cls(*values) if all(map(math.isfinite, values)) else cls()

    @property
    def text(self) -> str:
        """The note serialized as text."""
        return json.dumps(asdict(self))

    @property
    def believed_at(self) -> float:
        """When the clock is trusted again if it runs evenly, epoch seconds; 0 if it is now."""
        return self.since + SETTLED_S if self.off_by else 0.0


class ClockCheck:
    """Detects jumps of the clock between two checks. Used on one thread.

    Args:
        clock: The machine's clocks.
        boot_time: A clock that also counts while the machine sleeps; None where there is none.
        note: The note of an earlier run of the program.
    """

    def __init__(
        self, clock: Clock, boot_time: Callable[[], float] | None, note: ClockNote
    ) -> None:
        self._clock = clock
        self._boot_time = boot_time
        self.note = note
        self._passed: tuple[float, ...] | None = None

    def look(self) -> bool:
        """Check the clock and return whether it can be trusted now."""
        now, jump = self._clock.time(), self._jump()
        off_by, since = self.note.off_by, self.note.since
        if jump:
            off_by, since = off_by + jump, now
            log.warning(
                "The clock of this computer jumped by %+.1f hours; nothing is deleted because of "
                "its age until the clock is back, or has run evenly for a week",
                jump / 3600,
            )
            if -TOLERANCE_S <= off_by <= self._tolerance_of_return:
                off_by = 0.0
        if off_by and now - since >= SETTLED_S:
            off_by = 0.0
        self._passed = self._counters()
        self.note = ClockNote(now, off_by, since if off_by else 0.0)
        return not off_by

    @property
    def _tolerance_of_return(self) -> float:
        """The tolerance for a return; larger at the first check, when elapsed time is unknown."""
        return MOST_AWAY_S if self._passed is None else TOLERANCE_S

    def _jump(self) -> float:
        """Return how far the clock is from what it should show; 0 when that is plausible."""
        before, gone = self.note.seen, self._clock.time() - self.note.seen
        if not before:
            return 0.0
        if self._passed is None:
            return 0.0 if -TOLERANCE_S <= gone <= MOST_AWAY_S else gone
        passed = max(new - old for new, old in zip(self._counters(), self._passed, strict=True))
        jump = gone - passed
        slept = self._boot_time is None and 0 < jump <= MOST_AWAY_S
        return 0.0 if slept or abs(jump) <= TOLERANCE_S else jump

    def _counters(self) -> tuple[float, ...]:
        more = () if self._boot_time is None else (self._boot_time(),)
        return (self._clock.monotonic(), *more)


FIRST_S = 60.0
"""Seconds after the start until the first check, which must not delay the start."""
LOOK_S = 900.0
"""Seconds between two checks. Nearly all of them find that nothing is due."""
_NOTE_S = 3600.0
_CLOCK_FACT, _LAST_FACT = "auto_prune_clock", "auto_prune_last"

Reason = Callable[[], str]
"""Returns why old sessions are left alone, as the end of a sentence; "" when they are not."""


def no_reason() -> str:
    """Return "", for programs in which old sessions may always be deleted."""
    return ""


def while_hosting(gateway: GatewayHost, *, only_then: bool) -> Reason:
    """Leave old sessions alone while another gateway serves the home.

    Args:
        gateway: The gateway host, whose status is read on the loop.
        only_then: Whether to leave them alone also while no gateway runs here.
    """

    def reason() -> str:
        status = gateway.status
        if status.state == "attached" or status.other is not None:
            return "another gateway serves this home"
        if status.state in {"starting", "stopping"}:
            return f"the gateway is {status.state}"
        if only_then and status.state == "stopped":
            return "the gateway does not run"
        return ""

    return reason


@dataclass(frozen=True, slots=True)
class LastPrune:
    """The last deletion of old sessions, as far as it is known.

    Attributes:
        at: Epoch seconds; 0: never, as far as is known.
        took: The number of deleted sessions; None when another program did it.
        error: Why it failed; "" if it did not.
        believed_at: When the clock is trusted again after a jump, epoch seconds; 0: no jump.
    """

    at: float = 0.0
    took: int | None = None
    error: str = ""
    believed_at: float = 0.0


def last_prune(db: SessionDB) -> LastPrune:
    """Return what is known of the last deletion. Blocking.

    Raises:
        HermesError: The store cannot be read.
    """
    at = db.last_auto_prune()
    believed_at = ClockNote.of(db.own_fact(_CLOCK_FACT)).believed_at
    try:
        ours = LastPrune(**json.loads(db.own_fact(_LAST_FACT) or "{}"))
    except (TypeError, ValueError, RecursionError):  # written by a later version
        ours = LastPrune()
    if math.isclose(ours.at, at, abs_tol=1.0):
        return LastPrune(at, ours.took, ours.error, believed_at)
    return LastPrune(at, believed_at=believed_at)


class HistoryMaintenance:
    """Checks regularly whether old sessions are due to be deleted, and deletes them.

    Of several processes that share a home, only one does it at a time: see
    ``SessionDB.maybe_auto_prune_and_vacuum``. Pinned sessions stay.

    Args:
        paths: The home.
        db: The conversations.
        worker: The worker thread for blocking calls.
        clock: The clock.
        left_alone: Returns why nothing may be deleted now; called on the loop before each check.
        boot_time: A clock that also counts while the machine sleeps.

    Attributes:
        pause: Waits for a number of seconds.
    """

    def __init__(
        self,
        paths: HermesPaths,
        db: SessionDB,
        worker: WorkerThreads,
        clock: Clock,
        *,
        left_alone: Reason = no_reason,
        boot_time: Callable[[], float] | None = None,
    ) -> None:
        self._paths = paths
        self._db = db
        self._worker = worker
        self._clock = clock
        self._left_alone = left_alone
        self._boot_time = boot_time or boot_clock()
        self._trust: ClockCheck | None = None
        self._noted_at = -math.inf
        self._told = ""
        self._stop = threading.Event()
        self.pause: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(self) -> None:
        """Check repeatedly until cancelled, which also ends a running deletion soon."""
        self._stop.clear()
        try:
            await self.pause(FIRST_S)
            while True:
                await self.look()
                await self.pause(LOOK_S)
        finally:
            self._stop.set()

    async def look(self) -> None:
        """Check once; on the event loop."""
        reason = self._left_alone()
        if reason:
            self._tell(reason)
        else:
            await self._worker.run(self.do)

    def do(self) -> Mapping[str, Any]:
        """Delete old sessions if that is switched on and due. Blocking.

        Returns:
            The result of ``maybe_auto_prune_and_vacuum``; {} when it was not even called.
        """
        try:
            settings = UpkeepSettings.from_mapping(read_config(self._paths.config_yaml).data)
            if not settings.auto_prune:
                return {}
            home = kind_of_home(self._paths.state_db)
            if not home.may_write:
                self._tell(home.title)
                return {}
            return self._prune(settings) if self._clock_is_believed() else {}
        except ConfigError as error:
            self._tell(f"config.yaml cannot be read: {error.title}")
        except HermesError as error:
            self._tell(f"{error.title} {error.detail}")
        return {}

    def _clock_is_believed(self) -> bool:
        if self._trust is None:
            note = ClockNote.of(self._db.own_fact(_CLOCK_FACT))
            self._trust = ClockCheck(self._clock, self._boot_time, note)
        before = self._trust.note.off_by
        believed = self._trust.look()
        now = self._trust.note.seen
        if before != self._trust.note.off_by or not 0 <= now - self._noted_at < _NOTE_S:
            self._db.put_own_fact(_CLOCK_FACT, self._trust.note.text)
            self._noted_at = now
        if not believed:
            self._tell("the clock of this computer jumped")
        return believed

    def _prune(self, settings: UpkeepSettings) -> Mapping[str, Any]:
        done = self._db.maybe_auto_prune_and_vacuum(
            settings.retention_days,
            settings.min_interval_hours,
            settings.vacuum,
            self._paths.sessions_dir,
            cancel=self._stop,
        )
        if not done["skipped"]:
            self._told = ""
            at = self._db.last_auto_prune()
            found = LastPrune(at, done["pruned"], done.get("error", ""))
            self._db.put_own_fact(_LAST_FACT, json.dumps(asdict(found)))
            self._log(found, settings)
        if done["pruned"]:
            self._forget_prompts()
        return done

    def _forget_prompts(self) -> None:
        prompts = SessionPrompts(self._db, DesktopDatabase(self._paths.own_store))
        prompts.forget_gone()
        prompts.close()

    def _log(self, found: LastPrune, settings: UpkeepSettings) -> None:
        due = self._db.auto_prune_due_at(settings.min_interval_hours)
        log.info(
            "sessions.auto_prune: deleted %d sessions unused for %g days%s; next: %s",
            found.took,
            settings.retention_days,
            f", then failed: {found.error}" if found.error else "",
            datetime.fromtimestamp(max(due, found.at)).astimezone().isoformat(" ", "minutes"),
        )

    def _tell(self, reason: str) -> None:
        """Log once per reason why old sessions are left alone."""
        if reason != self._told:
            log.info("sessions.auto_prune: old sessions are kept: %s", reason)
        self._told = reason
