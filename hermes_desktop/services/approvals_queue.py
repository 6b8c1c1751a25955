"""What waits for a person's word, as window and command line see it: news on the bus, answers."""

import asyncio
import contextlib
import logging
from collections.abc import Callable

from hermes_desktop.agent.tools.approval_queue import (
    Answered,
    ApprovalQueue,
    ApprovalRequest,
    Attendant,
)
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import ApprovalChoice, ApprovalRequested, ApprovalResolved, Event

log = logging.getLogger(__name__)


class Approvals:
    """The one queue of a program, on its loop.

    Nothing can be asked before :meth:`open`: what would need a word is denied at once.

    Args:
        queue: Where agents wait, on their threads.
        bus: Gets :class:`ApprovalRequested` and :class:`ApprovalResolved`.
    """

    def __init__(self, queue: ApprovalQueue, bus: EventBus) -> None:
        self.queue = queue
        self._bus = bus
        self._leave: Callable[[], None] | None = None

    def open(self, serves: Callable[[ApprovalRequest], bool] = lambda _request: True) -> None:
        """From now on somebody listens to the bus who can ask a person. On the loop.

        Args:
            serves: Whether a question can be asked here; called on any thread.
        """
        loop = asyncio.get_running_loop()

        def publish(event: Event) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is gone: the time will be over
                loop.call_soon_threadsafe(self._bus.publish, event)

        def asked(request: ApprovalRequest) -> None:
            publish(as_event(request))

        def settled(request: ApprovalRequest, answer: Answered) -> None:
            ids = (request.id, request.session_key, request.session_id)
            publish(ApprovalResolved(*ids, answer.choice, answer.reason))

        self.close()
        self._leave = self.queue.attend(Attendant(serves, asked, settled))

    def close(self) -> None:
        """Nobody can be asked any more; what waits is denied when its time is over."""
        if self._leave is not None:
            self._leave()
            self._leave = None

    def pending(self) -> tuple[ApprovalRequested, ...]:
        """What waits, the oldest first."""
        return tuple(as_event(each) for each in self.queue.pending())

    def answer(self, request_id: str, choice: ApprovalChoice) -> bool:
        """Answer a question; False when it does not wait any more."""
        return self.queue.answer(request_id, choice)


def as_event(request: ApprovalRequest) -> ApprovalRequested:
    """A question as news."""
    return ApprovalRequested(
        request_id=request.id,
        session_key=request.session_key,
        session_id=request.session_id,
        platform=request.platform,
        tool=request.tool,
        what=request.what,
        where=request.where,
        why=request.why,
        choices=request.choices,
        expires_at=request.expires_at,
    )
