"""Commands that change the present session: title, undo, retry, branch, compress."""

from dataclasses import dataclass
from functools import partial

from hermes_desktop.agent.compression.context_compression import (
    CompactionRequest,
    CompactionResult,
    Compactor,
)
from hermes_desktop.commands.context import CommandContext, CommandReply, TurnUndo, UndoneTurns
from hermes_desktop.commands.parsing import take_flags
from hermes_desktop.commands.present_session import require_session
from hermes_desktop.commands.words import count, first_words, lines
from hermes_desktop.core.errors import NotConfiguredError, NotFoundError, StateError, UsageError
from hermes_desktop.core.ids import new_session_id
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.branching import Branch

MOST_UNDONE = 500
RESTORE = "restore"
_PREVIEW = 200


async def title(context: CommandContext) -> CommandReply:
    """Handle ``/title [name]``."""
    wanted = context.args
    if not wanted:
        session_id = await require_session(context)
        name = await context.run(lambda: context.store.get_session_title(session_id))
        if name:
            return CommandReply(f"The title of this session is “{name}”.")
        return CommandReply(
            f"This session has no title. To set one, send {context.name('title')} <title>."
        )
    name = context.store.sanitize_title(wanted)
    if name is None:
        raise UsageError(
            "This cannot be a title.",
            "It contains no readable characters.",
            "Use letters or digits.",
        )
    session_id = await require_session(context)
    if not await context.run(lambda: context.store.set_session_title(session_id, name)):
        raise NotFoundError("This session was deleted.", hint="Start a new one.")
    return CommandReply(f"The title of this session is now “{name}”.")


async def undo(context: CommandContext) -> CommandReply:
    """Handle ``/undo [N]`` and ``/undo restore``: messages, and the files that they changed."""
    files = context.facts.undo
    if context.args.lower() == RESTORE and files is not None:
        return await _restore(context, files)
    turns = _turns(context)
    session_id = await require_session(context)
    async with context.host.alone_in(session_id):
        if files is None:
            taken = await context.run(lambda: _take_back(context.store, session_id, turns))
        else:
            taken = await context.run_aside(lambda: files.undo(session_id, turns))
        context.host.forget_agent()
    if taken is None:
        return CommandReply("There is nothing to undo.")
    others = taken.rows - taken.turns
    return CommandReply(
        lines(
            f"Removed {count(taken.turns, 'message')} of yours"
            + (f" and {count(others, 'row')} that followed." if others else "."),
            f"The first one began: “{first_words(taken.text, _PREVIEW)}”",
            *taken.notes,
            f"{context.name('undo')} {RESTORE} brings it back." if files is not None else "",
        )
    )


async def undo_preview(context: CommandContext) -> str:
    """Return what ``/undo`` would do to files, for the question before it.

    Raises:
        HermesError: It would be refused.
    """
    turns = _turns(context)
    session_id, files = await require_session(context), context.facts.undo
    if files is None:
        return ""
    return await context.run_aside(lambda: files.preview(session_id, turns))


async def _restore(context: CommandContext, files: TurnUndo) -> CommandReply:
    session_id = await require_session(context)
    async with context.host.alone_in(session_id):
        said = await context.run_aside(lambda: files.restore(session_id))
        context.host.forget_agent()
    return CommandReply(said)


def _turns(context: CommandContext) -> int:
    if not context.args:
        return 1
    if not context.args.isascii() or not context.args.isdigit() or not int(context.args):
        raise UsageError(
            "This is not a valid number of messages.",
            f"You sent “{first_words(context.args)}” after {context.name('undo')}.",
            f"Send {context.name('undo')}, or {context.name('undo')} 2 for the last two.",
        )
    return min(int(context.args[:6]), MOST_UNDONE)


def _take_back(db: SessionDB, session_id: str, turns: int) -> UndoneTurns | None:
    asked = db.list_recent_user_messages(session_id, limit=turns)
    if not asked:
        return None
    first = db.messages_by_ids([asked[-1]["id"]])
    done = db.rewind_to_message(session_id, asked[-1]["id"])
    return UndoneTurns(len(asked), int(done["rewound_count"]), first[0].content if first else "")


async def retry(context: CommandContext) -> CommandReply:
    """Handle ``/retry``: send the last message again, after removing its first answer."""
    session_id = await require_session(context)
    async with context.host.alone_in(session_id):
        text = await context.run(lambda: _last_question(context.store, session_id))
        if not text.strip():
            raise NotFoundError(
                "There is nothing to send again.",
                "This session has no message with text.",
                "Write a message.",
            )
        await context.run(lambda: _take_back(context.store, session_id, 1))
        context.host.forget_agent()
    return CommandReply(ask=text)


