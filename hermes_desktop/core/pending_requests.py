"""The requests that wait for the user, by session; kept up to date by events."""

from hermes_desktop.core.turn_events import (
    ApprovalRequested,
    ApprovalResolved,
    QuestionAnswered,
    QuestionAsked,
)

QUESTION_TOOL = "clarify"
"""The tool by which the assistant asks a question."""

RequestEvent = ApprovalRequested | ApprovalResolved | QuestionAsked | QuestionAnswered


class PendingRequests:
    """A registry of the approvals and questions that no answer has ended yet."""

    def __init__(self) -> None:
        self._requests: dict[str, tuple[str, str]] = {}

    @property
    def session_ids(self) -> frozenset[str]:
        """The sessions whose turn waits for the user."""
        return frozenset(session_id for session_id, _ in self._requests.values())

    def tools(self, session_id: str) -> frozenset[str]:
        """Return the tools of a session that wait for the user."""
        return frozenset(tool for where, tool in self._requests.values() if where == session_id)

    def follow(self, event: RequestEvent) -> None:
        """Apply the beginning or the end of a request."""
        if isinstance(event, ApprovalRequested):
            self._requests[event.request_id] = event.session_id, event.tool
        elif isinstance(event, QuestionAsked):
            self._requests[event.request_id] = event.session_id, QUESTION_TOOL
        else:
            self._requests.pop(event.request_id, None)
