"""The store of system prompts for agents of tests: next to the database, as in a home."""

from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.session_prompts import SessionPrompts
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase


def prompts_beside(db: SessionDB) -> SessionPrompts:
    """Return the prompts of the home that contains this database."""
    return SessionPrompts(db, DesktopDatabase(db.db_path.parent / "desktop" / "desktop.db"))
