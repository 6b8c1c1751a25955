"""Pending approvals and questions: sent to the peers of live sessions, with their answers."""

import threading
from typing import TYPE_CHECKING, Any

from hermes_desktop.agent.tools.asking.approval_queue import (
    Answered,
    ApprovalQueue,
    ApprovalRequest,
    Attendant,
)
from hermes_desktop.agent.tools.asking.question_queue import (
    Question,
    QuestionAttendant,
    QuestionQueue,
    QuestionReply,
)
from hermes_desktop.tui_gateway import live_sessions
from hermes_desktop.tui_gateway.protocol import frames
from hermes_desktop.tui_gateway.serving_state import Server, Session
from hermes_desktop.tui_gateway.transport.base import Subscribers, Transport

if TYPE_CHECKING:
    from collections.abc import Callable

BY = "rpc"


class Asking:
    """Presenter of both queues to the peers of live sessions. Any thread.

    A session whose peers cannot answer, because all are gone or have closed their input, is not
    asked: its pending requests end immediately.

    Args:
        server: The server of the sessions.
        approvals: The pending approval requests.
        questions: The pending questions of the assistant.
    """

    def __init__(self, server: Server, approvals: ApprovalQueue, questions: QuestionQueue) -> None:
        self.approvals = approvals
        self.questions = questions
        self._server = server
        self._lock = threading.Lock()
        self._silent: list[Transport] = []
        self._words = Attendant(self._serves, self._ask_approval, self._approval_over)
        self._asks = QuestionAttendant(self._serves, self._ask_question, self._question_over)
        self._leave: list[Callable[[], None]] = []

    def open(self) -> None:
        """Start presenting requests."""
        self._leave = [self.approvals.attend(self._words), self.questions.attend(self._asks)]

    def close(self) -> None:
        """Stop presenting requests."""
        for leave in self._leave:
            leave()
        self._leave = []

    def input_closed(self, peer: Transport) -> None:
        """Handle that a peer closed its input; requests that only it could answer end."""
        with self._lock:
            self._silent.append(peer)
        self.approvals.withdraw(self._words, lambda each: not self._serves(each))
        self.questions.withdraw(self._asks, lambda each: not self._serves(each))

    def forget(self, peer: Transport) -> None:
        """Drop a peer that is gone and no longer subscribed to any session."""
        with self._lock:
            self._silent = [each for each in self._silent if each is not peer]

    def pending(self, session: Session) -> dict[str, list[dict[str, Any]]]:
        """Return the pending requests of a session in the form of the protocol."""
        key = session["session_key"]
        return {
            "approvals": [self._approval(each) for each in self.approvals.pending(key)],
            "questions": [self._question(each) for each in self.questions.pending(key)],
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
                peer.write(frames.event(kind, sid, payload))

    # Called by the queues

    def _serves(self, request: ApprovalRequest | Question) -> bool:
        found = live_sessions.with_key(self._server.state, request.session_key)
        audience = found[1].get("transport") if found is not None else None
        if not isinstance(audience, Subscribers):
            return False
        with self._lock:
            silent = tuple(self._silent)
        return audience.answers(silent)

    def _ask_approval(self, request: ApprovalRequest) -> None:
        self._tell(request, "approval.request", self._approval(request))

    def _approval_over(self, request: ApprovalRequest, answer: Answered) -> None:
        told = {"request_id": request.id, "choice": answer.choice}
        self._tell(request, "approval.resolved", {**told, "reason": answer.reason, "by": answer.by})

    def _ask_question(self, question: Question) -> None:
        self._tell(question, "clarify.request", self._question(question))

    def _question_over(self, question: Question, reply: QuestionReply) -> None:
        told = {"request_id": question.id, "answer": reply.text}
        self._tell(question, "clarify.resolved", {**told, "reason": reply.reason, "by": reply.by})

    def _tell(self, request: ApprovalRequest | Question, kind: str, payload: Any) -> None:
        found = live_sessions.with_key(self._server.state, request.session_key)
        if found is not None:
            self._server.emit(kind, found[0], payload)

    def _approval(self, request: ApprovalRequest) -> dict[str, Any]:
        return {
            "request_id": request.id,
            "tool": request.tool,
            "command": request.what,
            "cwd": request.where,
            "description": " ".join(request.why),
            "choices": list(request.choices),
            "pattern_key": next(iter(request.keys), ""),
            "pattern_keys": list(request.keys),
            "allow_permanent": "always" in request.choices,
            **self._times(request.expires_at),
        }

    def _question(self, question: Question) -> dict[str, Any]:
        return {
            "request_id": question.id,
            "question": question.text,
            "choices": list(question.choices),
            **self._times(question.expires_at),
        }

    def _times(self, expires_at: float) -> dict[str, float]:
        left = max(0.0, expires_at - self._server.program.clock.time())
        return {"expires_at": expires_at, "timeout_s": round(left, 1)}
