"""Commands that list earlier sessions, and continue one of them."""

from collections.abc import Iterator

from hermes_desktop.commands.context import CommandContext, CommandReply, Sender
from hermes_desktop.commands.parsing import take_flags
from hermes_desktop.commands.words import ago, count, first_words, lines
from hermes_desktop.core.errors import NotFoundError, RefusedError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import SessionRow, SessionSummary

MOST_LISTED = 10
_LOOKED_AT = 500
"""The number of sessions of the platform that are searched for those of one sender."""
_EVERYWHERE = frozenset({"--all", "--cross-room"})
_LOCAL = frozenset({"cli", "desktop", "tui", "webui", "acp", "local", "import"})


async def sessions(context: CommandContext) -> CommandReply:
    """Handle ``/sessions``: list the latest ones, with or without a title.

    In group chats only those of this chat are listed, unless the sender asks for all.
    """
    flags, _ = take_flags(context.args, *_EVERYWHERE)
    alone = context.sender.in_window or context.sender.chat_type == "dm"
    return await _list(context, titled=False, everywhere=alone or bool(flags))


async def resume(context: CommandContext) -> CommandReply:
    """Handle ``/resume``: list titled sessions; with a title, id or number, continue that one."""
    flags, wanted = take_flags(context.args, *_EVERYWHERE)
    if not wanted:
        return await _list(context, titled=not flags, everywhere=bool(flags))
    target = await _find(context, wanted)
    present = await context.host.session_id()
    if present is not None and await context.run(lambda: _same(context.store, present, target)):
        return CommandReply("This chat is already in that session.")
    row = await context.run(lambda: _row_of(context.store, target))
    _refuse_foreign(context.sender, row, everywhere=bool(flags), context=context)
    async with context.host.alone_in(target):
        await context.host.switch_to(target)
    name = f"“{row['title']}”" if row["title"] else target
    messages = count(int(row["message_count"] or 0), "message")
    return CommandReply(f"Continuing {name} ({messages}).")


# Lookup


async def _find(context: CommandContext, wanted: str) -> str:
    """Resolve a number of the last list, an id or a title to the session to continue."""
    number = int(wanted[:4]) if wanted.isascii() and wanted.isdigit() else 0
    by_number = context.listed[number - 1] if 1 <= number <= len(context.listed) else None
    found = by_number or await context.run(lambda: _by_id_or_title(context.store, wanted))
    if found is None:
        raise NotFoundError(
            "There is no such session.",
            f"“{first_words(wanted)}” is not a number of the last list, an ID or a title.",
            f"To list sessions with a title, send {context.name('resume')}.",
        )
    return await context.run(lambda: context.store.resolve_resume_session_id(found))


def _by_id_or_title(db: SessionDB, wanted: str) -> str | None:
    if db.get_session(wanted) is not None:
        return wanted
    return db.resolve_session_by_title(wanted)


def _same(db: SessionDB, present: str, target: str) -> bool:
    return db.get_compression_tip(present) == db.get_compression_tip(target)


def _row_of(db: SessionDB, session_id: str) -> SessionRow:
    """Return the row, with the chat of an earlier part of its chain where the row itself has none.

    Raises:
        NotFoundError: It has been deleted.
    """
    row = db.get_session(session_id)
    if row is None:
        raise NotFoundError("This session was deleted.", hint="Choose another one.")
    for ancestor_id in reversed(db.get_compression_lineage(session_id)):
        if row["user_id"] or row["chat_id"]:
            break
        ancestor = db.get_session(ancestor_id) or {}
        row |= {name: ancestor.get(name) for name in ("user_id", "chat_id", "chat_type")}
    return row


# Ownership


def _refuse_foreign(
    sender: Sender, row: SessionRow, *, everywhere: bool, context: CommandContext
) -> None:
    """Refuse access to a session of another sender.

    Raises:
        RefusedError: It does not belong to the sender, or it belongs to another chat and the sender
            did not include those.
    """
    if row["source"] in _LOCAL and _is_owner(sender):
        return
    if row["source"] != sender.platform or not _is_theirs(
        sender, row["user_id"], row["chat_id"], row["chat_type"]
    ):
        raise RefusedError(
            "This session is not yours.",
            "It was started on another platform or by someone else.",
            f"To list the sessions that you can continue, send {context.name('sessions')}.",
        )
    if row["chat_id"] not in {None, sender.chat_id} and not everywhere:
        raise RefusedError(
            "This session was started in another chat.",
            "Its messages would become visible here.",
            f"To continue it anyway, add --all to {context.name('resume')}.",
        )


def _is_owner(sender: Sender) -> bool:
    """Return whether the sender is certainly the owner: a named admin, by direct message."""
    return sender.restricted and sender.is_admin and sender.chat_type == "dm"


def _is_theirs(sender: Sender, user_id: object, chat_id: object, chat_type: object) -> bool:
    if user_id is not None:
        return sender.user_id is not None and str(user_id) == sender.user_id
    return chat_id is not None and str(chat_id) == sender.chat_id and chat_type == sender.chat_type


# Lists


async def _list(context: CommandContext, *, titled: bool, everywhere: bool) -> CommandReply:
    sender = context.sender
    found = await context.run(
        lambda: context.store.list_summaries(
            source=sender.platform, limit=_LOOKED_AT, order="activity", empty=False
        )
    )
    shown = list(_theirs(sender, found, titled=titled, everywhere=everywhere))[:MOST_LISTED]
    context.listed[:] = [] if sender.in_window else [summary.id for summary in shown]
    if not shown:
        kind = "with a title " if titled else ""
        more = f"To list all, send {context.name('resume')} --all." if titled else ""
        return CommandReply(lines(f"There are no earlier sessions {kind}here.", more))
    now = await context.host.session_id()
    entries = [
        f"{number}. {first_words(summary.label, 60)}"
        f" — {ago(summary.last_active, context.clock)},"
        f" {count(summary.message_count, 'message')}"
        + (" (this one)" if now in {summary.id, summary.root_id} else "")
        for number, summary in enumerate(shown, 1)
    ]
    how = (
        ""
        if sender.in_window
        else f"To continue one of them, send {context.name('resume')} <number>."
    )
    return CommandReply(lines(*entries, f"\n{how}" if how else ""))


def _theirs(
    sender: Sender, found: list[SessionSummary], *, titled: bool, everywhere: bool
) -> Iterator[SessionSummary]:
    for each in found:
        if titled and not each.title:
            continue
        theirs = _is_theirs(sender, each.user_id, each.chat_id, each.chat_type)
        here = everywhere or each.chat_id in {None, sender.chat_id}
        if sender.in_window or (theirs and here):
            yield each
