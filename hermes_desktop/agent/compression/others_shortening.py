"""Wait before a turn until another program has compacted the conversation.

Messages written while our compaction runs are preserved. Other programs set aside every message
that is stored when their summary is ready, even those they have not read: such a message would be
stored, and never sent to a model again.
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


def wait_for_foreign_compaction(
    store: SessionDB,
    session_id: str,
    cancel: CancelSignal,
    tell: ToolListener | None,
    longest_s: float = LONGEST_S,
) -> str | None:
    """Wait while another program compacts a conversation. Blocking; never raises.

    Args:
        store: The store of the conversation.
        session_id: The conversation.
        cancel: Ends the wait.
        tell: Notified of the wait; None for no listener.
        longest_s: The time-out of the wait.

    Returns:
        Where the conversation continues, which must be read again; None: there was no wait.
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
                pause.wait(_LOOK_S)  # never set
        finally:
            _say(tell, "")
        return store.get_compression_tip(session_id)
    except HermesError as error:
        log.warning("Whether %s is being shortened is not known: %s", session_id, error.title)
        return None


def _is_shortened(store: SessionDB, session_id: str) -> bool:
    """Return whether a program that would not preserve new messages compacts it now."""
    holder = store.get_compression_lock_holder(session_id)
    return holder is not None and not is_ours(holder) and runs_here(holder)


def _say(tell: ToolListener | None, text: str) -> None:
    if tell is None:
        return
    try:
        tell(CallNote(text))
    except Exception:
        log.exception("A listener to a turn failed")
