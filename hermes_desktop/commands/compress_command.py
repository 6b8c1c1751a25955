"""The command ``/compress``, which compacts the present session now."""

from dataclasses import dataclass
from functools import partial

from hermes_desktop.agent.compression.context_compression import CompactionResult, Compactor, Wish
from hermes_desktop.commands.context import CommandContext, CommandReply
from hermes_desktop.commands.parsing import take_flags
from hermes_desktop.commands.present_session import require_session
from hermes_desktop.commands.words import count, lines
from hermes_desktop.core.errors import NotConfiguredError, StateError, UsageError

LEAST_MESSAGES = 4
MOST_EXCHANGES = 200
MOST_FOCUS = 500
_PREVIEW = "--preview"


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The parsed arguments."""

    wish: Wish
    preview: bool


async def compress(context: CommandContext) -> CommandReply:
    """Handle ``/compress [focus]``, ``/compress here [N]``, each with ``--preview``."""
    order = _order(context)
    session_id = await require_session(context)
    override = context.host.model_override()
    care = await context.run(lambda: context.facts.care(override))
    if care is None:
        raise NotConfiguredError("There is nobody who could write a summary.")
    try:
        told = await context.run(lambda: context.store.get_messages(session_id))
        if len(told) < LEAST_MESSAGES:
            return CommandReply("This session is too short for that.")
        if order.preview:
            return CommandReply(
                _foreseen(await context.run_aside(partial(care.preview, session_id, order.wish)))
            )
        return CommandReply(await _shorten(context, care, session_id, order.wish))
    finally:
        care.close()


async def _shorten(context: CommandContext, care: Compactor, session_id: str, wish: Wish) -> str:
    async with context.host.alone_in(session_id):
        with context.host.working_on("Shortening the session…") as stop:
            done = await context.run_aside(partial(care.shorten, session_id, wish, stop))
        if done.changed:
            await context.host.shortened(session_id, done.session_id)
            context.host.forget_agent()
    return _told(done)


def _order(context: CommandContext) -> _Arguments:
    flags, rest = take_flags(context.args, _PREVIEW)
    words = rest.split()
    if not words or words[0].lower() != "here" or len(words) > 2:  # noqa: PLR2004 - here, N
        return _Arguments(Wish("by_hand", focus=rest.strip()[:MOST_FOCUS]), bool(flags))
    wanted = words[1] if len(words) > 1 else "2"
    if not wanted.isascii() or not wanted.isdigit():
        return _Arguments(Wish("by_hand", focus=rest.strip()[:MOST_FOCUS]), bool(flags))
    exchanges = int(wanted[:6])
    if not 1 <= exchanges <= MOST_EXCHANGES:
        raise UsageError(
            "That is no number of exchanges.",
            f"From 1 to {MOST_EXCHANGES} of the last ones can stay.",
            f"Say {context.name('compress')} here 2.",
        )
    return _Arguments(Wish("by_hand", exchanges=exchanges), bool(flags))


def _foreseen(done: CompactionResult) -> str:
    if done.kind != "done":
        return "Nothing would become shorter."
    return lines(
        f"A summary would stand for {count(done.messages, 'message')}.",
        f"About {done.before:,} tokens would become about {done.after:,}. Nothing was changed.",
    )


def _told(done: CompactionResult) -> str:
    if done.kind == "done":
        return lines(
            f"A summary stands for {count(done.messages, 'message')} now; they can still be read.",
            f"About {done.before:,} tokens became about {done.after:,}.",
        )
    if done.kind == "followed":
        return "It has been shortened by somebody else just now."
    if done.kind == "nothing":
        return "Nothing would become shorter. The session is as it was."
    if done.error is not None:
        raise done.error
    if done.kind == "cancelled":
        return "Stopped. The session is as it was."
    raise StateError("The session was not shortened.", "It was interrupted.", "It is as it was.")
