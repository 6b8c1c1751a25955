"""Migration of chats whose id changes, e.g. when a platform upgrades a group."""

from dataclasses import replace

from hermes_desktop.core.events import Notice
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.session import SessionStore


def follow(store: SessionStore, platform: Platform, old_id: str, new_id: str) -> int:
    """Move the sessions of a chat to its new id. Blocking.

    A session that already exists under the new id stays.

    Returns:
        The number of moved sessions.

    Raises:
        HermesError: state.db is not available.
    """
    moved = 0
    for entry in store.list_sessions():
        origin = entry.origin
        if entry.platform is not platform or origin is None or origin.chat_id != old_id:
            continue
        source = replace(origin, chat_id=new_id)
        key = store._generate_session_key(source)  # noqa: SLF001 - see session
        if store.peek_session_id(key) is None:
            there = store.bind(key, entry.session_id, source=source)
            there.display_name, there.chat_type = entry.display_name, entry.chat_type
            store.set_model_override(key, entry.model_override)
            store.record_rotation(there)
            moved += 1
        store.forget(entry.session_key)
    return moved


def notice(platform: Platform, old_id: str, new_id: str) -> Notice:
    """Return the notice for the user: lists in the settings name a chat by its id."""
    return Notice(
        "info",
        f"A group of {platform.value} has a new id.",
        f"It was {old_id} and is {new_id} now. Its sessions go on.",
        f"Where your settings name {old_id}, write {new_id}.",
        key=f"moved:{platform.value}:{old_id}",
    )
