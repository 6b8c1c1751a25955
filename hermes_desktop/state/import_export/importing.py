"""Insertion of exported sessions into the store.

Nothing that ties a session to a running gateway is imported: routing, hand-off, undo. All its
messages become active.
"""

import itertools
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes_desktop.core.errors import HermesError
from hermes_desktop.state.conversations import messages_table
from hermes_desktop.state.database.chunked_writes import fits_one
from hermes_desktop.state.database.schema import SESSIONS
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.sessions import sessions_table, titles
from hermes_desktop.state.sessions.deletion import MOST_BYTES, MOST_MESSAGES, MOST_SESSIONS

Session = Mapping[str, Any]

_NOT_TAKEN = {
    "id",
    "source",
    "started_at",
    "title",
    "parent_session_id",
    "model_config",
    "message_count",
    "tool_call_count",
    "rewind_count",
    "session_key",
    "chat_id",
    "chat_type",
    "thread_id",
    "display_name",
    "origin_json",
    "expiry_finalized",
}
_TAKEN = tuple(
    column
    for column in SESSIONS
    if column.name not in _NOT_TAKEN and not column.name.startswith(("handoff_", "compression_"))
)
_GREATEST_ID = 2**40
"""Greater row ids are not kept: the next id of the whole file would follow them."""


@dataclass(slots=True)
class ImportReport:
    """The result of an import so far."""

    imported: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    detached: int = 0
    retitled: list[dict[str, str | None]] = field(default_factory=list)

    def copy(self) -> "ImportReport":
        """Return a copy to extend, for a transaction that may run more than once."""
        return ImportReport([*self.imported], [*self.skipped], self.detached, [*self.retitled])

    def as_dict(self, order: Sequence[str]) -> dict[str, Any]:
        """Return the result in the format that callers expect; ids in the given order."""
        place = {session_id: number for number, session_id in enumerate(order)}
        imported = sorted(self.imported, key=place.__getitem__)
        return {
            "ok": True,
            "imported": len(imported),
            "skipped": len(self.skipped),
            "detached": self.detached,
            "imported_ids": imported,
            "skipped_ids": sorted(self.skipped, key=place.__getitem__),
            "errors": [],
            "retitled": self.retitled,
        }


def refused(errors: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the result of an import that was refused because of errors."""
    return {"ok": False, "imported": 0, "skipped": 0, "detached": 0, "errors": errors}


def portions(sessions: Sequence[Session]) -> Iterator[list[Session]]:
    """Yield parents before their children, in portions for one short transaction each.

    A session that is too long for one is a portion of its own; see :func:`is_long`.
    """
    portion: list[Session] = []
    messages = size = 0
    for session in _parents_first(sessions):
        more, larger = _extent(session)
        full = len(portion) >= MOST_SESSIONS or messages + more > MOST_MESSAGES
        if portion and (full or size + larger > MOST_BYTES):
            yield portion
            portion, messages, size = [], 0, 0
        portion.append(session)
        messages += more
        size += larger
    if portion:
        yield portion


def is_long(portion: Sequence[Session]) -> bool:
    """Return whether a portion is one session with too many messages for one transaction."""
    return len(portion) == 1 and not fits_one(*_extent(portion[0]))


def _extent(session: Session) -> tuple[int, int]:
    """Return the number of messages, and the approximate length of their text."""
    messages = session.get("messages") or ()
    words = (str(each.get(name) or "") for each in messages for name in ("content", "tool_calls"))
    return len(messages), sum(map(len, words))


def _parents_first(sessions: Sequence[Session]) -> list[Session]:
    by_id = {session["id"]: session for session in sessions}
    ordered: dict[str, Session] = {}
    for session in sessions:
        path: list[Session] = []
        current: Session | None = session
        while current is not None and current["id"] not in ordered and current not in path:
            path.append(current)
            current = by_id.get(current.get("parent_session_id") or "")
        ordered.update((each["id"], each) for each in reversed(path))
    return list(ordered.values())


def insert(
    conn: sqlite3.Connection, sessions: Sequence[Session], now: float, done: ImportReport
) -> ImportReport:
    """Import one portion in the caller's transaction; ids that already have a row are skipped.

    Returns:
        A new report: ``done`` with this portion added.
    """
    report = done.copy()
    for session in sessions:
        session_id = clean_text(session["id"])
        if sessions_table.exists(conn, session_id):
            report.skipped.append(session["id"])
            continue
        insert_row(conn, session_id, session, now, report)
        _insert_messages(conn, session_id, session.get("messages") or (), now)
        report.imported.append(session["id"])
    return report


def insert_row(
    conn: sqlite3.Connection, session_id: str, session: Session, now: float, report: ImportReport
) -> None:
    """Insert the row of a session; what could not be kept is recorded in the report."""
    parent = clean_text(session.get("parent_session_id") or "") or None
    if parent is not None and not sessions_table.exists(conn, parent):
        parent = None
        report.detached += 1
    values: dict[str, Any] = {
        "id": session_id,
        "source": clean_text(session.get("source") or "import"),
        "started_at": _number(session.get("started_at"), now),
        "parent_session_id": parent,
        "model_config": _config(session.get("model_config")),
        "title": _title(conn, session, report),
    }
    for column in _TAKEN:
        value = _value(session.get(column.name), column.kind)
        if value is not None:
            values[column.name] = value
    names = ", ".join(values)
    conn.execute(
        f"INSERT INTO sessions ({names}) VALUES ({', '.join('?' * len(values))})",
        tuple(values.values()),
    )


def _title(conn: sqlite3.Connection, session: Session, report: ImportReport) -> str | None:
    """Return the title as it can be stored; a taken one gets the next number of its family."""
    wanted = session.get("title")
    try:
        clean = titles.sanitize_title(wanted)
    except HermesError:
        clean = titles.sanitize_title(str(wanted).strip()[: titles.MAX_CHARS])
    given = None if clean is None else titles.fitting_title(conn, clean)
    if given != wanted and given != clean_text(str(wanted)) and (given or (wanted or "").strip()):
        report.retitled.append({"session_id": session["id"], "from": wanted, "to": given})
    return given


def _config(value: Any) -> str | None:
    if isinstance(value, Mapping):
        return sessions_table.encode_config(value)
    return clean_text(value) if isinstance(value, str) and value else None


def _value(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "TEXT":
        return clean_text(value) if isinstance(value, str) else json.dumps(value, default=str)
    number = _number(value, None)
    return int(number) if kind == "INTEGER" and number is not None else number


def _number(value: Any, default: float | None) -> float | None:
    if isinstance(value, int | float) and abs(value) < 2**53:  # also false for NaN
        return float(value)
    return default


def _insert_messages(
    conn: sqlite3.Connection, session_id: str, messages: Sequence[Mapping[str, Any]], now: float
) -> None:
    ids = kept_ids(conn, [message.get("id") for message in messages])
    messages_table.insert_all(conn, session_id, messages, now, ids=ids)


def kept_ids(conn: sqlite3.Connection, ids: Sequence[Any]) -> list[int] | None:
    """Return the original row ids of the messages, if they are in order and not in use."""
    if not ids or not all(type(each) is int and 0 < each < _GREATEST_ID for each in ids):
        return None
    if any(first >= second for first, second in itertools.pairwise(ids)):
        return None
    row = conn.execute(
        "SELECT EXISTS (SELECT 1 FROM messages WHERE id IN (SELECT value FROM json_each(?)))",
        (json.dumps(list(ids)),),
    ).fetchone()
    return None if row[0] else list(ids)
