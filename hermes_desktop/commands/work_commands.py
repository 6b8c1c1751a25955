"""Commands about running work: the current reply, the next ones, background work."""

from hermes_desktop.agent.tools.processes.process_table import ProcessInfo
from hermes_desktop.commands.context import CommandContext, CommandReply, Work
from hermes_desktop.commands.words import ago, count, first_words, lines
from hermes_desktop.core.errors import NotFoundError, UsageError
from hermes_desktop.core.user_requests import UserRequest

_STOP = frozenset({"stop", "kill", "end"})
_ASKED = "ask_"
_SHOWN = 100
_BESIDE = frozenset({"all", "background"})


async def new(context: CommandContext) -> CommandReply:
    """Handle ``/new [title]``."""
    context.store.sanitize_title(context.args)  # a title that is too long changes nothing
    return CommandReply(await context.host.begin_anew(context.args))


async def stop(context: CommandContext) -> CommandReply:
    """Handle ``/stop [background | all]``: stop the reply, the background work, or both."""
    word = context.args.strip().lower()  # "/stop please!" is meant as well
    turn = word != "background" and await context.host.stop_turn()
    beside = await stop_background_work(context) if word in _BESIDE else 0
    told = f"{count(beside, 'background task')} stopped." if beside else ""
    if turn:
        words = "Stopped. Your next message continues the session."
        return CommandReply(f"{words} {told}".rstrip())
    return CommandReply(told.capitalize() or "No reply is being written here.")


async def steer(context: CommandContext) -> CommandReply:
    """Handle ``/steer <message>``: pass it to the running turn, or answer it if none runs."""
    if not context.args:
        usage = context.name("steer")
        raise UsageError(
            "There is no message.", f"Write a message after {usage}.", f"{usage} <message>"
        )
    host = context.host
    if not host.is_busy():
        return CommandReply(ask=context.args)
    if await host.steer(context.args):
        return CommandReply("I will take that into account in my reply.")
    await host.queue(context.args)
    return CommandReply("The running reply no longer accepts messages; I will answer this next.")


async def queue(context: CommandContext) -> CommandReply:
    """Handle ``/queue <message>``; when nothing runs, it is answered immediately.

    In the window every message waits for the one before, so there it is simply the next one.
    """
    if not context.args:
        usage = context.name("queue")
        raise UsageError(
            "There is no message.", f"Write a message after {usage}.", f"{usage} <message>"
        )
    if context.sender.in_window or not context.host.is_busy():
        return CommandReply(ask=context.args)
    waiting = await context.host.queue(context.args)
    return CommandReply(f"Queued ({count(waiting, 'message')} waiting)." if waiting else "")


async def background(context: CommandContext) -> CommandReply:
    """Handle ``/background <request>``."""
    if not context.args:
        usage = context.name("background")
        raise UsageError(
            "There is no request.", f"Write a request after {usage}.", f"{usage} <request>"
        )
    name = await context.host.begin_background(context.args)
    return CommandReply(
        f"{name} works in a separate session, without the context of this one, and reports "
        f"back here. To list it, send {context.name('agents')}; to stop it, "
        f"{context.name('agents')} stop {name}."
    )


async def agents(context: CommandContext) -> CommandReply:
    """Handle ``/agents [stop <id>]``: work of this chat; for the owner, of all chats."""
    word, _, rest = context.args.partition(" ")
    if word.lower() in _STOP:
        return await _stop(context, rest.strip())
    if word:
        usage = context.name("agents")
        raise UsageError("This subcommand does not exist.", "", f"Send {usage} stop <id>.")
    found = all_work(context)
    if not found:
        return CommandReply("No work is running or waiting.")
    everywhere = is_owner(context)
    return CommandReply(
        lines(
            f"**{count(len(found), 'task')} running or waiting**",
            *(_line(each, context, everywhere=everywhere) for each in found),
            f"To stop one, send {context.name('agents')} stop <id>.",
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
    table, queue = context.facts.processes, context.facts.requests
    if table is not None:
        found += [_of_process(each) for each in table.listed(key) if each.state == "running"]
    if queue is not None:
        for kind in ("approval", "question"):
            found += [_of_request(each) for each in queue.pending(key, kind)]
    return found


def _of_process(info: ProcessInfo) -> Work:
    return Work(info.id, "process", info.command, info.started_at, info.cwd)


def _of_request(request: UserRequest) -> Work:
    name = f"{_ASKED}{request.id[:6]}"
    return Work(name, request.kind, request.text, request.asked_at, request.where, "waiting")


def _line(work: Work, context: CommandContext, *, everywhere: bool) -> str:
    state = "" if work.state == "running" else f", {work.state}"
    where = f", {work.where}" if work.where and (everywhere or work.kind == "process") else ""
    what = first_words(work.what, _SHOWN).replace("`", "'")
    return f"- `{work.id}` {work.kind}{state}: {what} ({ago(work.since, context.clock)}{where})"


async def _stop(context: CommandContext, name: str) -> CommandReply:
    if not name:
        raise UsageError("Which task?", "", f"To list running work, send {context.name('agents')}.")
    work = next((each for each in all_work(context) if each.id == name), None)
    if work is None or not await _end(context, work):
        raise NotFoundError(
            f"No task named {first_words(name, 40)} is running here.",
            "",
            f"To list running work, send {context.name('agents')}.",
        )
    return CommandReply(f"Stopped: {work.kind} {work.id}.")


async def _end(context: CommandContext, work: Work) -> bool:
    table, queue = context.facts.processes, context.facts.requests
    if work.kind == "process" and table is not None:
        return await context.run_aside(lambda: table.kill(work.id))
    if work.kind in {"approval", "question"} and queue is not None:
        asked = [each for each in queue.pending() if work.id == f"{_ASKED}{each.id[:6]}"]
        declined = {"approval": "deny", "question": ""}
        return sum(queue.answer(each.id, declined[each.kind]) for each in asked) > 0
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
