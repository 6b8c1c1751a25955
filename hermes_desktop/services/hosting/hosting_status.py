"""One status out of what two runners and the identity of the home say."""

import asyncio
import time
from collections.abc import Callable
from typing import Literal

from hermes_desktop.core.events import (
    GatewayState,
    GatewayStatusChanged,
    HostingRefusal,
    OtherGateway,
    PlatformHealth,
    UndoneWork,
)
from hermes_desktop.gateway.runner.runner_state import RunnerReport
from hermes_desktop.services.hosting.hosting_words import ANOTHER_DESKTOP

Stage = Literal["idle", "starting", "hosting", "stopping"]

_IN_TROUBLE = frozenset({"silent", "retrying", "fatal"})
# What cannot be served by this version is known and chosen, and nobody can mend it here.
_NOTHING = RunnerReport("stopped")


def joined_state(
    stage: Stage, turns: int, platforms: tuple[PlatformHealth, ...], other: OtherGateway | None
) -> GatewayState:
    """The state in one word.

    A platform in trouble stands before running turns: turns come and go, trouble needs a person.
    """
    if stage == "idle":
        return "attached" if other is not None else "stopped"
    if stage != "hosting":
        return stage
    if any(platform.state in _IN_TROUBLE for platform in platforms):
        return "degraded"
    return "working" if turns else "running"


class StatusBoard:
    """Collects what is said and publishes what changed, at most once per turn of the loop.

    Args:
        publish: Where the news go.
        now: Says the time, in seconds since the epoch.
    """

    def __init__(
        self,
        publish: Callable[[GatewayStatusChanged], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._publish = publish
        self._now = now
        self._since: float | None = None
        self._private = _NOTHING
        self._hosted = _NOTHING
        self._stage: Stage = "idle"
        self._detail = self._note = ""
        self._other: OtherGateway | None = None
        self._refusal: HostingRefusal | None = None
        self._offers_start = False
        self._undone: UndoneWork | None = None
        self._flush_due: asyncio.Future[None] | None = None
        self.status = GatewayStatusChanged("stopped")

    @property
    def stage(self) -> Stage:
        """How far hosting is."""
        return self._stage

    @property
    def promises(self) -> bool:
        """Whether other programs count on a Hermes Desktop, this or another one."""
        other = self._other
        return self._stage != "idle" or (other is not None and other.name == ANOTHER_DESKTOP)

    @property
    def hosted_turns(self) -> int:
        """How many turns run for messaging platforms."""
        return self._hosted.running_turns

    def note_private(self, report: RunnerReport) -> None:
        """Take what the runner of the desktop's own chat says."""
        self._private = report
        self._changed()

    def note_hosted(self, report: RunnerReport) -> None:
        """Take what the runner of the messaging platforms says."""
        self._hosted = report
        self._changed()

    def enter(self, stage: Stage, detail: str = "", *, offers_start: bool = False) -> None:
        """Change the stage. Starting settles a refusal; idle forgets the platforms.

        Args:
            stage: The new one.
            detail: One sentence for a person.
            offers_start: A person is to be asked whether the gateway should start again.
        """
        if stage != "hosting":
            self._since = None
        elif self._stage != "hosting":
            self._since = self._now()
        self._stage = stage
        self._offers_start = offers_start
        self._detail, self._note = detail, ""
        if stage in {"starting", "hosting"}:
            self._refusal = None
        if stage == "idle":
            self._hosted = _NOTHING
        self._changed()

    def explain(self, detail: str) -> None:
        """Say what is going on, within the same stage; "" when nothing is any more."""
        if detail != self._note:
            self._note = detail
            self._changed()

    def refuse(self, refusal: HostingRefusal) -> None:
        """Say why nothing is hosted."""
        self._refusal = refusal
        self.enter("idle", refusal.title)

    def note_other(self, other: OtherGateway | None) -> None:
        """Take who else is the gateway. That one came settles why we were not started."""
        if self._other is None and other is not None:
            self._refusal = None
            self._offers_start = False
            if self._stage == "idle":
                self._detail = ""
        self._other = other
        self._changed()

    def note_undone(self, undone: UndoneWork | None) -> None:
        """Take what other programs count on and nobody does."""
        self._undone = undone
        self._changed()

    def offer_start(self, detail: str) -> None:
        """Say why nothing is hosted any more, and that a person may start the gateway."""
        if self._stage == "idle" and self._other is None:
            self.enter("idle", detail, offers_start=True)

    async def published(self) -> GatewayStatusChanged:
        """Wait until what was said so far is published."""
        if self._flush_due is not None:
            await asyncio.shield(self._flush_due)
        return self.status

    def _changed(self) -> None:
        if self._flush_due is None:
            loop = asyncio.get_running_loop()
            self._flush_due = loop.create_future()
            loop.call_soon(self._flush)

    def _flush(self) -> None:
        due, self._flush_due = self._flush_due, None
        status = self._joined()
        if status != self.status:
            self.status = status
            self._publish(status)
        if due is not None and not due.done():
            due.set_result(None)

    def _joined(self) -> GatewayStatusChanged:
        turns = self._private.running_turns + self._hosted.running_turns
        state = joined_state(self._stage, turns, self._hosted.platforms, self._other)
        detail = "" if state == "attached" else self._detail
        return GatewayStatusChanged(
            state,
            self._note or detail,
            running_turns=turns,
            platforms=self._hosted.platforms,
            other=self._other,
            refusal=self._refusal,
            offers_start=state == "stopped" and self._offers_start,
            undone=self._undone if self.promises else None,
            since=self._since,
        )
