"""The conversation that a command is about."""

from typing import Any

from hermes_desktop.agent.context_length import estimate
from hermes_desktop.commands.context import CommandContext
from hermes_desktop.core.errors import HermesError, NotFoundError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import SessionRow


async def begun_session(context: CommandContext) -> str:
    """The chat's session, if something was said in it.

    Raises:
        NotFoundError: Nothing was said yet.
        HermesError: state.db cannot be asked.
    """
    row = await session_row(context)
    if row is None:
        raise NotFoundError(
            "Nothing has been said here yet.",
            "There is no session that this could be about.",
            "Write a message first.",
        )
    return str(row["id"])


async def session_row(context: CommandContext) -> SessionRow | None:
    """The row of the chat's session; None when there is none yet.

    Raises:
        HermesError: state.db cannot be asked.
    """
    session_id = await context.host.session_id()
    if session_id is None:
        return None
    wanted = session_id

    def read() -> SessionRow | None:
        return context.store.get_session(context.store.get_compression_tip(wanted))

    return await context.run(read)


def chain_rows(store: SessionDB, row_id: str) -> list[SessionRow]:
    """All parts of a session that was shortened into new ones, the oldest first. Blocking.

    Raises:
        StateError: state.db cannot be asked.
    """
    parts = store.get_compression_lineage(row_id) or [row_id]
    return [row for each in parts if (row := store.get_session(each)) is not None]


def number(row: dict[str, Any], column: str) -> int:
    """A counter of a row; 0 for what is none."""
    value = row.get(column)
    return int(value) if isinstance(value, int | float) else 0


async def context_line(context: CommandContext, row_id: str) -> str:
    """How full the model's context is, as far as it is known without asking anybody."""
    override = context.host.model_override()

    def look() -> str:
        try:
            care = context.facts.care(override)
        except HermesError:
            return ""  # which model answers is another line's matter
        if care is None:
            return ""
        window = care.window(ask=False)
        care.close()
        used = estimate(context.store.get_messages_as_conversation(row_id))
        share = 100 * used / window.tokens if window.tokens else 0.0
        about = "" if window.certain else "perhaps "
        return f"Context: about {used:,} of {about}{window.tokens:,} tokens ({share:.0f} %)"

    return await context.run(look)
