"""Whether conversations may be written here: detection of changes, and the notice about it."""

import logging
import time
from collections.abc import Callable

from hermes_desktop.core.errors import BusyError, StateError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Notice, NoticeCleared, StoreConditionChanged
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import StoreCondition

log = logging.getLogger(__name__)

KEY = "store-condition"


def notice_of(condition: StoreCondition) -> Notice | None:
    """Return the notice for a store that is read-only, or that another version wrote.

    Returns:
        None when there is nothing to report.
    """
    if not condition.writable:
        return Notice("warning", condition.title, condition.reason, condition.hint, key=KEY)
    if condition.notice:
        title = "This history was written by another version of Hermes."
        return Notice("info", title, condition.notice, key=KEY)
    return None


_LOOK_S = 2.0


class ConditionWatch:
    """Checks the store periodically; see :class:`.state_watch.Beside`.

    Args:
        db: The conversations.
        bus: The event bus for :class:`StoreConditionChanged` and the related notice.
        monotonic: The clock that measures the time between checks.
    """

    def __init__(
        self, db: SessionDB, bus: EventBus, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._db = db
        self._bus = bus
        self._monotonic = monotonic
        self._next = monotonic() + _LOOK_S
        self._known = db.condition

    def look(self) -> bool:
        """Return whether the condition changed since the last check. Blocking."""
        if self._monotonic() < self._next:
            return False
        self._next = self._monotonic() + _LOOK_S
        try:
            found = self._db.look_again()
        except (BusyError, StateError):
            return False  # the watcher of the file reports what is wrong with it
        before, self._known = self._known, found
        return found != before

    def changed(self) -> None:
        """Publish the new condition; called on the loop."""
        condition = self._db.condition
        log.info("Conversations may be written: %s %s", condition.writable, condition.reason)
        self._bus.publish(notice_of(condition) or NoticeCleared(KEY))
        self._bus.publish(StoreConditionChanged())
