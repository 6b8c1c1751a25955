"""desktop.db: the database of this program alone. The shared file gets no table of this program.

It contains the trash, received messages that are not handled, the owed replies where the shared
file must not contain them, the system prompts that this program sends, pins, key-value entries, and
the state of the window. It is created with the first write, in a folder and with file modes that
prevent other users from reading it, because it contains conversations.
"""

import sqlite3
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from hermes_desktop.core.errors import HermesError, StateUnavailableError
from hermes_desktop.state.database import connection
from hermes_desktop.state.database.connection import Patience, make_file, open_connection, retrying
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.sqlite_errors import to_hermes_error
from hermes_desktop.state.records.stored_rows import chunks, marks
from hermes_desktop.state.sessions import pins
from hermes_desktop.state.shared_tables import delivery_table, inbox_table

_FACTS = ("CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",)


def fact(own: sqlite3.Connection, name: str) -> str | None:
    """Return the text stored under a name, None if there is none."""
    row = own.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


def put_fact(own: sqlite3.Connection, name: str, value: str) -> None:
    """Store a text under a name, replacing the previous one."""
    own.execute(
        "INSERT INTO facts (name, value) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value),
    )


_WINDOW_STATE = """
    CREATE TABLE window_state (
      name TEXT PRIMARY KEY,
      value TEXT NOT NULL,
      changed_at REAL NOT NULL
    )
    """

_MOST_WINDOW_VALUES = 500
"""Drafts of long deleted sessions are replaced by newer ones."""


def read_window_state(conn: sqlite3.Connection) -> dict[str, str]:
    """Return all values by name."""
    return dict(conn.execute("SELECT name, value FROM window_state").fetchall())


def put_window_state(conn: sqlite3.Connection, values: Mapping[str, str], now: float) -> None:
    """Store values by name; an empty one is removed."""
    conn.executemany(
        "INSERT OR REPLACE INTO window_state (name, value, changed_at) VALUES (?, ?, ?)",
        [(clean_text(name), clean_text(value), now) for name, value in values.items()],
    )
    conn.execute("DELETE FROM window_state WHERE value = ''")
    conn.execute(
        "DELETE FROM window_state WHERE name NOT IN "
        "(SELECT name FROM window_state ORDER BY changed_at DESC LIMIT ?)",
        (_MOST_WINDOW_VALUES,),
    )


_PROMPTS = """
    CREATE TABLE session_prompts (
      session_id TEXT PRIMARY KEY,
      prompt TEXT NOT NULL,
      kept_at REAL NOT NULL
    )
    """


def first_prompt(out: sqlite3.Connection, session_ids: Sequence[str]) -> str | None:
    """Return the prompt of the first of these sessions that has one."""
    found = prompts_of(out, session_ids)
    return next((found[each] for each in session_ids if each in found), None)


def prompts_of(out: sqlite3.Connection, session_ids: Sequence[str]) -> dict[str, str]:
    """Return the prompts of those of these sessions that have one."""
    return {
        row[0]: row[1]
        for chunk in chunks(session_ids)
        for row in out.execute(
            f"SELECT session_id, prompt FROM session_prompts WHERE session_id IN ({marks(chunk)})",
            chunk,
        ).fetchall()
    }


def add_prompts(out: sqlite3.Connection, prompts: Mapping[str, str], now: float) -> None:
    """Store prompts by session; an existing one is kept."""
    out.executemany(
        "INSERT INTO session_prompts (session_id, prompt, kept_at) VALUES (?, ?, ?) "
        "ON CONFLICT (session_id) DO NOTHING",
        [(clean_text(each), clean_text(text), now) for each, text in prompts.items()],
    )


def remove_prompts(out: sqlite3.Connection, session_ids: Collection[str]) -> None:
    """Delete the prompts of these sessions."""
    for chunk in chunks(list(session_ids)):
        out.execute(f"DELETE FROM session_prompts WHERE session_id IN ({marks(chunk)})", chunk)


def prompts_kept_before(out: sqlite3.Connection, edge: float) -> list[str]:
    """Return the sessions whose prompt was stored before this time, epoch seconds."""
    rows = out.execute("SELECT session_id FROM session_prompts WHERE kept_at < ?", (edge,))
    return [row[0] for row in rows.fetchall()]


T = TypeVar("T")

