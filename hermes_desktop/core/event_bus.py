"""Typed subscribe and publish on one thread.

Publishers call :meth:`EventBus.publish` on the thread that owns the loop; work on other threads
comes back with ``loop.call_soon_threadsafe`` first. Subscribers run at once, in the order they
subscribed, and must not block. A subscriber that raises is logged and hurts nobody else.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from hermes_desktop.core.events import Event

log = logging.getLogger(__name__)

E = TypeVar("E", bound=Event)


class EventBus:
    """Delivers each event to those who asked for its class."""

    def __init__(self) -> None:
        self._subscribers: dict[type, list[Callable[[Any], None]]] = {}

    def subscribe(self, kind: type[E], subscriber: Callable[[E], None]) -> Callable[[], None]:
        """Call ``subscriber`` for each event of exactly this class.

        Returns:
            A function that ends the subscription; calling it twice is harmless.
        """
        entry = self._subscribers.setdefault(kind, [])
        entry.append(subscriber)

        def unsubscribe() -> None:
            if subscriber in entry:
                entry.remove(subscriber)

        return unsubscribe

    def publish(self, event: Event) -> None:
        """Hand an event to its subscribers, now, on this thread."""
        for subscriber in tuple(self._subscribers.get(type(event), ())):
            try:
                subscriber(event)
            except Exception:  # one bad listener must not silence the others
                log.exception("A subscriber of %s failed", type(event).__name__)