def _last_question(db: SessionDB, session_id: str) -> str:
    asked = db.list_recent_user_messages(session_id, limit=1)
    found = db.messages_by_ids([asked[0]["id"]]) if asked else []
    return found[0].content if found else ""


async def branch(context: CommandContext) -> CommandReply:
    """Handle ``/branch [name]``: continue in a copy; in the window the copy is only listed."""
    session_id = await require_session(context)
    branch_id = new_session_id(context.clock.now())
    wanted = Branch(session_id, branch_id, title=context.args or None)
    async with context.host.alone_in(session_id):
        copied = await context.run(lambda: context.store.create_branch(wanted))
    name = await context.run(lambda: context.store.get_session_title(branch_id))
    called = f"“{name}”" if name else branch_id
    said = f"Copied {count(copied, 'message')} to {called}"
    if context.sender.in_window:
        return CommandReply(f"{said}. You can find it in the list.")
    chosen = context.host.model_override()
    await context.host.switch_to(branch_id)
    if chosen:
        await context.host.set_model_override(chosen)
    return CommandReply(
        lines(
            f"{said}. The chat continues there.",
            f"To return to the original, send {context.name('resume')} {session_id}.",
        )
    )


LEAST_MESSAGES = 4
MOST_EXCHANGES = 200
MOST_FOCUS = 500
_PREVIEW_FLAG = "--preview"


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The parsed arguments."""

    wish: CompactionRequest
    preview: bool


async def compress(context: CommandContext) -> CommandReply:
    """Handle ``/compress [focus]``, ``/compress here [N]``, each with ``--preview``."""
    order = _order(context)
    session_id = await require_session(context)
    override = context.host.model_override()
    care = await context.run(lambda: context.facts.care(override))
    if care is None:
        raise NotConfiguredError("No model is available to write a summary.")
    try:
        told = await context.run(lambda: context.store.get_messages(session_id))
        if len(told) < LEAST_MESSAGES:
            return CommandReply("This session is too short to compress.")
        if order.preview:
            return CommandReply(
                _foreseen(await context.run_aside(partial(care.preview, session_id, order.wish)))
            )
        return CommandReply(await _shorten(context, care, session_id, order.wish))
    finally:
        care.close()


async def _shorten(
    context: CommandContext, care: Compactor, session_id: str, wish: CompactionRequest
) -> str:
    async with context.host.alone_in(session_id):
        with context.host.working_on("Compressing the session…") as stop:
            done = await context.run_aside(partial(care.shorten, session_id, wish, stop))
        if done.changed:
            await context.host.shortened(session_id, done.session_id)
            context.host.forget_agent()
    return _told(done)


def _order(context: CommandContext) -> _Arguments:
    flags, rest = take_flags(context.args, _PREVIEW_FLAG)
    words = rest.split()
    if not words or words[0].lower() != "here" or len(words) > 2:  # noqa: PLR2004 - here, N
        return _Arguments(
            CompactionRequest("by_hand", focus=rest.strip()[:MOST_FOCUS]), bool(flags)
        )
    wanted = words[1] if len(words) > 1 else "2"
    if not wanted.isascii() or not wanted.isdigit():
        return _Arguments(
            CompactionRequest("by_hand", focus=rest.strip()[:MOST_FOCUS]), bool(flags)
        )
    exchanges = int(wanted[:6])
    if not 1 <= exchanges <= MOST_EXCHANGES:
        raise UsageError(
            "This is not a valid number of exchanges.",
            f"You can keep the last 1 to {MOST_EXCHANGES}.",
            f"Send {context.name('compress')} here 2.",
        )
    return _Arguments(CompactionRequest("by_hand", exchanges=exchanges), bool(flags))


def _foreseen(done: CompactionResult) -> str:
    if done.kind != "done":
        return "Compressing would not make the session shorter."
    return lines(
        f"A summary would replace {count(done.messages, 'message')}.",
        f"About {done.before:,} tokens would become about {done.after:,}. Nothing was changed.",
    )


def _told(done: CompactionResult) -> str:
    if done.kind == "done":
        return lines(
            f"A summary now replaces {count(done.messages, 'message')}; you can still read them.",
            f"About {done.before:,} tokens became about {done.after:,}.",
        )
    if done.kind == "followed":
        return "Another program has just compressed this session."
    if done.kind == "nothing":
        return "Compressing would not make the session shorter. Nothing was changed."
    if done.error is not None:
        raise done.error
    if done.kind == "cancelled":
        return "Stopped. The session was not changed."
    raise StateError(
        "The session was not compressed.", "It was interrupted.", "The session was not changed."
    )