_APPLICATION_ID = 0x4845524D
_TRASH = (
    """
    CREATE TABLE trash (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      deleted_at REAL NOT NULL,
      reason TEXT NOT NULL,
      root_id TEXT NOT NULL,
      title TEXT,
      source TEXT NOT NULL,
      session_count INTEGER NOT NULL,
      message_count INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      state TEXT NOT NULL,
      plan TEXT
    )
    """,
    """
    CREATE TABLE trash_rows (
      trash_id INTEGER NOT NULL REFERENCES trash(id) ON DELETE CASCADE,
      place INTEGER NOT NULL,
      kind TEXT NOT NULL,
      content TEXT NOT NULL,
      PRIMARY KEY (trash_id, place)
    )
    """,
    """
    CREATE TABLE trash_links (
      trash_id INTEGER NOT NULL REFERENCES trash(id) ON DELETE CASCADE,
      child TEXT NOT NULL,
      parent TEXT NOT NULL,
      PRIMARY KEY (child, parent, trash_id)
    )
    """,
    "CREATE INDEX trash_links_parent ON trash_links (parent)",
    f"PRAGMA application_id = {_APPLICATION_ID}",
)
# The additions of each version; a file of an older one is migrated.
_STEPS: tuple[tuple[str, ...], ...] = (
    _TRASH,
    (delivery_table.ddl(), *inbox_table.DDL),
    (_PROMPTS,),
    (*pins.DDL, *_FACTS),
    (_WINDOW_STATE,),
)
OWN_VERSION = len(_STEPS)


class DesktopDatabase:
    """The database desktop.db. Thread-safe, starts no thread; opened on first use.

    Args:
        path: The file, ``desktop/desktop.db`` in a home.
        patience: How long writes wait for another process of this program.
    """

    def __init__(self, path: Path, *, patience: Patience | None = None) -> None:
        self.path = path
        self._patience = patience or Patience()
        self._lock = threading.Lock()
        self._conn: sqlite3.Connection | None = None

    def read(self, fn: Callable[[sqlite3.Connection], T], *, default: T) -> T:
        """Run a query and return its result; ``default`` while there is no file.

        Raises:
            BusyError: Another process keeps it locked.
            StateError: It cannot be read.
        """
        with self._lock:
            if self._conn is None and not self.path.exists():
                return default
            try:
                return fn(self._open())
            except sqlite3.Error as error:
                raise self._in_words(error) from error

    def write(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``fn`` in a write transaction; it may run more than once. Creates the file.

        Raises:
            BusyError: Another process keeps it locked.
            StateError: It cannot be written; nothing was changed.
        """
        with self._lock:
            try:
                if self._conn is None:
                    make_file(self.path)
                return connection.write(self._open(), fn, self._patience)
            except sqlite3.Error as error:
                raise self._in_words(error) from error
            except StateUnavailableError as error:
                raise _as_ours(error) from error

    def close(self) -> None:
        """Close the file; another call reopens it."""
        with self._lock:
            if self._conn is not None:
                self._conn.close()
            self._conn = None

    def _open(self) -> sqlite3.Connection:
        if self._conn is None:
            conn = open_connection(self.path, "rw", wait_s=self._patience.wait_s)
            try:
                # Content deleted from the trash must not stay readable in free pages.
                conn.execute("PRAGMA secure_delete=ON")
                self._make_tables(conn)
            except BaseException:
                conn.close()
                raise
            self._conn = conn
        return self._conn

    def _make_tables(self, conn: sqlite3.Connection) -> None:
        version = _version(conn)
        if version == 0:
            retrying(lambda: conn.execute("PRAGMA journal_mode=WAL").fetchall(), self._patience)
        if version < OWN_VERSION:
            connection.write(conn, _make, self._patience)
        elif version > OWN_VERSION:
            raise StateUnavailableError(
                "The database of Hermes Desktop was written by a newer version.",
                f"{self.path} has version {version}; this version supports {OWN_VERSION}.",
                "Update Hermes Desktop.",
            )

    def _in_words(self, error: sqlite3.Error) -> HermesError:
        return _as_ours(to_hermes_error(error, self.path))


def _as_ours(said: HermesError) -> HermesError:
    title = said.title.replace("session database", "program's own store")
    return type(said)(title, said.detail, said.hint)


def _version(conn: sqlite3.Connection) -> int:
    return int(conn.execute("PRAGMA user_version").fetchone()[0])


def _make(conn: sqlite3.Connection) -> None:
    version = _version(conn)
    if version >= OWN_VERSION:  # another process was first
        return
    for step in _STEPS[version:]:
        for statement in step:
            conn.execute(statement)
    conn.execute(f"PRAGMA user_version = {OWN_VERSION}")
