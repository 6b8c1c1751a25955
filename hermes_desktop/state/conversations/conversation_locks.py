"""One turn per conversation among all programs of ours that work on one home.

Each conversation has a lock of its own, named by its first session, so that the name stays when
the conversation goes on in another session. Nothing of it is in the shared file: ``hermes`` knows
nothing of these locks, and is not kept out by them.
"""

import contextlib
import hashlib
import logging
import re
import sqlite3
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.files.atomic_files import write_bytes_atomic
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
"""Nobody takes an older message for a running turn."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")


class ConversationLock:
    """One attempt to have a conversation to oneself. Any thread."""

    def __init__(self, locks: "ConversationLocks", lock: SharedLock, session_id: str) -> None:
        self._locks = locks
        self._lock = lock
        self._session_id = session_id
        self._noted = False

    def try_now(self) -> bool:
        """Take it if it is free, or stand in line. Where locks do not work, it is yours at once.

        Blocking for as long as a file takes to open.
        """
        try:
            held = self._lock.try_now()
        except OSError as error:
            self._locks.note_problem(error)
            return True
        if held and not self._noted and self._lock.after_killed:
            self._locks.note_end(self._session_id)
        self._noted = held
        return held

    def owner(self) -> LockOwner | None:
        """Which program has it, None if nobody has or it cannot be found out."""
        try:
            return self._lock.owner()
        except OSError as error:
            self._locks.note_problem(error)
            return None

    def give_back(self) -> None:
        """Let others in, or leave the line. What a turn left without a reply is noted before."""
        if self._lock.held:
            self._locks.note_end(self._session_id)
        try:
            self._lock.give_back()
        except OSError as error:
            self._locks.note_problem(error)


class ConversationLocks:
    """The locks of one home. Any thread; every call may open a file.

    Args:
        db: Knows which sessions are one conversation.
        folder: Our own folder in the home.
        program: What other programs are told of this one.
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
        """Get ready to lock the conversation that a session belongs to.

        Raises:
            StateError: The shared file cannot be read.
        """
        self._tidy()
        lock = SharedLock(self._folder, self._name(session_id), self._program)
        return ConversationLock(self, lock, session_id)

    def owner(self, session_id: str) -> LockOwner | None:
        """Which program of ours, this one included, runs a turn in the conversation; None: none.

        Raises:
            StateError: The shared file cannot be read.
        """
        try:
            return owner_of(self._folder, self._name(session_id))
        except OSError as error:
            self.note_problem(error)
            return None

    def note_end(self, session_id: str) -> None:
        """A turn of ours is over, or was killed: note a last message that still wants a reply.

        The lock is held meanwhile. Of a killed turn, what another program said since may be taken
        for a part of it.
        """
        try:
            tip = self._db.get_compression_tip(session_id)
            last = self._db.read_messages(tip, limit=1)
            file = self._folder / f"{self._name(session_id)}{_LEFT}"
            if last and wants_reply(last[0]):
                write_bytes_atomic(file, str(last[0].id).encode())
            else:
                file.unlink(missing_ok=True)
        except (HermesError, OSError, sqlite3.Error) as error:  # somebody may wait in vain for it
            log.info("What a turn left behind is not noted: %s", error)

    def left_by_us(self, session_id: str) -> int:
        """The last message, wanting a reply, that a turn of ours left when it ended; 0 for none.

        Raises:
            StateError: The shared file cannot be read.
        """
        try:
            return int((self._folder / f"{self._name(session_id)}{_LEFT}").read_bytes())
        except (OSError, ValueError):
            return 0

    def note_problem(self, error: OSError) -> None:
        """Locks do not work here; keep why, for :meth:`problem_to_tell`."""
        with self._guard:
            if self._problem is not None:
                return
            self._problem = f"{self._folder}: {error.strerror or error}"
        log.warning("Conversations cannot be locked (%s)", self._problem)

    def problem_to_tell(self) -> str:
        """Why locks do not work, told once; "" when they do, or when it was told."""
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
        """Once: files of programs that were killed, and notes that nobody needs any more."""
        with self._guard:
            if self._tidied:
                return
            self._tidied = True
        remove_leftovers(self._folder, self.note_end)
        with contextlib.suppress(OSError):
            for path in self._folder.glob(f"*{_LEFT}"):
                if time.time() - path.stat().st_mtime > _LEFT_KEPT_S:
                    path.unlink(missing_ok=True)


def wants_reply(message: Message) -> bool:
    """Whether a conversation that ends with this message is not answered yet."""
    return message.role in {"user", "tool"} or bool(
        message.role == "assistant" and message.tool_calls
    )
