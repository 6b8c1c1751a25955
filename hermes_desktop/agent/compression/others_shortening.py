"""Before a turn: another program that shortens the conversation just now is let finish.

What is written into a conversation while ours shortens it goes along. Other programs set aside all
that stands there when their summary is ready, also what they have not read: a message would be
stored, and never told to a model again.
"""

import logging
import threading
import time

from hermes_desktop.agent.types import CallNote, CancelSignal, ToolListener
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.files.lock_holder import is_ours, runs_here
from hermes_desktop.state import SessionDB

log = logging.getLogger(__name__)

WAITING = "Another program is shortening this session; what you say waits for it…"
LONGEST_S = 150.0
_LOOK_S = 0.2


def let_others_finish(
    store: SessionDB,
    session_id: str,
    cancel: CancelSignal,
    tell: ToolListener | None,
    longest_s: float = LONGEST_S,
) -> str | None:
    """Wait while somebody else shortens a conversation. Blocking; never raises.

    Args:
        store: Where it is.
        session_id: The conversation.
        cancel: Ends the waiting.
        tell: Hears that it waits; None: nobody does.
        longest_s: After so long it is not waited for any more.

    Returns:
        Where the conversation goes on, which has to be read anew; None: nobody was in the way.
    """
    try:
        if not _is_shortened(store, session_id):
            return None
        log.info("%s is being shortened by another program", session_id)
        _say(tell, WAITING)
        try:
            pause, end = threading.Event(), time.monotonic() + longest_s
            while _is_shortened(store, session_id) and not cancel.is_set():
                if time.monotonic() >= end:
                    log.warning("%s is not waited for any longer", session_id)
                    break
                pause.wait(_LOOK_S)  # nobody sets it
        finally:
            _say(tell, "")
        return store.get_compression_tip(session_id)
    except HermesError as error:
        log.warning("Whether %s is being shortened is not known: %s", session_id, error.title)
        return None


def _is_shortened(store: SessionDB, session_id: str) -> bool:
    """Whether somebody does it who would not take along what we say."""
    holder = store.get_compression_lock_holder(session_id)
    return holder is not None and not is_ours(holder) and runs_here(holder)


def _say(tell: ToolListener | None, text: str) -> None:
    if tell is None:
        return
    try:
        tell(CallNote(text))
    except Exception:
        log.exception("A listener to a turn failed")
