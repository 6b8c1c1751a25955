"""Methods that answer pending approvals and questions."""

from typing import Any, get_args

from hermes_desktop.agent.tools.asking.approval_queue import ApprovalRequest, Choice
from hermes_desktop.tui_gateway.asking import BY, Asking
from hermes_desktop.tui_gateway.protocol.errors import Code, RpcError
from hermes_desktop.tui_gateway.serving_state import Call


def approval_respond(call: Call) -> dict[str, Any]:
    """Handle ``approval.respond``: answer the oldest, a named one, or all of a session's requests.

    Without pending requests the result is zero; only a named request that is not pending is an
    error.
    """
    _, session = call.session()
    choice = _choice(call)
    asking = _asking(call)
    waiting = asking.approvals.pending(session["session_key"])
    wanted = call.params.optional_text("request_id")
    if wanted:
        waiting = tuple(each for each in waiting if each.id == wanted)
    elif not call.params.flag("all"):
        waiting = waiting[:1]
    if wanted and not waiting:
        raise _nothing("approval.respond")
    for each in waiting:
        _refuse_what_is_not_offered(each, choice)
    done = [asking.approvals.answer(each.id, choice, BY) for each in waiting]
    return {"resolved": sum(done)}


def clarify_respond(call: Call) -> dict[str, Any]:
    """Handle ``clarify.respond``: an answer, or the number of a choice; blank skips it."""
    request_id = call.params.text("request_id", missing=Code.ID_REQUIRED)
    answer = call.params.optional_text("answer")
    if not _asking(call).questions.answer(request_id, answer, BY):
        raise _nothing("clarify.respond")
    return {"status": "ok"}


def _choice(call: Call) -> Choice:
    word = call.params.text("choice").strip().lower()
    for choice in get_args(Choice):
        if choice == word:
            return choice  # type: ignore[no-any-return]
    raise RpcError(Code.BAD_VALUE, f"choice must be one of {', '.join(get_args(Choice))}")


def _refuse_what_is_not_offered(request: ApprovalRequest, choice: Choice) -> None:
    if choice not in request.choices:
        offered = ", ".join(request.choices)
        raise RpcError(Code.BAD_VALUE, f"{choice} is not offered here: choose one of {offered}")


def _asking(call: Call) -> Asking:
    asking = call.server.state.asking
    if asking is None:
        raise RpcError(Code.BUSY, "no pending request: nothing asks in this process")
    return asking


def _nothing(method: str) -> RpcError:
    return RpcError(Code.BUSY, f"no pending request for {method}")
