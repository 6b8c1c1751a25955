"""Titles of sessions: valid form, uniqueness, and numbering."""

import re
import sqlite3

from hermes_desktop.core.errors import HermesError
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.sessions import lineage

MAX_CHARS = 100
_LONGEST_BASE = 1_000

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_INVISIBLE = re.compile("[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffc\ufff9-\ufffb]")
_NUMBERED = re.compile(r"^(.*?) #(\d+)$", re.DOTALL)


class TitleError(HermesError, ValueError):
    """The title is too long, or another session has it."""


def sanitize_title(title: str | None) -> str | None:
    """Return the title as stored: one line without invisible characters; None when it is empty.

    Raises:
        TitleError: More than 100 characters remain.
    """
    if not title:
        return None
    text = _INVISIBLE.sub("", _CONTROL.sub("", clean_text(title)))
    text = " ".join(text.split())
    if len(text) > MAX_CHARS:
        raise TitleError(
            f"Title too long ({len(text)} chars, max {MAX_CHARS}).",
            hint=f"Shorten the title to at most {MAX_CHARS} characters.",
        )
    return text or None


def set_title(
    conn: sqlite3.Connection, session_id: str, title: str | None, *, chosen_by: str | None = None
) -> bool:
    """Set the (sanitized) title of a session inside a write transaction.

    A title held by an earlier segment of the same conversation moves; any other holder keeps it.

    Args:
        conn: Inside a write transaction.
        session_id: The session.
        title: Sanitized, None to remove the title.
        chosen_by: The origin to store, in a file that has a column for it.

    Returns:
        False when there is no such session.

    Raises:
        TitleError: Another session has exactly this title.
    """
    if conn.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is None:
        return False
    holder = (
        title
        and conn.execute(
            "SELECT id FROM sessions WHERE title = ? AND id <> ?", (title, session_id)
        ).fetchone()
    )
    if holder:
        if holder[0] not in lineage.compression_ancestors(conn, session_id):
            raise TitleError(
                f"Title '{title}' is already in use by session {holder[0]}.",
                hint="Choose another title.",
            )
        conn.execute("UPDATE sessions SET title = NULL WHERE id = ?", (holder[0],))
    noted = "" if chosen_by is None else ", title_source = ?"
    who = () if chosen_by is None else (chosen_by,)
    conn.execute(f"UPDATE sessions SET title = ?{noted} WHERE id = ?", (title, *who, session_id))
    return True


def set_if_empty(
    conn: sqlite3.Connection, session_id: str, title: str, *, chosen_by: str | None = None
) -> bool:
    """Set the (sanitized) title of a session without one. False: it has one, or no row.

    Raises:
        TitleError: Another session has exactly this title.
    """
    row = conn.execute("SELECT title FROM sessions WHERE id = ?", (session_id,)).fetchone()
    if row is None or row[0] is not None:
        return False
    return set_title(conn, session_id, title, chosen_by=chosen_by)


def _numbered(conn: sqlite3.Connection, base: str) -> list[tuple[str, str]]:
    """Return id and title of the sessions called ``base #…``, the newest first."""
    if len(base) > _LONGEST_BASE:
        return []
    pattern = re.sub(r"([\\%_])", r"\\\1", base) + " #%"
    rows = conn.execute(
        "SELECT id, title FROM sessions WHERE title LIKE ? ESCAPE '\\' "
        "ORDER BY started_at DESC, id DESC",
        (pattern,),
    ).fetchall()
    return [(row[0], row[1]) for row in rows]


def find_by_title(conn: sqlite3.Connection, title: str) -> str | None:
    """Return the id for a title: the newest numbered one of that name, else the exact one."""
    if not title:
        return None
    numbered = _numbered(conn, title)
    if numbered:
        return numbered[0][0]
    row = conn.execute("SELECT id FROM sessions WHERE title = ?", (title,)).fetchone()
    return None if row is None else str(row[0])


def next_title(conn: sqlite3.Connection, title: str) -> str:
    """Return the next free title of a family: ``Trip``, then ``Trip #2``, then ``Trip #3``."""
    match = _NUMBERED.match(title)
    base = match.group(1) if match else title
    numbered = [found for _, found in _numbered(conn, base)]
    exact = conn.execute("SELECT 1 FROM sessions WHERE title = ?", (base,)).fetchone()
    if exact is None and not numbered:
        return base
    numbers = [int(m.group(2)) for m in map(_NUMBERED.match, numbered) if m]
    return f"{base} #{max([1, *numbers]) + 1}"


def fitting_title(conn: sqlite3.Connection, title: str) -> str:
    """Return the (sanitized) title itself if it is free, else the next number of its family.

    The name is shortened where the number would make it too long.
    """
    if conn.execute("SELECT 1 FROM sessions WHERE title = ?", (title,)).fetchone() is None:
        return title
    match = _NUMBERED.match(title)
    base = match.group(1) if match else title
    while len(found := next_title(conn, base)) > MAX_CHARS:
        base = base[: MAX_CHARS - (len(found) - len(base))].rstrip()
    return found
