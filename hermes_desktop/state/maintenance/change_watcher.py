"""Detection of commits to state.db, and of the sessions they affect.

A check costs microseconds while nothing happens: ``PRAGMA data_version`` on a separate connection
changes when, and only when, another connection committed, in this process or in another one. After
a commit the watcher looks for

* messages with an id above the greatest one seen;
* inserted and deleted session rows;
* changed session rows (title, end, archive, counters, undo).

The last one needs the rows themselves. Those that are likely to change, because they are shown, new
or recently changed, are compared immediately; the others in slices, one per check, until all were
compared once after the last commit. A store of a few thousand sessions is one slice.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from hermes_desktop.core.errors import BusyError
from hermes_desktop.state.database.connection import FileIdentity, Patience, abandon, identify
from hermes_desktop.state.database.schema import read_layout
from hermes_desktop.state.database.store_opening import open_store
from hermes_desktop.state.maintenance.session_marks import RowMark, SessionMarks
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.records import StateChanges
from hermes_desktop.state.records.sqlite_errors import is_bad_text, is_busy, to_hermes_error
from hermes_desktop.state.records.stored_rows import marks

_SLICE = 2_000
_CHUNK = 400
_NEWEST = 50
_LATELY = 50
_COMPARED = (
    "parent_session_id",
    "model",
    "ended_at",
    "end_reason",
    "message_count",
    "tool_call_count",
    "input_tokens",
    "output_tokens",
    "title",
    "cwd",
    "display_name",
    "rewind_count",
    "archived",
    "hidden",
    "pinned",
)
_COUNT_ACTIVE = "SELECT count(*) FROM messages WHERE session_id = ? AND active = 1"
_NOTHING = StateChanges()
_Value = TypeVar("_Value")
_NOW = Patience(attempts=1, wait_s=0.0)


class ChangeWatcher:
    """A watcher that reports what changed since its last check.

    Used on one thread at a time; never waits for a lock. The first check records the present state
    and reports nothing; make it before reading the data to be kept up to date.

    Args:
        db_path: The file. It may be missing; its creation is reported.
    """

    def __init__(self, db_path: Path | str) -> None:
        self._path = Path(db_path)
        self._conn: sqlite3.Connection | None = None
        self._identity: FileIdentity | None = None
        self._data_version = -1
        self._newest_message = 0
        self._greatest_row = 0
        self._marks = SessionMarks()
        self._columns: tuple[str, ...] = ()
        self._watched: frozenset[str] = frozenset()
        self._active: dict[str, int] = {}
        self._has_active = True
        self._schema_cookie = 0
        self._lately: OrderedDict[str, None] = OrderedDict()
        self._sweep_from = 0
        self._sweep_left = 0
        self._started = False

    def watch(self, session_ids: Collection[str]) -> None:
        """Set the sessions that are shown; they are compared right after each commit.

        Only for these, messages restored after an undo are also noticed, which leaves no trace in
        the session's row.
        """
        self._watched = frozenset(session_ids)

    def look(self) -> StateChanges:
        """Return what changed since the last check, by any process.

        A locked file gives an empty result; the changes are found by a later check.

        Raises:
            StateError: The file cannot be read; the next check retries.
        """
        try:
            if self._file_is_another():
                return self._open_again()
            self._started = True
            return self._look()
        except BusyError:
            return _NOTHING
        except sqlite3.Error as error:
            if is_busy(error):
                return _NOTHING
            if is_bad_text(error) and self._conn is not None:
                self._conn.text_factory = _lenient
                return _NOTHING
            self.close()
            raise to_hermes_error(error, self._path) from error

    def close(self) -> None:
        """Close the file. Another check reopens it."""
        if self._conn is not None:
            self._conn.close()
        self._conn = None

    # ------------------------------------------------------------------ the file

    def _file_is_another(self) -> bool:
        now = identify(self._path)
        if now is None or self._conn is None or self._identity is None:
            return now is not None or self._conn is not None
        if self._identity.same_file(now):
            self._identity = now
            return False
        return True

    def _open_again(self) -> StateChanges:
        now = identify(self._path)
        self._let_go(now)
        if now is not None:
            opened = open_store(self._path, read_only=True, patience=_NOW)
            self._conn, self._identity = opened.conn, opened.identity
            self._learn()
        first, self._started = not self._started, True
        return _NOTHING if first else StateChanges(reload_all=True, file_replaced=True)

    def _let_go(self, now: FileIdentity | None) -> None:
        conn, before = self._conn, self._identity
        if conn is not None and before is not None and (now is None or not before.same_main(now)):
            abandon(conn)
            self._conn = None
        self.close()

    def _learn(self) -> None:
        conn = self._require()
        self._schema_cookie = _number(conn, "PRAGMA schema_version")
        present = read_layout(conn).columns
        self._columns = tuple(name for name in _COMPARED if name in present["sessions"])
        self._has_active = "active" in present["messages"]
        self._data_version = _number(conn, "PRAGMA data_version")
        self._newest_message = _number(conn, "SELECT max(id) FROM messages")
        self._greatest_row = _number(conn, "SELECT max(rowid) FROM sessions")
        self._marks = SessionMarks(self._read_marks("1", ()))
        self._active.clear()
        self._lately.clear()
        self._sweep_left = 0

    def _require(self) -> sqlite3.Connection:
        assert self._conn is not None  # noqa: S101 - callers opened it
        return self._conn

    # ------------------------------------------------------------------ one check

    def _look(self) -> StateChanges:
        conn = self._conn
        if conn is None:
            return _NOTHING
        version = _number(conn, "PRAGMA data_version")
        committed = version != self._data_version
        unlearned = self._watched - self._active.keys()
        if not committed and not unlearned and self._sweep_left <= 0:
            return _NOTHING
        conn.execute("BEGIN")
        try:
            if committed:
                changes = self._after_commit(conn)
            else:
                self._compare_active(conn)
                touched = self._sweep()
                changes = StateChanges(frozenset(touched), frozenset(self._gone(conn)))
        finally:
            conn.execute("COMMIT")
        self._data_version = version
        return changes

    def _after_commit(self, conn: sqlite3.Connection) -> StateChanges:
        if _number(conn, "PRAGMA schema_version") != self._schema_cookie:
            self._learn()
            return StateChanges(reload_all=True)
        newest = _number(conn, "SELECT max(id) FROM messages")
        touched = self._sessions_of_new_messages(conn)
        came, gone = self._came_and_gone(conn)
        touched |= came  # the comparison records their marks
        touched |= self._compare(self._likely(conn, touched)) | self._compare_active(conn)
        self._sweep_left = len(self._marks)
        explained = bool(touched or gone)
        if not explained or self._sweep_left <= _SLICE:
            touched |= self._sweep()
        gone |= self._gone(conn)
        self._newest_message = max(newest, self._newest_message)
        self._remember(touched)
        return StateChanges(touched=frozenset(touched - gone), removed=frozenset(gone))

    def _remember(self, touched: Collection[str]) -> None:
        for name in touched:
            self._lately[name] = None
            self._lately.move_to_end(name)
        while len(self._lately) > _LATELY:
            self._lately.popitem(last=False)

    def _sessions_of_new_messages(self, conn: sqlite3.Connection) -> set[str]:
        # The plus keeps the planner from scanning the whole index of sessions instead.
        rows = conn.execute(
            "SELECT DISTINCT +session_id FROM messages WHERE id > ?", (self._newest_message,)
        ).fetchall()
        return {row[0] for row in rows}

    def _came_and_gone(self, conn: sqlite3.Connection) -> tuple[set[str], set[str]]:
        """Compare the rows if their number or the greatest rowid has changed."""
        greatest = _number(conn, "SELECT max(rowid) FROM sessions")
        total = _number(conn, "SELECT count(*) FROM sessions")
        before, self._greatest_row = self._greatest_row, greatest
        if greatest == before and total == len(self._marks):
            return set(), set()
        added = conn.execute(
            "SELECT id FROM sessions WHERE rowid > ? LIMIT ?", (before, _SLICE)
        ).fetchall()
        if total == len(self._marks) + len(added):
            return {row[0] for row in added}, set()
        return self._match_rows(conn)

    def _match_rows(self, conn: sqlite3.Connection) -> tuple[set[str], set[str]]:
        """Compare the numbers of all rows; return the ids that came and those that are gone."""
        rowids = [row[0] for row in conn.execute("SELECT rowid FROM sessions")]
        unknown, forgotten = self._marks.match(rowids)
        came = {
            row[0]
            for chunk in _chunks(unknown)
            for row in conn.execute(
                f"SELECT id FROM sessions WHERE rowid IN ({marks(chunk)})", chunk
            )
        }
        return came, self._without_row(conn, forgotten)

    def _gone(self, conn: sqlite3.Connection) -> set[str]:
        """Return deleted sessions, also those whose rowid was reused."""
        gone = self._without_row(conn, self._marks.take_displaced())
        if len(self._marks) > _number(conn, "SELECT count(*) FROM sessions"):
            gone |= self._match_rows(conn)[1]
        return gone

    def _without_row(self, conn: sqlite3.Connection, ids: Collection[str]) -> set[str]:
        """Return those that have no row, under whatever number; forget that they changed lately."""
        gone = set(ids)
        for chunk in _chunks([clean_text(name) for name in ids]):
            found = conn.execute(f"SELECT id FROM sessions WHERE id IN ({marks(chunk)})", chunk)
            gone.difference_update(row[0] for row in found)
        for name in gone:
            self._lately.pop(name, None)
        return gone

    def _likely(self, conn: sqlite3.Connection, touched: Iterable[str]) -> set[str]:
        newest = conn.execute(
            "SELECT id FROM sessions ORDER BY started_at DESC LIMIT ?", (_NEWEST,)
        ).fetchall()
        return {*(row[0] for row in newest), *touched, *self._watched, *self._lately}

    def _compare(self, ids: Collection[str]) -> set[str]:
        wanted = [clean_text(name) for name in ids]
        changed: set[str] = set()
        for chunk in _chunks(wanted):
            changed |= self._marks.note(self._read_marks(f"s.id IN ({marks(chunk)})", chunk))
        return changed

    def _compare_active(self, conn: sqlite3.Connection) -> set[str]:
        """Count the active messages of shown sessions; the first count of each is only recorded."""
        changed: set[str] = set()
        active = {name: self._active.get(name, -1) for name in self._watched}
        for name, before in active.items():
            now = _number(conn, _COUNT_ACTIVE, clean_text(name)) if self._has_active else 0
            active[name] = now
            if before not in {-1, now}:
                changed.add(name)
        self._active = active
        return changed

    def _sweep(self) -> set[str]:
        """Compare the next slice of all rows."""
        if self._sweep_left <= 0:
            return set()
        conn = self._require()
        rows = conn.execute(
            "SELECT rowid, id FROM sessions WHERE rowid > ? ORDER BY rowid LIMIT ?",
            (self._sweep_from, _SLICE),
        ).fetchall()
        self._sweep_left -= max(len(rows), 1)
        if len(rows) < _SLICE:
            self._sweep_from = 0
        else:
            self._sweep_from = rows[-1][0]
        return self._marks.note(
            self._read_marks(
                "s.rowid BETWEEN ? AND ?", (rows[0][0], rows[-1][0]) if rows else (0, 0)
            )
        )

    def _read_marks(self, condition: str, values: Collection[object]) -> Iterator[RowMark]:
        cursor = self._require().cursor()
        cursor.row_factory = None
        names = ", ".join(f"s.{name}" for name in ("id", *self._columns))
        rows = cursor.execute(
            f"SELECT s.rowid, {names} FROM main.sessions AS s WHERE {condition}", tuple(values)
        )
        return (RowMark(row[0], row[1], hash(row[1:])) for row in rows)


def _chunks(values: list[_Value]) -> Iterator[list[_Value]]:
    return (values[start : start + _CHUNK] for start in range(0, len(values), _CHUNK))


def _number(conn: sqlite3.Connection, sql: str, *values: str) -> int:
    value = conn.execute(sql, values).fetchone()[0]
    return value if isinstance(value, int) else 0


def _lenient(raw: bytes) -> str:
    """Decode a text that is not UTF-8; undecodable bytes become U+FFFD."""
    return raw.decode("utf-8", "replace")
