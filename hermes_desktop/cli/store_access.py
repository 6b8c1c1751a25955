"""The store of a home, opened for a command and closed after it."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hermes_desktop.cli import output
from hermes_desktop.core.errors import StateUnavailableError
from hermes_desktop.state import SessionDB

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.services.sessions.session_actions import SessionActions


@contextlib.contextmanager
def open_store(
    paths: "HermesPaths", *, write: bool = False, make: bool = False
) -> Iterator[SessionDB]:
    """Open the shared file.

    Args:
        paths: The home.
        write: It will be changed.
        make: Create it if it is missing; otherwise that is an error.

    Raises:
        StateUnavailableError: There is no store, or it cannot be opened.
        StateReadOnlyError: It is to be changed, but may not be.
    """
    there = paths.state_db.exists()
    db = SessionDB(paths.state_db, read_only=not write or not (there or make))
    try:
        if write:
            db.require_writable()
        note_other_database(db)
        yield db
    finally:
        db.close()


def note_other_database(db: SessionDB) -> None:
    """Print a note if the conversations are in another database than the one that was opened.

    Raises:
        StateUnavailableError: The opened database has no conversations at all.
    """
    home = db.condition.home
    if home.writer != "elsewhere":
        return
    if not db.session_count():
        raise StateUnavailableError(home.title, home.reason, home.hint)
    output.say(f"Note: {home.title} Shown is the earlier content of state.db.")


@contextlib.contextmanager
def open_actions(
    paths: "HermesPaths", *, write: bool = True
) -> "Iterator[tuple[SessionActions, SessionDB]]":
    """Open the session actions of the user on an existing store.

    Args:
        paths: The home.
        write: False where the store need not be writable, because it is not changed.
    """
    from hermes_desktop.core.clock import SystemClock
    from hermes_desktop.services.sessions.open_turns import ForeignTurns
    from hermes_desktop.services.sessions.session_actions import SessionActions
    from hermes_desktop.state.conversations.conversation_locks import ConversationLocks

    with open_store(paths, write=write) as db:
        clock = SystemClock()
        locks = ConversationLocks(db, paths.desktop_dir, "hermes-desktop sessions")
        turns = ForeignTurns(db, clock, locks)
        actions = SessionActions(db, paths.own_store, clock=clock, running_turn=turns.turn_in)
        try:
            yield actions, db
        finally:
            actions.close()
