"""The baseline of an agent that is kept between turns: what it has seen of its session.

Another process may append to, rewind or rewrite a session between two turns. Therefore every front
end records the session's mark and compares it before the next turn; these functions decide which
mark a turn leaves behind.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hermes_desktop.state.records.records import SessionMark


def seen_after_turn(before: SessionMark | None, written: Sequence[int]) -> SessionMark | None:
    """Return the mark of what an agent has seen: the rows before its turn, and its own rows.

    Rows that another process added meanwhile are not included, so that the next turn reads them.

    Args:
        before: The mark when the turn began, None when there was no row.
        written: Row ids that the turn wrote.

    Returns:
        None when there are still no rows.
    """
    if before is None:
        return SessionMark(len(written), 0, max(written)) if written else None
    return SessionMark(
        message_count=before.message_count + len(written),
        rewind_count=before.rewind_count,
        newest_message_id=max(written, default=before.newest_message_id),
    )


def must_read_again(result: Mapping[str, Any], session_id: str) -> bool:
    """Return whether an agent has to read its session before the next turn.

    That is so after anything but a normal end, and after a rotation.

    Args:
        result: The result of the turn.
        session_id: The session in which the turn began.
    """
    plain = not any(result.get(key) for key in ("failed", "interrupted", "partial"))
    return not plain or (result.get("session_id") or session_id) != session_id
