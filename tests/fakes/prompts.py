"""Where agents of tests keep the system prompts that they send: beside the store, as in a home."""

from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.session_prompts import SessionPrompts
from hermes_desktop.state.shared_tables.own_store import OwnStore


def prompts_beside(db: SessionDB) -> SessionPrompts:
    """The prompts of the home that this store is in."""
    return SessionPrompts(db, OwnStore(db.db_path.parent / "desktop" / "desktop.db"))
