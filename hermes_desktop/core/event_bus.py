"""Typed publish and subscribe on one thread.

Publishers call :meth:`EventBus.publish` on the thread that owns the loop; other threads switch to
it with ``loop.call_soon_threadsafe`` first. Subscribers are called synchronously, in the order of
subscription, and must not block. An exception of a subscriber is logged and does not affect the
others.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hermes_desktop.core.events import Event

log = logging.getLogger(__name__)

E = TypeVar("E", bound=Event)


@dataclass(slots=True, eq=False)
class _Subscription:
    """One subscription, compared by identity: the same function may subscribe twice."""

    subscriber: Callable[[Any], None]
    active: bool = True


class EventBus:
    """A bus that delivers each event to the subscribers of its class."""

    def __init__(self) -> None:
        self._subscriptions: dict[type, list[_Subscription]] = {}

    def subscribe(self, kind: type[E], subscriber: Callable[[E], None]) -> Callable[[], None]:
        """Call ``subscriber`` for each event of exactly this class.

        Returns:
            A function that ends the subscription, also for an event that is being delivered;
            calling it twice is harmless.
        """
        subscriptions = self._subscriptions.setdefault(kind, [])
        subscription = _Subscription(subscriber)
        subscriptions.append(subscription)

        def unsubscribe() -> None:
            if subscription.active:
                subscription.active = False
                subscriptions.remove(subscription)

        return unsubscribe

    def publish(self, event: Event) -> None:
        """Deliver an event to its subscribers, synchronously on this thread."""
        for subscription in tuple(self._subscriptions.get(type(event), ())):
            if not subscription.active:
                continue
            try:
                subscription.subscriber(event)
            except Exception:  # one failing subscriber must not affect the others
                log.exception("A subscriber of %s failed", type(event).__name__)
