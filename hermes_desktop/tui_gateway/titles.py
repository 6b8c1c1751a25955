"""Pending titles: chosen before the session has a row."""

import logging

from hermes_desktop.state import SessionDB
from hermes_desktop.tui_gateway.serving_state import Session

log = logging.getLogger(__name__)


def apply_pending(db: SessionDB | None, session: Session) -> None:
    """Apply the pending title of a session. Never raises.

    An invalid title (taken meanwhile, too long) is dropped, so that another one can be set; after
    any other failure it stays pending until the next turn.
    """
    title, key = session.get("pending_title"), session["session_key"]
    if not title or db is None:
        return
    try:
        if db.set_session_title(key, title):
            session["pending_title"] = None
    except ValueError as error:
        session["pending_title"] = None
        log.info("The title chosen for %s was dropped: %s", key, error)
    except Exception:
        log.warning("The title of %s waits for the next turn", key, exc_info=True)
