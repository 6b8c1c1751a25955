"""Approvals and questions of the assistant for window and command line: events, and answers."""

import asyncio
import contextlib
from collections.abc import Callable

from hermes_desktop.agent.tools.asking.request_queue import Attendant, RequestQueue
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.user_requests import (
    RequestEvent,
    RequestPending,
    RequestResolved,
    UserAnswer,
    UserRequest,
)


class UserRequests:
    """Publishes the requests of the program's one queue and accepts answers. On the event loop.

    No request can be shown before :meth:`open`: an approval is denied then, and a question ends
    without an answer.

    Args:
        queue: The queue in which agents wait, on their threads.
        bus: The event bus for :class:`RequestPending` and :class:`RequestResolved`.
    """

    def __init__(self, queue: RequestQueue, bus: EventBus) -> None:
        self.queue = queue
        self._bus = bus
        self._leave: Callable[[], None] | None = None

    def open(self, serves: Callable[[UserRequest], bool] = lambda _request: True) -> None:
        """Register as the attendant: from now on requests can be shown. On the event loop.

        Args:
            serves: Returns whether a request can be shown here; called on any thread.
        """
        loop = asyncio.get_running_loop()

        def publish(event: RequestEvent) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is gone: the request will time out
                loop.call_soon_threadsafe(self._bus.publish, event)

        def asked(request: UserRequest) -> None:
            publish(RequestPending(request))

        def settled(request: UserRequest, answer: UserAnswer) -> None:
            publish(RequestResolved(request, answer))

        self.close()
        self._leave = self.queue.attend(Attendant(serves, asked, settled))

    def pending(self) -> tuple[UserRequest, ...]:
        """Return the waiting requests, the oldest first."""
        return self.queue.pending()

    def answer(self, request_id: str, text: str, by: str = "window") -> bool:
        """Answer a request; return False when it is no longer pending, or the answer not offered.

        Args:
            request_id: The request.
            text: For an approval one of its choices. For a question the answer, or the number of a
                choice; blank skips it.
            by: Where the user answered.
        """
        return self.queue.answer(request_id, text, by)

    def end(self) -> None:
        """Close the queue at the program's end: pending and later requests are over."""
        self.queue.close()

    def close(self) -> None:
        """Stop showing requests; those without another attendant end now, approvals denied."""
        if self._leave is not None:
            self._leave()
            self._leave = None
