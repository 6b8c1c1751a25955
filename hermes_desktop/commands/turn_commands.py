"""Commands about the reply that is being written, and the next ones."""

from hermes_desktop.commands.context import CommandContext, CommandReply
from hermes_desktop.commands.words import count
from hermes_desktop.commands.work_commands import stop_background_work
from hermes_desktop.core.errors import UsageError

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
    told = f"{count(beside, 'thing')} beside it ended." if beside else ""
    if turn:
        words = "Stopped. The session goes on with your next message."
        return CommandReply(f"{words} {told}".rstrip())
    return CommandReply(told.capitalize() or "Nothing is being written here.")


async def steer(context: CommandContext) -> CommandReply:
    """Handle ``/steer <message>``: pass it to the running turn; answer it at once if none runs."""
    if not context.args:
        usage = context.name("steer")
        raise UsageError(
            "There is nothing to say.", f"{usage} is followed by a message.", f"{usage} <message>"
        )
    host = context.host
    if not host.is_busy():
        return CommandReply(ask=context.args)
    if await host.steer(context.args):
        return CommandReply("I take that into account while I work.")
    await host.queue(context.args)
    return CommandReply("What runs cannot be told any more, so I answer this next.")


async def queue(context: CommandContext) -> CommandReply:
    """Handle ``/queue <message>``; when nothing runs, it is answered at once.

    In the window every message waits for the one before, so there it is simply the next one.
    """
    if not context.args:
        usage = context.name("queue")
        raise UsageError(
            "There is nothing to queue.", f"{usage} is followed by a message.", f"{usage} <message>"
        )
    if context.sender.in_window or not context.host.is_busy():
        return CommandReply(ask=context.args)
    waiting = await context.host.queue(context.args)
    return CommandReply(f"Queued ({count(waiting, 'message')} waiting)." if waiting else "")
