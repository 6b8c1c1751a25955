"""The commands ``/background`` and ``/agents``: start, list and stop background work."""

from hermes_desktop.agent.tools.asking.approval_queue import ApprovalRequest
from hermes_desktop.agent.tools.asking.question_queue import Question
from hermes_desktop.agent.tools.processes.process_table import ProcessInfo
from hermes_desktop.commands.context import CommandContext, CommandReply, Work
from hermes_desktop.commands.words import ago, count, first_words, lines
from hermes_desktop.core.errors import NotFoundError, UsageError

_STOP = frozenset({"stop", "kill", "end"})
_ASKED = "ask_"
_SHOWN = 100


async def background(context: CommandContext) -> CommandReply:
    """Handle ``/background <request>``."""
    if not context.args:
        usage = context.name("background")
        raise UsageError(
            "There is nothing to do.", f"{usage} is followed by a request.", f"{usage} <request>"
        )
    name = await context.host.begin_background(context.args)
    return CommandReply(
        f"{name} is on its way beside this session, of which it knows nothing. What comes of "
        f"it is told here; {context.name('agents')} lists it, {context.name('agents')} stop {name} "
        "ends it."
    )


async def agents(context: CommandContext) -> CommandReply:
    """Handle ``/agents [stop <id>]``: work of this chat; for the owner, of all chats."""
    word, _, rest = context.args.partition(" ")
    if word.lower() in _STOP:
        return await _stop(context, rest.strip())
    if word:
        usage = context.name("agents")
        raise UsageError("That is nothing that can be done here.", "", f"Say {usage} stop <id>.")
    found = all_work(context)
    if not found:
        return CommandReply("Nothing runs or waits.")
    everywhere = is_owner(context)
    return CommandReply(
        lines(
            f"**{count(len(found), 'thing')} running or waiting**",
            *(_line(each, context, everywhere=everywhere) for each in found),
            f"{context.name('agents')} stop <id> ends one.",
        )
    )


def is_owner(context: CommandContext) -> bool:
    """Return whether the sender may see and stop the work of others."""
    sender = context.sender
    return sender.in_window or (sender.restricted and sender.is_admin and sender.chat_type == "dm")


def all_work(context: CommandContext) -> list[Work]:
    """Return replies, tasks, processes and questions, the oldest of each first."""
    everywhere = is_owner(context)
    key = None if everywhere else context.sender.session_key
    found = list(context.host.work(everywhere=everywhere))
    table, queue = context.facts.processes, context.facts.approvals
    if table is not None:
        found += [_of_process(each) for each in table.listed(key) if each.state == "running"]
    if queue is not None:
        found += [_of_approval(each) for each in queue.pending(key)]
    if context.facts.questions is not None:
        found += [_of_question(each) for each in context.facts.questions.pending(key)]
    return found


def _of_process(info: ProcessInfo) -> Work:
    return Work(info.id, "process", info.command, info.started_at, info.cwd)


def _of_approval(request: ApprovalRequest) -> Work:
    name = f"{_ASKED}{request.id[:6]}"
    return Work(name, "approval", request.what, request.asked_at, request.where, "waiting")


def _of_question(question: Question) -> Work:
    name = f"{_ASKED}{question.id[:6]}"
    return Work(name, "question", question.text, question.asked_at, "", "waiting")


def _line(work: Work, context: CommandContext, *, everywhere: bool) -> str:
    state = "" if work.state == "running" else f", {work.state}"
    where = f", {work.where}" if work.where and (everywhere or work.kind == "process") else ""
    what = first_words(work.what, _SHOWN).replace("`", "'")
    return f"- `{work.id}` {work.kind}{state}: {what} ({ago(work.since, context.clock)}{where})"


async def _stop(context: CommandContext, name: str) -> CommandReply:
    if not name:
        raise UsageError("End what?", "", f"{context.name('agents')} lists what runs.")
    work = next((each for each in all_work(context) if each.id == name), None)
    if work is None or not await _end(context, work):
        raise NotFoundError(
            f"Nothing of the name {first_words(name, 40)} runs here.",
            "",
            f"{context.name('agents')} lists what does.",
        )
    return CommandReply(f"Ended: {work.kind} {work.id}.")


async def _end(context: CommandContext, work: Work) -> bool:
    table, queue = context.facts.processes, context.facts.approvals
    if work.kind == "process" and table is not None:
        return await context.run_aside(lambda: table.kill(work.id))
    if work.kind == "approval" and queue is not None:
        asked = [each for each in queue.pending() if work.id == f"{_ASKED}{each.id[:6]}"]
        return sum(queue.answer(each.id, "deny") for each in asked) > 0
    questions = context.facts.questions
    if work.kind == "question" and questions is not None:
        open_ones = [q for q in questions.pending() if work.id == f"{_ASKED}{q.id[:6]}"]
        return sum(questions.answer(each.id, "") for each in open_ones) > 0
    return await context.host.stop_work(work.id, everywhere=is_owner(context))


async def stop_background_work(context: CommandContext) -> int:
    """Stop the tasks and processes of the chat, and return how many there were."""
    ended = 0
    for each in context.host.work(everywhere=False):
        if each.kind == "background task":
            ended += await context.host.stop_work(each.id, everywhere=False)
    table = context.facts.processes
    if table is not None:
        key = context.sender.session_key
        ended += await context.run_aside(lambda: table.kill_all(key))
    return ended
