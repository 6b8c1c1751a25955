"""The system prompts this program sends, by session, in its own store.

The shared file never gets a prompt of this program: `hermes` would resume the session with it,
instead of with its own that names its skills and tools.
"""

import logging
import sqlite3
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from hermes_desktop.core.errors import HermesError
from hermes_desktop.state.conversations import trash_rows
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.sessions import lineage, sessions_table
from hermes_desktop.state.shared_tables import desktop_database
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase

if TYPE_CHECKING:
    from hermes_desktop.state.facade.session_db import SessionDB

log = logging.getLogger(__name__)

UNUSED_S = 3_600.0
"""How long a prompt without a session row is kept; prompts are stored before their sessions."""


class SessionPrompts:
    """The system prompt of each session, stored once built. Blocking; any thread may call it.

    Once this program has stored a prompt for a session, the session keeps it, even if its row
    changes, so that every request begins with the same bytes. Continuations and branches inherit
    it.

    All methods may raise ``BusyError`` and ``StateError`` for the shared file. When desktop.db
    fails, that is logged: a session can continue without it.

    Args:
        db: The sessions.
        own: The store of this program's prompts.
    """

    def __init__(self, db: "SessionDB", own: DesktopDatabase) -> None:
        self._db = db
        self._own = own

    def sent(self, session_id: str) -> str | None:
        """Return the prompt the next request begins with, as far as it is known before a turn.

        That is this program's prompt, else the one in the session's row; None when there is
        neither.
        """
        return self._ours(session_id) or self._stored(session_id)

    def settle(self, session_id: str, build: Callable[[str | None], str]) -> str:
        """Return the prompt of a session; build and store one if none is stored yet.

        Args:
            session_id: The session; its row need not exist yet.
            build: Builds the prompt, given the one in the session's row, or None.

        Returns:
            The stored prompt. It may be that of another process, which was faster.
        """
        prompt = self._ours(session_id)
        if prompt is None:
            prompt = clean_text(build(self._stored(session_id)))
        return self._keep(session_id, prompt)

    def carry(self, origin_id: str, new_id: str) -> None:
        """Copy this program's prompt of a session to one that continues or copies it."""
        prompt = self._ours(origin_id)
        if prompt is not None:
            self._keep(new_id, prompt)

    def forget_gone(self, named: Collection[str] = ()) -> int:
        """Delete prompts of sessions that any program has deleted. Returns how many.

        Args:
            named: Sessions that had a row. Other prompts without a row are kept for an hour.
        """
        try:
            return self._forget_gone(named)
        except HermesError as error:
            log.warning("Prompts of deleted sessions stay for now: %s", error.title)
            return 0

    def close(self) -> None:
        """Close desktop.db; another call reopens it."""
        self._own.close()

    def _ours(self, session_id: str) -> str | None:
        """Return the stored prompt of a session, or of the one whose conversation it continues."""
        direct = self._read([session_id])
        if direct is not None:
            return direct
        before = self._db.read(lambda conn: lineage.context_sources(conn, clean_text(session_id)))
        return self._read(before) if before else None

    def _read(self, session_ids: list[str]) -> str | None:
        try:
            return self._own.read(
                lambda out: desktop_database.first_prompt(
                    out, [clean_text(each) for each in session_ids]
                ),
                default=None,
            )
        except HermesError as error:
            log.warning("The prompt of %s cannot be read: %s", session_ids[0], error.title)
            return None

    def _stored(self, session_id: str) -> str | None:
        found = self._db.read(lambda conn: sessions_table.column(conn, session_id, "system_prompt"))
        return found if isinstance(found, str) and found else None

    def _keep(self, session_id: str, prompt: str) -> str:
        now = self._db._clock.time()

        def keep(out: sqlite3.Connection) -> str:
            desktop_database.add_prompts(out, {session_id: prompt}, now)
            return desktop_database.first_prompt(out, [clean_text(session_id)]) or prompt

        kept = self._read([session_id])
        if kept is not None:
            return kept
        try:
            return self._own.write(keep)
        except HermesError as error:
            log.warning("The prompt of %s is not kept: %s", session_id, error.title)
            return prompt

    def _forget_gone(self, named: Collection[str]) -> int:
        edge = self._db._clock.time() - UNUSED_S
        nothing: list[str] = []
        old = set(
            self._own.read(
                lambda out: desktop_database.prompts_kept_before(out, edge), default=nothing
            )
        )
        asked = [*old, *(each for each in named if each not in old)]
        there = self._db.read(lambda conn: trash_rows.existing(conn, asked)) if asked else {}
        gone = [each for each in asked if each not in there]
        held = self._own.read(
            lambda out: list(desktop_database.prompts_of(out, gone)), default=nothing
        )
        if held:
            self._own.write(lambda out: desktop_database.remove_prompts(out, held))
        return len(held)
