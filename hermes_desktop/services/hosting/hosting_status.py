"""Gateway status merged from the reports of two runners and the identity of the home."""

import asyncio
import time
from collections.abc import Callable
from typing import Literal

from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import (
    GatewayState,
    GatewayStatusChanged,
    HostingRefusal,
    OtherGateway,
    PlatformHealth,
    UndoneWork,
)
from hermes_desktop.core.user_requests import (
    PendingRequests,
    RequestEvent,
    RequestPending,
    RequestResolved,
)
from hermes_desktop.gateway.runner.state import RunnerReport
from hermes_desktop.services.hosting.hosting_words import ANOTHER_DESKTOP

Stage = Literal["idle", "starting", "hosting", "stopping"]

_IN_TROUBLE = frozenset({"silent", "retrying", "fatal"})
# "unavailable" is left out: the user chose such a platform knowingly and cannot fix it here.
_NOTHING = RunnerReport("stopped")


def joined_state(
    stage: Stage, turns: int, platforms: tuple[PlatformHealth, ...], other: OtherGateway | None
) -> GatewayState:
    """Return the combined state.

    A platform in trouble takes precedence over running turns: turns come and go, while trouble
    needs the user's attention.
    """
    if stage == "idle":
        return "attached" if other is not None else "stopped"
    if stage != "hosting":
        return stage
    if any(platform.state in _IN_TROUBLE for platform in platforms):
        return "degraded"
    return "working" if turns else "running"


class StatusBoard:
    """Collects reports and publishes changes, at most once per iteration of the event loop.

    Args:
        publish: Receives each new status.
        now: Returns the time, in seconds since the epoch.
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
        self._requests = PendingRequests()
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
        """The current stage of hosting."""
        return self._stage

    @property
    def promises(self) -> bool:
        """Whether other programs rely on a Hermes Desktop, this or another one."""
        other = self._other
        return self._stage != "idle" or (other is not None and other.name == ANOTHER_DESKTOP)

    @property
    def hosted_turns(self) -> int:
        """The number of turns that run for messaging platforms."""
        return self._hosted.running_turns

    def note_private(self, report: RunnerReport) -> None:
        """Record a report of the runner of the desktop's own chat."""
        self._private = report
        self._changed()

    def note_hosted(self, report: RunnerReport) -> None:
        """Record a report of the runner of the messaging platforms."""
        self._hosted = report
        self._changed()

    def follow_requests(self, bus: EventBus) -> None:
        """Count the turns that wait for the user."""
        bus.subscribe(RequestPending, self._note_request)
        bus.subscribe(RequestResolved, self._note_request)

    def _note_request(self, event: RequestEvent) -> None:
        self._requests.follow(event)
        self._changed()

    def enter(self, stage: Stage, detail: str = "", *, offers_start: bool = False) -> None:
        """Change the stage. Starting clears a refusal; idle clears the platforms.

        Args:
            stage: The new stage.
            detail: One user-facing sentence.
            offers_start: Whether to ask the user if the gateway should start again.
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
        """Set the progress text within the current stage; "" clears it."""
        if detail != self._note:
            self._note = detail
            self._changed()

    def refuse(self, refusal: HostingRefusal) -> None:
        """Record why nothing is hosted."""
        self._refusal = refusal
        self.enter("idle", refusal.title)

    def note_other(self, other: OtherGateway | None) -> None:
        """Record the other gateway. Its arrival clears the reason why ours was not started."""
        if self._other is None and other is not None:
            self._refusal = None
            self._offers_start = False
            if self._stage == "idle":
                self._detail = ""
        self._other = other
        self._changed()

    def note_undone(self, undone: UndoneWork | None) -> None:
        """Record the work that other programs rely on and that does not run."""
        self._undone = undone
        self._changed()

    def offer_start(self, detail: str) -> None:
        """Report why nothing is hosted any more, and that the user may start the gateway."""
        if self._stage == "idle" and self._other is None:
            self.enter("idle", detail, offers_start=True)

    async def published(self) -> GatewayStatusChanged:
        """Wait until all reports so far are published, and return the status."""
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
            waiting_turns=min(turns, len(self._requests.session_ids)),
            platforms=self._hosted.platforms,
            other=self._other,
            refusal=self._refusal,
            offers_start=state == "stopped" and self._offers_start,
            undone=self._undone if self.promises else None,
            since=self._since,
        )
