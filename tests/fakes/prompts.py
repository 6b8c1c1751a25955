"""Where agents of tests keep the system prompts that they send: beside the store, as in a home."""

from hermes_desktop.state import SessionDB
from hermes_desktop.state.own_store import OwnStore
from hermes_desktop.state.session_prompts import SessionPrompts


def prompts_beside(db: SessionDB) -> SessionPrompts:
    """The prompts of the home that this store is in."""
    return SessionPrompts(db, OwnStore(db.db_path.parent / "desktop" / "desktop.db"))
