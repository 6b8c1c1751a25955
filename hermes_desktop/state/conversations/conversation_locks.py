"""Which process has the turn of a conversation: our locks, and the leases of ``hermes``.

Each conversation has its own lock among all processes of this program in one home, named by its
first session, so that the name stays when the conversation continues in another session. Nothing is
stored in the shared file: ``hermes`` does not know these locks, and is not kept out by them. Newer
releases of ``hermes`` mark a running turn in the shared file; these leases are only read.
"""

import contextlib
import hashlib
import logging
import re
import sqlite3
import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.files.atomic_files import write_bytes_atomic
from hermes_desktop.core.files.lock_holder import pid_of, runs_here
from hermes_desktop.core.files.shared_lock import LockOwner, SharedLock, owner_of, remove_leftovers
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.records import Message
from hermes_desktop.state.sessions import lineage

if TYPE_CHECKING:
    from hermes_desktop.state.facade.session_db import SessionDB

log = logging.getLogger(__name__)

FOLDER = "turns"
_LEFT = ".left"
_LEFT_KEPT_S = 3_600.0
"""An older message is not taken for a running turn."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")


class ConversationLock:
    """One attempt to lock a conversation. Any thread."""

    def __init__(self, locks: "ConversationLocks", lock: SharedLock, session_id: str) -> None:
        self._locks = locks
        self._lock = lock
        self._session_id = session_id
        self._noted = False

    def try_now(self) -> bool:
        """Acquire the lock if it is free, else queue for it; without working locks, always acquire.

        Blocking for as long as it takes to open a file.
        """
        try:
            held = self._lock.try_now()
        except OSError as error:
            self._locks.note_problem(error)
            return True
        if held and not self._noted and self._lock.after_killed:
            self._locks.record_unanswered(self._session_id)
        self._noted = held
        return held

    def owner(self) -> LockOwner | None:
        """Return the program that holds the lock, None if it is free or the holder is unknown."""
        try:
            return self._lock.owner()
        except OSError as error:
            self._locks.note_problem(error)
            return None

    def give_back(self) -> None:
        """Release the lock, or leave the queue; before, record a message left unanswered."""
        if self._lock.held:
            self._locks.record_unanswered(self._session_id)
        try:
            self._lock.give_back()
        except OSError as error:
            self._locks.note_problem(error)


class ConversationLocks:
    """The locks of one home. Any thread; every call may open a file.

    Args:
        db: Determines which sessions belong to one conversation.
        folder: This program's folder in the home.
        program: The name under which other programs see this one.
    """

    def __init__(self, db: "SessionDB", folder: Path, program: str) -> None:
        self._db = db
        self._folder = folder / FOLDER
        self._program = program
        self._guard = threading.Lock()
        self._tidied = False
        self._problem: str | None = None
        self._told = False

    def attempt(self, session_id: str) -> ConversationLock:
        """Prepare a lock for the conversation that a session belongs to.

        Raises:
            StateError: The shared file cannot be read.
        """
        self._tidy()
        lock = SharedLock(self._folder, self._name(session_id), self._program)
        return ConversationLock(self, lock, session_id)

    def owner(self, session_id: str) -> LockOwner | None:
        """Return the process of this program that runs a turn in the conversation, None if none.

        This process is included.

        Raises:
            StateError: The shared file cannot be read.
        """
        try:
            return owner_of(self._folder, self._name(session_id))
        except OSError as error:
            self.note_problem(error)
            return None

    def record_unanswered(self, session_id: str) -> None:
        """Record the last message if a turn of this program, ended or killed, left it unanswered.

        The caller holds the lock. After a killed turn, messages that another program has added
        since may be mistaken for a part of it.
        """
        try:
            tip = self._db.get_compression_tip(session_id)
            last = self._db.read_messages(tip, limit=1)
            file = self._folder / f"{self._name(session_id)}{_LEFT}"
            if last and is_unanswered(last[0]):
                write_bytes_atomic(file, str(last[0].id).encode())
            else:
                file.unlink(missing_ok=True)
        except (HermesError, OSError, sqlite3.Error) as error:  # its sender may get no reply
            log.info("What a turn left behind is not noted: %s", error)

    def unanswered_message(self, session_id: str) -> int:
        """Return the last message a turn of this program left unanswered; 0 for none.

        Raises:
            StateError: The shared file cannot be read.
        """
        try:
            return int((self._folder / f"{self._name(session_id)}{_LEFT}").read_bytes())
        except (OSError, ValueError):
            return 0

    def note_problem(self, error: OSError) -> None:
        """Record that locks do not work here, and why, for :meth:`take_problem`."""
        with self._guard:
            if self._problem is not None:
                return
            self._problem = f"{self._folder}: {error.strerror or error}"
        log.warning("Conversations cannot be locked (%s)", self._problem)

    def take_problem(self) -> str:
        """Return why locks do not work, once; "" when they do, or when it was already returned."""
        with self._guard:
            if self._problem is None or self._told:
                return ""
            self._told = True
            return self._problem

    def _name(self, session_id: str) -> str:
        own = clean_text(session_id)
        root = self._db.read(lambda conn: lineage.conversation_start(conn, own))
        if _PLAIN_NAME.fullmatch(root):
            return root
        return "id." + hashlib.sha256(root.encode()).hexdigest()[:40]

    def _tidy(self) -> None:
        """Remove, once, files of killed processes and expired records."""
        with self._guard:
            if self._tidied:
                return
            self._tidied = True
        remove_leftovers(self._folder, self.record_unanswered)
        with contextlib.suppress(OSError):
            for path in self._folder.glob(f"*{_LEFT}"):
                if time.time() - path.stat().st_mtime > _LEFT_KEPT_S:
                    path.unlink(missing_ok=True)


def is_unanswered(message: Message) -> bool:
    """Return whether a conversation that ends with this message is still unanswered."""
    return message.role in {"user", "tool"} or bool(
        message.role == "assistant" and message.tool_calls
    )


def lease_holder(conn: sqlite3.Connection, ids: Collection[str], now: float) -> str | None:
    """Return the holder of an unexpired turn lease on one of these sessions, None without one.

    Args:
        conn: The shared file.
        ids: All sessions of the conversation.
        now: Epoch seconds.
    """
    wanted = list(ids)
    marks = ",".join("?" * len(wanted))
    try:
        rows = conn.execute(
            "SELECT holder FROM session_turn_leases "
            f"WHERE expires_at > ? AND conversation_id IN ({marks}) ORDER BY expires_at DESC",
            (now, *wanted),
        ).fetchall()
    except sqlite3.OperationalError:  # older files do not have the table
        return None
    return str(rows[0][0]) if rows else None


def lease_holder_label(holder: str) -> str:
    """Return the display name of a holder."""
    pid = pid_of(holder)
    return f"hermes (process {pid})" if pid is not None and runs_here(holder) else "hermes"
