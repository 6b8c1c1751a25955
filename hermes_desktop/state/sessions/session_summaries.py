"""The lines of the session list as records, and as rows."""

import sqlite3
from collections.abc import Collection

from hermes_desktop.state.database.schema import FileLayout
from hermes_desktop.state.records.records import SessionRow, SessionSummary
from hermes_desktop.state.records.stored_values import as_count, as_seconds, as_text, as_title
from hermes_desktop.state.sessions import pins
from hermes_desktop.state.sessions.list_order import NewestTimes, list_keys
from hermes_desktop.state.sessions.session_list import ListFilter, all_columns, project, rich_rows

_SUMMARY_COLUMNS = tuple(
    name
    for name in SessionSummary.__dataclass_fields__
    if name not in {"root_id", "preview", "last_active", "pinned"}
)


def summaries(
    conn: sqlite3.Connection, keys: Collection[tuple[str, str]], own_pins: Collection[str] = ()
) -> dict[str, SessionSummary]:
    """Return lines by the id they show. A pair with a missing row is left out.

    ``own_pins`` are the sessions that are pinned in desktop.db.
    """
    shared = ("pinned",) if pins.has_column(conn) else ()
    rows = rich_rows(conn, {name for key in keys for name in key}, (*_SUMMARY_COLUMNS, *shared))

    def line(root: str, tip: str) -> SessionSummary:
        pinned = any(each in own_pins or rows[each].get("pinned") for each in (root, tip))
        return _summary(project(rows[root], rows[tip]), root, pinned=pinned)

    return {tip: line(root, tip) for root, tip in keys if root in rows and tip in rows}


_COUNTS = ("message_count", "tool_call_count", "input_tokens", "output_tokens")
_OTHERS = {*_COUNTS, "id", "archived", "started_at", "ended_at"}
_TEXTS = tuple(name for name in _SUMMARY_COLUMNS if name not in _OTHERS)


def _summary(row: SessionRow, root_id: str, *, pinned: bool) -> SessionSummary:
    values = {name: row[name] for name in _SUMMARY_COLUMNS}
    values.update({name: as_count(values[name]) for name in _COUNTS})
    values.update({name: as_text(values[name]) for name in _TEXTS})
    values["title"] = as_title(values["title"])
    values["archived"] = bool(values["archived"])
    values["started_at"] = as_seconds(values["started_at"])
    if values["ended_at"] is not None:
        values["ended_at"] = as_seconds(values["ended_at"])
    active = as_seconds(row["last_active"], values["started_at"])
    return SessionSummary(
        **values, root_id=root_id, preview=row["preview"], last_active=active, pinned=pinned
    )


def list_summaries(
    conn: sqlite3.Connection,
    choice: ListFilter,
    layout: FileLayout,
    times: NewestTimes,
    own_pins: Collection[str] = (),
) -> list[SessionSummary]:
    """Return the lines as records; a search text works in either order."""
    keys = list_keys(conn, choice, layout, times)
    found = summaries(conn, keys, own_pins)
    return [found[tip] for _, tip in keys if tip in found]


def list_rich(
    conn: sqlite3.Connection, choice: ListFilter, layout: FileLayout, times: NewestTimes
) -> list[SessionRow]:
    """Return the lines as rows with ``preview``, ``last_active`` and a chain's tip fields."""
    keys = list_keys(conn, choice, layout, times)
    wanted = {name for key in keys for name in key}
    columns = all_columns(layout)
    if choice.compact_rows:
        columns.remove("system_prompt")
    rows = rich_rows(conn, wanted, columns)
    return [project(rows[root], rows[tip]) for root, tip in keys]
