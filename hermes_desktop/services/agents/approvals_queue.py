"""Approval requests for the window and command line: events on the bus, and answers."""

from hermes_desktop.agent.tools.asking.approval_queue import (
    Answered,
    ApprovalQueue,
    ApprovalRequest,
)
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import ApprovalChoice, ApprovalRequested, ApprovalResolved
from hermes_desktop.services.agents.queue_news import QueueEvents


class Approvals(QueueEvents[ApprovalRequest, Answered, ApprovalRequested]):
    """Publishes approval requests and accepts answers. A request that cannot be shown is denied.

    Args:
        queue: The queue in which agents wait, on their threads.
        bus: The event bus for :class:`ApprovalRequested` and :class:`ApprovalResolved`.
    """

    def __init__(self, queue: ApprovalQueue, bus: EventBus) -> None:
        super().__init__(queue, bus, as_event, _as_resolved)
        self.queue = queue

    def answer(self, request_id: str, choice: ApprovalChoice, by: str = "window") -> bool:
        """Answer a request; return False when it is no longer pending.

        Args:
            request_id: The request.
            choice: One of its choices.
            by: Where the user answered.
        """
        return self.queue.answer(request_id, choice, by)


def as_event(request: ApprovalRequest) -> ApprovalRequested:
    """Convert a request to an event."""
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


def _as_resolved(request: ApprovalRequest, answer: Answered) -> ApprovalResolved:
    ids = (request.id, request.session_key, request.session_id)
    return ApprovalResolved(*ids, answer.choice, answer.reason, answer.by)
