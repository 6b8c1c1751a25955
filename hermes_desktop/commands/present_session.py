"""Access to the session that a command is about."""

from typing import Any

from hermes_desktop.agent.context_length import estimate
from hermes_desktop.commands.context import CommandContext
from hermes_desktop.core.errors import HermesError, NotFoundError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import SessionRow


async def require_session(context: CommandContext) -> str:
    """Return the chat's session, if it has any message.

    Raises:
        NotFoundError: The session has no messages yet.
        HermesError: state.db cannot be read.
    """
    row = await session_row(context)
    if row is None:
        raise NotFoundError(
            "There are no messages in this session yet.",
            "The command needs a session with messages.",
            "Write a message first.",
        )
    return str(row["id"])


async def session_row(context: CommandContext) -> SessionRow | None:
    """Return the row of the chat's session; None when there is none yet.

    Raises:
        HermesError: state.db cannot be read.
    """
    session_id = await context.host.session_id()
    if session_id is None:
        return None
    wanted = session_id

    def read() -> SessionRow | None:
        return context.store.get_session(context.store.get_compression_tip(wanted))

    return await context.run(read)


def chain_rows(store: SessionDB, row_id: str) -> list[SessionRow]:
    """Return all parts of a session that was split by compaction, the oldest first. Blocking.

    Raises:
        StateError: state.db cannot be read.
    """
    parts = store.get_compression_lineage(row_id) or [row_id]
    return [row for each in parts if (row := store.get_session(each)) is not None]


def number(row: dict[str, Any], column: str) -> int:
    """Return a counter of a row; 0 if it holds no number."""
    value = row.get(column)
    return int(value) if isinstance(value, int | float) else 0


async def context_line(context: CommandContext, row_id: str) -> str:
    """Return how full the model's context is, as far as that is known without a request."""
    override = context.host.model_override()

    def look() -> str:
        try:
            care = context.facts.care(override)
        except HermesError:
            return ""  # the model itself is reported by another line
        if care is None:
            return ""
        window = care.window(ask=False)
        care.close()
        used = estimate(context.store.get_messages_as_conversation(row_id))
        share = 100 * used / window.tokens if window.tokens else 0.0
        about = "" if window.certain else "perhaps "
        return f"Context: about {used:,} of {about}{window.tokens:,} tokens ({share:.0f} %)"

    return await context.run(look)
