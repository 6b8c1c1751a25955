"""Detection of the marks that show which program writes a home's conversations.

They are in three places: tables of ``state.db``, the control socket of a gateway, and one key of
``config.yaml``. Their meaning is decided in :mod:`hermes_desktop.core.home_kind`.
"""

import contextlib
import os
import re
import socket
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hermes_desktop.core import control_socket
from hermes_desktop.core.home_kind import Answer, HomeKind, HomeMarks, decide

TABLES = frozenset({"session_admissions", "runtime_epoch", "worker_executions"})
"""Tables that only Hermes' own gateway creates, when it becomes the only writer."""

_COLUMNS = frozenset({"runtime_revision", "runtime_generation"})
_USUAL = frozenset({"", "sqlite", "sqlite3", "none", "null"})
_LOOK_S = 1.0
_ASK_AGAIN_S = 2.0
_SECTION = re.compile(rb"""(?m)^["']?database["']?\s*:|\A\s*\{.*database""", re.DOTALL)
_MOST_BYTES = 2_000_000

Seen = tuple[tuple[int, int, int] | None, ...]


def has_marks(tables: frozenset[str], session_columns: frozenset[str]) -> bool:
    """Return whether a file shows that only Hermes' own gateway writes it."""
    return bool(TABLES & tables or _COLUMNS & session_columns)


def kind_of_home(db_path: Path) -> HomeKind:
    """Return the kind of home this file is in, uncached. Blocking; opens the file read-only."""
    marks = HomeMarkReader(db_path).marks()
    return decide(replace(marks, tables=tables_have_marks(db_path)))


def tables_have_marks(db_path: Path) -> bool:
    """Return whether an existing file has the marks; False for a file that cannot be read."""
    try:
        if not db_path.stat().st_size:
            return False
        conn = sqlite3.connect(f"{db_path.absolute().as_uri()}?mode=ro", uri=True, timeout=0.2)
    except (OSError, ValueError, sqlite3.Error):
        return False
    with contextlib.closing(conn):
        try:
            tables = conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            columns = conn.execute("PRAGMA table_info(sessions)").fetchall()
        except sqlite3.Error:
            return False
    return has_marks(frozenset(row[0] for row in tables), frozenset(row[1] for row in columns))


class HomeMarkReader:
    """The marks outside the file, cached until something changes. Thread-safe.

    Args:
        db_path: The file; its folder is the home.
        monotonic: Clock that measures the time between checks.
    """

    def __init__(self, db_path: Path, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._home = db_path.parent
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._looked_at = float("-inf")
        self._asked_at = float("-inf")
        self._seen: Seen | None = None
        self._marks = HomeMarks()

    def marks(self, *, now: bool = False) -> HomeMarks:
        """Return the marks outside the file.

        Args:
            now: Check even if the last check has just been made.
        """
        with self._lock:
            time_s = self._monotonic()
            if now or time_s - self._looked_at >= _LOOK_S:
                self._looked_at = time_s
                self._look(time_s)
            return self._marks

    def _look(self, time_s: float) -> None:
        seen = tuple(_state_of(path) for path in self._places())
        sockets = any(each is not None for each in seen[1:])
        if seen == self._seen and not (sockets and self._is_open(time_s)):
            return
        backend = self._marks.backend
        if self._seen is None or seen[0] != self._seen[0]:
            backend = _backend(self._home / "config.yaml")
        self._seen, self._asked_at = seen, time_s
        self._marks = HomeMarks(answer=self._ask() if sockets else "none", backend=backend)

    def _is_open(self, time_s: float) -> bool:
        """Return whether the last answer may be outdated although no file changed."""
        settled = self._marks.answer in {"older", "newer"}
        return time_s - self._asked_at >= _ASK_AGAIN_S * (5 if settled else 1)

    def _places(self) -> tuple[Path, ...]:
        names = (control_socket.NAME, control_socket.PATH_FILE)
        homes = [self._home] if self._root is None else [self._home, self._root]
        return (self._home / "config.yaml", *(home / name for home in homes for name in names))

    @property
    def _root(self) -> Path | None:
        """The home of the default profile, whose gateway may serve this one, too."""
        folder = self._home.parent
        return folder.parent if folder.name == "profiles" else None

    def _ask(self) -> Answer:
        if not hasattr(socket, "AF_UNIX"):
            return "none"
        answer = control_socket.probe_gateway(self._home)
        if answer == "none" and self._root is not None:
            answer = control_socket.probe_gateway(self._root, self._home)
        return answer


def _state_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - see connection.identify
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _backend(path: Path) -> str | None:
    """Return the value of ``database.backend``, "" for the default; None when it cannot be read.

    Hardly any home has that section; without it the YAML parser is not even loaded.
    """
    try:
        if not path.is_file():  # reading a pipe could block forever
            return ""
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES)
    except (OSError, ValueError):
        return ""  # no file, or an unreadable one
    if not _SECTION.search(raw):
        return ""
    import yaml  # noqa: PLC0415 - see above

    try:
        data = yaml.safe_load(raw)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    section = data.get("database") if isinstance(data, dict) else None
    named = section.get("backend") if isinstance(section, dict) else None
    word = "" if named is None else str(named).strip().lower()
    return "" if word in _USUAL else word
