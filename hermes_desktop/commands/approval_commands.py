"""Commands that answer approval requests: ``/approve``, ``/deny``, ``/yolo``."""

from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.commands.context import CommandContext, CommandReply, Sender
from hermes_desktop.core.errors import RefusedError, UsageError
from hermes_desktop.core.user_requests import ApprovalChoice, UserRequest

_SHOWN = 200
_CHOICES: dict[str, ApprovalChoice] = {
    "": "once",
    "once": "once",
    "all": "once",
    "session": "session",
    "always": "always",
}
_DONE: dict[ApprovalChoice, str] = {
    "once": "Allowed once",
    "session": "Allowed in this session",
    "always": "Allowed from now on",
    "outside": "Allowed once, outside the sandbox",
    "deny": "Denied",
}


def may_answer(request: UserRequest, sender: Sender) -> bool:
    """Return whether the sender may approve: the requester, the owner, or a named admin."""
    if sender.in_window:
        return True
    is_asker = bool(request.user_id) and request.user_id == sender.user_id
    return is_asker or (sender.restricted and sender.is_admin)


def resolve(
    queue: RequestQueue, sender: Sender, choice: ApprovalChoice, *, everything: bool
) -> str:
    """Answer the oldest approval request of a chat, or all; return the text of the reply.

    Raises:
        RefusedError: No request is pending, or the sender may not answer it this way.
    """
    waiting = queue.pending(sender.session_key, "approval")
    if not waiting:
        raise RefusedError("No request is waiting for an answer here.")
    if choice != "deny" and not all(may_answer(each, sender) for each in waiting):
        raise RefusedError(
            "You cannot allow this.",
            "Someone else requested it.",
            "Deny it, or wait for their answer.",
        )
    lines = []
    for request in waiting if everything else waiting[:1]:
        if choice not in request.choices:
            raise _not_offered(choice)
        by = "window" if sender.in_window else sender.platform
        if queue.answer(request.id, choice, by):
            lines.append(f"{_DONE[choice]}: {' '.join(request.text.split())[:_SHOWN]}")
    return "\n".join(lines) or "The request is no longer pending."


def _not_offered(choice: ApprovalChoice) -> RefusedError:
    if choice == "always":
        return RefusedError("This cannot be allowed permanently.", hint="Choose once or session.")
    return RefusedError(
        "This cannot be allowed here.",
        "It would run outside the sandbox.",
        "Deny it, or answer in the window or at the terminal.",
    )


async def approve(context: CommandContext) -> CommandReply:
    """Handle ``/approve [session|always|all]``."""
    word = context.args.strip().lower()
    if word not in _CHOICES:
        usage = context.name("approve")
        raise UsageError("This option does not exist.", "", f"Send {usage} [session|always|all].")
    choice, queue = _CHOICES[word], _queue(context)
    return CommandReply(resolve(queue, context.sender, choice, everything=word == "all"))


async def deny(context: CommandContext) -> CommandReply:
    """Handle ``/deny [all]``."""
    everything = context.args.strip().lower().partition(" ")[0] == "all"
    return CommandReply(resolve(_queue(context), context.sender, "deny", everything=everything))


async def yolo(context: CommandContext) -> CommandReply:
    """Handle ``/yolo``: switch approval requests off for this chat, or on again."""
    sender, queue = context.sender, _queue(context)
    is_owner = sender.in_window or (
        sender.restricted and sender.is_admin and sender.chat_type == "dm"
    )
    if not is_owner:
        raise RefusedError(
            "You cannot turn off approvals.",
            "Only the owner of this computer can do that.",
            "Answer each request.",
        )
    free = not queue.is_free(sender.session_key)
    queue.set_free(sender.session_key, free=free)
    if free:
        return CommandReply(
            "From now on nothing is asked in this chat until the program ends, except for access "
            "that a sandboxed command lacks. What is never done is still not done. "
            f"{context.name('yolo')} again switches asking on."
        )
    return CommandReply("Approvals are on again.")


def _queue(context: CommandContext) -> RequestQueue:
    queue = context.facts.requests
    if queue is None:
        raise RefusedError(
            "There is nothing to approve here.", "The assistant has no tools in this program."
        )
    return queue
