"""Requests of the assistant to the user: records, their events, and those pending by session."""

from dataclasses import dataclass
from typing import Literal

QUESTION_TOOL = "clarify"
"""The tool by which the assistant asks a question."""
ACCESS_TOOL = "ask_access"
"""The tool by which it asks to let commands reach more."""

RequestKind = Literal["approval", "question"]
ApprovalChoice = Literal["once", "session", "always", "outside", "deny"]
"""``outside`` runs one command without the sandbox, once. It is offered only to the user at this
machine, never remembered, and no front end preselects it."""
OUTSIDE_MEANS = (
    "Outside the sandbox nothing holds this command: it can read, change, delete and send whatever "
    "you can, and undoing the turn restores only the working folder."
)
"""What ``outside`` means; a front end that offers it shows this."""
RequestSubject = Literal["action", "path", "host"]
Reason = Literal["answered", "timeout", "stopped", "nobody", "gone", "ended"]
"""How a wait ended.

By an answer, the time-out, a stopped turn, no attendant, the loss of the last attendant, or the end
of the program.
"""


@dataclass(frozen=True, slots=True)
class UserRequest:
    """A request that waits for the user. Its texts are untrusted and shown as plain text.

    An *approval* is the permission for a possibly harmful action, or to let sandboxed commands
    reach more: only the offered choices answer it, and without an answer it is denied. A *question*
    of the assistant has suggested answers, or none; any other text answers it, too, and without an
    answer the turn continues.

    Attributes:
        session_key: The chat it came from.
        session_id: The session.
        user_id: The sender in that chat, "" for the user at this machine.
        platform: Where: ``desktop``, ``cli``, ``telegram``, …
        text: The question; for an approval the command, the file with its new content, or the path
            or host to reach. Without secrets.
        choices: The possible answers; for a question the suggested ones, which may be none.
        asked_at: In seconds since the epoch.
        expires_at: When the wait ends without an answer, likewise.
        tool: Name of the tool that asks.
        where: For an approval: the folder it works in.
        why: For an approval: why it is needed, one sentence per reason.
        keys: The same reasons as identifiers for programs.
        headline: For an approval: what is asked, in one sentence; "" for whether to do this.
        subject: For an approval: what its answer is about, and what ``always`` is kept for.
    """

    id: str
    session_key: str
    session_id: str
    user_id: str
    platform: str
    kind: RequestKind
    text: str
    choices: tuple[str, ...]
    asked_at: float
    expires_at: float
    tool: str = QUESTION_TOOL
    where: str = ""
    why: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    headline: str = ""
    subject: RequestSubject = "action"


@dataclass(frozen=True, slots=True)
class UserAnswer:
    """The outcome of a request.

    Attributes:
        text: For an approval one of its choices, ``deny`` without an answer. For a question the
            answer; "" when there is none, because none was given or it was skipped.
        reason: How the wait ended.
        by: Where it was answered: ``window``, ``terminal``, ``rpc``, a platform; "" if it was not.
    """

    text: str
    reason: Reason
    by: str = ""


def unanswered(request: UserRequest, reason: Reason) -> UserAnswer:
    """Return the outcome of a request that the user did not answer: an approval is denied."""
    return UserAnswer("deny" if request.kind == "approval" else "", reason)


@dataclass(frozen=True, slots=True)
class RequestPending:
    """Event: a request waits for the user."""

    request: UserRequest


@dataclass(frozen=True, slots=True)
class RequestResolved:
    """Event: a request is no longer pending."""

    request: UserRequest
    answer: UserAnswer


RequestEvent = RequestPending | RequestResolved


class PendingRequests:
    """A registry of the requests that no answer has ended yet, kept up to date by events."""

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
        request = event.request
        if isinstance(event, RequestPending):
            self._requests[request.id] = request.session_id, request.tool
        else:
            self._requests.pop(request.id, None)
