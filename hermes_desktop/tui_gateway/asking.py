"""Pending approvals and questions: sent to the peers of live sessions, and answered by methods."""

import threading
from typing import TYPE_CHECKING, Any, get_args

from hermes_desktop.agent.tools.asking.request_queue import Attendant, RequestQueue
from hermes_desktop.core.user_requests import (
    OUTSIDE_MEANS,
    ApprovalChoice,
    UserAnswer,
    UserRequest,
)
from hermes_desktop.tui_gateway import live_sessions, protocol
from hermes_desktop.tui_gateway.protocol import Code, RpcError
from hermes_desktop.tui_gateway.serving_state import Call, Server, Session
from hermes_desktop.tui_gateway.transport import Subscribers, Transport

if TYPE_CHECKING:
    from collections.abc import Callable

BY = "rpc"


class Asking:
    """Presenter of the queue to the peers of live sessions. Any thread.

    A session whose peers cannot answer, because all are gone or have closed their input, is not
    asked: its pending requests end immediately.

    Args:
        server: The server of the sessions.
        requests: The pending approvals and questions.
    """

    def __init__(self, server: Server, requests: RequestQueue) -> None:
        self.requests = requests
        self._server = server
        self._lock = threading.Lock()
        self._silent: list[Transport] = []
        self._attendant = Attendant(self._serves, self._ask, self._resolve)
        self._leave: Callable[[], None] | None = None

    def open(self) -> None:
        """Start presenting requests."""
        self._leave = self.requests.attend(self._attendant)

    def close(self) -> None:
        """Stop presenting requests."""
        if self._leave is not None:
            self._leave()
            self._leave = None

    def input_closed(self, peer: Transport) -> None:
        """Handle that a peer closed its input; requests that only it could answer end."""
        with self._lock:
            self._silent.append(peer)
        self.requests.withdraw(self._attendant, lambda each: not self._serves(each))

    def forget(self, peer: Transport) -> None:
        """Drop a peer that is gone and no longer subscribed to any session."""
        with self._lock:
            self._silent = [each for each in self._silent if each is not peer]

    def pending(self, session: Session) -> dict[str, list[dict[str, Any]]]:
        """Return the pending requests of a session in the form of the protocol."""
        key = session["session_key"]
        return {
            "approvals": [self._approval(each) for each in self.requests.pending(key, "approval")],
            "questions": [self._question(each) for each in self.requests.pending(key, "question")],
        }

    def tell_again(self, sid: str, session: Session, peer: Transport | None) -> None:
        """Send the pending requests to a peer that has just joined."""
        told = self.pending(session)
        if peer is None:
            return
        for kind, found in (
            ("approval.request", told["approvals"]),
            ("clarify.request", told["questions"]),
        ):
            for payload in found:
                peer.write(protocol.event(kind, sid, payload))

    # Called by the queue

    def _serves(self, request: UserRequest) -> bool:
        found = live_sessions.with_key(self._server.state, request.session_key)
        audience = found[1].get("transport") if found is not None else None
        if not isinstance(audience, Subscribers):
            return False
        with self._lock:
            silent = tuple(self._silent)
        return audience.answers(silent)

    def _ask(self, request: UserRequest) -> None:
        if request.kind == "approval":
            self._tell(request, "approval.request", self._approval(request))
        else:
            self._tell(request, "clarify.request", self._question(request))

    def _resolve(self, request: UserRequest, answer: UserAnswer) -> None:
        is_approval = request.kind == "approval"
        told = {
            "request_id": request.id,
            "choice" if is_approval else "answer": answer.text,
            "reason": answer.reason,
            "by": answer.by,
        }
        self._tell(request, "approval.resolved" if is_approval else "clarify.resolved", told)

    def _tell(self, request: UserRequest, kind: str, payload: Any) -> None:
        found = live_sessions.with_key(self._server.state, request.session_key)
        if found is not None:
            self._server.emit(kind, found[0], payload)

    def _approval(self, request: UserRequest) -> dict[str, Any]:
        means = (OUTSIDE_MEANS,) if "outside" in request.choices else ()
        return {
            "request_id": request.id,
            "tool": request.tool,
            "subject": request.subject,
            "headline": request.headline,
            "command": request.text,
            "cwd": request.where,
            "description": " ".join((*request.why, *means)),
            "choices": list(request.choices),
            "pattern_key": next(iter(request.keys), ""),
            "pattern_keys": list(request.keys),
            "allow_permanent": "always" in request.choices,
            **self._times(request.expires_at),
        }

    def _question(self, question: UserRequest) -> dict[str, Any]:
        return {
            "request_id": question.id,
            "question": question.text,
            "choices": list(question.choices),
            **self._times(question.expires_at),
        }

    def _times(self, expires_at: float) -> dict[str, float]:
        left = max(0.0, expires_at - self._server.program.clock.time())
        return {"expires_at": expires_at, "timeout_s": round(left, 1)}


# The methods that answer them


def approval_respond(call: Call) -> dict[str, Any]:
    """Handle ``approval.respond``: answer the oldest, a named one, or all of a session's requests.

    Without pending requests the result is zero; only a named request that is not pending is an
    error.
    """
    _, session = call.session()
    choice = _choice(call)
    asking = _asking(call)
    waiting = asking.requests.pending(session["session_key"], "approval")
    wanted = call.params.optional_text("request_id")
    if wanted:
        waiting = tuple(each for each in waiting if each.id == wanted)
    elif not call.params.flag("all"):
        waiting = waiting[:1]
    if wanted and not waiting:
        raise _nothing("approval.respond")
    for each in waiting:
        _refuse_what_is_not_offered(each, choice)
    done = [asking.requests.answer(each.id, choice, BY) for each in waiting]
    return {"resolved": sum(done)}


def clarify_respond(call: Call) -> dict[str, Any]:
    """Handle ``clarify.respond``: an answer, or the number of a choice; blank skips it."""
    request_id = call.params.text("request_id", missing=Code.ID_REQUIRED)
    answer = call.params.optional_text("answer")
    requests = _asking(call).requests
    is_question = any(each.id == request_id for each in requests.pending(kind="question"))
    if not is_question or not requests.answer(request_id, answer, BY):
        raise _nothing("clarify.respond")
    return {"status": "ok"}


def _choice(call: Call) -> ApprovalChoice:
    word = call.params.text("choice").strip().lower()
    for choice in get_args(ApprovalChoice):
        if choice == word:
            return choice  # type: ignore[no-any-return]
    raise RpcError(Code.BAD_VALUE, f"choice must be one of {', '.join(get_args(ApprovalChoice))}")


def _refuse_what_is_not_offered(request: UserRequest, choice: ApprovalChoice) -> None:
    if choice not in request.choices:
        offered = ", ".join(request.choices)
        raise RpcError(Code.BAD_VALUE, f"{choice} is not offered here: choose one of {offered}")


def _asking(call: Call) -> Asking:
    asking = call.server.state.asking
    if asking is None:
        raise RpcError(Code.BUSY, "no pending request: this process asks nothing")
    return asking


def _nothing(method: str) -> RpcError:
    return RpcError(Code.BUSY, f"no pending request for {method}")
