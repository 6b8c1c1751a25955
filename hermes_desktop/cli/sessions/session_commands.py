"""``hermes-desktop sessions``: the history of a home. This module has the read-only commands."""

import contextlib
from typing import TYPE_CHECKING, Any

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import LazyGroup, with_home
from hermes_desktop.cli.store_access import open_store
from hermes_desktop.services.sessions.session_catalog import SessionCatalog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.state.records.records import Message, SessionSummary

MOST = 1_000_000_000
_AMOUNT = click.IntRange(1, MOST)

SESSION_FIELDS = (
    "id",
    "source",
    "title",
    "preview",
    "started_at",
    "last_active",
    "ended_at",
    "end_reason",
    "message_count",
    "tool_call_count",
    "model",
    "parent_session_id",
    "root_id",
    "archived",
    "cwd",
    "input_tokens",
    "output_tokens",
    "user_id",
    "chat_id",
    "chat_type",
    "display_name",
    "pinned",
)
MESSAGE_FIELDS = (
    "id",
    "session_id",
    "role",
    "content",
    "timestamp",
    "tool_name",
    "tool_call_id",
    "tool_calls",
    "finish_reason",
    "reasoning",
    "token_count",
    "parts",
    "active",
    "compacted",
    "observed",
)


_HERE = "hermes_desktop.cli.sessions"
_PLACES = {
    "archive": (f"{_HERE}.session_bulk", "archive"),
    "delete": (f"{_HERE}.session_edits", "delete"),
    "export": (f"{_HERE}.session_transfer", "export"),
    "folder": (f"{_HERE}.session_edits", "folder"),
    "health": (f"{_HERE}.store_commands", "health"),
    "import": (f"{_HERE}.session_transfer", "import_sessions"),
    "optimize": (f"{_HERE}.store_commands", "optimize"),
    "pin": (f"{_HERE}.session_edits", "pin"),
    "prune": (f"{_HERE}.session_bulk", "prune"),
    "rename": (f"{_HERE}.session_edits", "rename"),
    "restore": (f"{_HERE}.snapshot_commands", "restore"),
    "search": (f"{_HERE}.session_search", "search"),
    "snapshot": (f"{_HERE}.snapshot_commands", "snapshot"),
    "stats": (f"{_HERE}.store_commands", "stats"),
    "trash": (f"{_HERE}.session_trash", "trash"),
    "unarchive": (f"{_HERE}.session_edits", "unarchive"),
    "redo": (f"{_HERE}.session_undo", "redo"),
    "undo": (f"{_HERE}.session_undo", "undo"),
    "unpin": (f"{_HERE}.session_edits", "unpin"),
}


@click.group(cls=LazyGroup, places=_PLACES)
def sessions() -> None:
    """List, read, change, export and restore the sessions of a home."""


@sessions.command("list")
@click.option("--source", metavar="NAME", help="Only sessions from this source, such as telegram.")
@click.option(
    "--limit",
    type=_AMOUNT,
    default=20,
    show_default=True,
    metavar="N",
    help="Maximum number of rows.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of flat objects.")
@with_home
def list_sessions(*, source: str | None, limit: int, as_json: bool, paths: "HermesPaths") -> None:
    """List sessions, newest first.

    A terminal shows a table, with * for pinned sessions. Elsewhere, each session is one line of
    tab-separated fields: ID, source, number of messages, last activity, title or first words. Use
    `--json` to see which sessions are pinned.
    """
    if source is not None and not source.strip():
        raise click.BadParameter("it must not be empty.", param_hint="--source")
    with _catalog(paths) as catalog:
        found = catalog.sessions(source=source, limit=limit)
    if as_json:
        output.write_json(_fields(session, SESSION_FIELDS) for session in found)
        return
    if not found:
        output.write("No sessions found.\n")
        return
    from hermes_desktop.cli.sessions import session_text

    as_text = session_text.table if output.is_terminal() else session_text.tabbed_lines
    output.write(as_text(found))


@sessions.command("show")
@click.argument("session", metavar="ID|TITLE")
@click.option("--limit", type=_AMOUNT, metavar="N", help="Only the last N messages.")
@click.option("--json", "as_json", is_flag=True, help="Print the messages as a JSON array.")
@with_home
def show_session(*, session: str, limit: int | None, as_json: bool, paths: "HermesPaths") -> None:
    """Show one session with its messages, oldest first.

    Name the session by its ID, the beginning of its ID, or its title.
    """
    with _catalog(paths) as catalog:
        summary = catalog.find(output.without_surrogates(session))
        messages = catalog.messages(summary.id, limit=limit)
    if as_json:
        output.write_json(_fields(message, MESSAGE_FIELDS) for message in messages)
        return
    from hermes_desktop.cli.sessions import session_text

    output.write(session_text.heading(summary))
    for message in messages:
        output.write(session_text.message_block(message))
    if not messages:
        output.write("\nThis session has no messages.\n")


@contextlib.contextmanager
def _catalog(paths: "HermesPaths") -> "Iterator[SessionCatalog]":
    with open_store(paths) as db:
        yield SessionCatalog(db)


def _fields(record: "SessionSummary | Message", names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}
