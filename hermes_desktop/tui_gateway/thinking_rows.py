"""Reasoning and speed settings of a live session, and their storage in its row."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from hermes_desktop.agent.thinking import CHOSEN_KEYS, chosen_of, config_of, stored
from hermes_desktop.core.errors import HermesError
from hermes_desktop.state import SessionDB
from hermes_desktop.tui_gateway.serving_state import Session

log = logging.getLogger(__name__)


def chosen(session: Session) -> dict[str, str]:
    """Return the settings chosen for a session."""
    override = session.get("model_override") or {}
    return {name: value for name, value in override.items() if name in CHOSEN_KEYS}


def restore(db: SessionDB | None, session: Session) -> None:
    """Load the settings of a stored session, once. Never raises for the file."""
    if session.get("thinking_read") or db is None:
        return
    session["thinking_read"] = True
    try:
        row = db.get_session(session["session_key"])
    except HermesError as error:
        log.warning("How a session thinks is not known: %s", error)
        return
    if row is not None and not chosen(session):
        found = chosen_of(config_of(row))
        session["model_override"] = {**(session.get("model_override") or {}), **found}


def first_config(session: Session) -> dict[str, Any]:
    """Return the column of a new row in which the settings are stored."""
    kept = chosen(session)
    return {"model_config": stored({}, kept)} if kept else {}


def keep(db: SessionDB, session_id: str, override: Mapping[str, str]) -> None:
    """Store the settings in the row, if there is one.

    Raises:
        HermesError: It cannot be written.
    """
    row = db.get_session(session_id)
    if row is not None:
        db.update_session_meta(session_id, json.dumps(stored(config_of(row), override)))
