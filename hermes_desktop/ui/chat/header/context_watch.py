"""Tracking of the shown session's context usage: counted by the model, else estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_desktop.core.clock import Clock
    from hermes_desktop.core.events import ContextUsed
    from hermes_desktop.services.agents.session_figures import SessionStatistics
    from hermes_desktop.ui.chat.shown_session import ShownSession
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots
    from hermes_desktop.ui.widgets.event_bridge import EventBridge

_REMEMBERED = 200
_SETTLING_S = 5.0


@dataclass(slots=True)
class _Known:
    """A context usage, the number of messages it covers, and when it was received."""

    used: ContextUsed
    messages: int
    at: float


class ContextUsageTracker(QObject):
    """The context usage of the session on the page.

    Estimates are made from the stored messages.

    Args:
        figures: Estimates the usage.
        slots: Runs the estimates.
        bridge: The events as signals.
        current: Returns the session that the page shows.
        clock: For the age of a count.
        parent: The owner.

    Signals:
        changed: The usage changed; None for a session without a known usage.
    """

    changed = Signal(object)

    def __init__(
        self,
        figures: SessionStatistics,
        slots: AsyncSlots,
        bridge: EventBridge,
        current: Callable[[], ShownSession],
        *,
        clock: Clock,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._figures = figures
        self._slots = slots
        self._current = current
        self._clock = clock
        self._known: dict[str, _Known] = {}
        self._asked = ""
        bridge.context_used.connect(self._counted)

    @property
    def used(self) -> ContextUsed | None:
        """The context usage of the session on the page."""
        ids = self._current().ids
        found = [known.used for key, known in self._known.items() if key in ids]
        return found[-1] if found else None

    def follow(self) -> None:
        """Update after another session was shown or the shown one was read again."""
        self.changed.emit(self.used)
        shown = self._current()
        session_id, count = shown.id, self._count()
        if session_id is None or shown.summary is None or not count:
            return
        known = self._known.get(session_id)
        if known is not None and self._stands(known, count):
            return
        if self._asked != f"{session_id} {count}":
            self._asked = f"{session_id} {count}"
            self._slots.start(self._estimate(session_id, count), doing=self.tr("Loading usage"))

    def _stands(self, known: _Known, count: int) -> bool:
        """Return whether a usage is still valid.

        The model's count is valid until there are fewer messages, an estimate until their number
        changes.
        """
        if known.used.about:
            return count == known.messages
        if self._clock.monotonic() - known.at < _SETTLING_S:  # its rows are still being read
            known.messages = count
        return count >= known.messages

    async def _estimate(self, session_id: str, count: int) -> None:
        used = await self._figures.context(session_id)
        known = self._known.get(session_id)
        if known is not None and not known.used.about and self._stands(known, count):
            return  # a count by the model arrived meanwhile, which is more exact
        if used is not None:
            self._take(session_id, used, count)

    def _counted(self, used: ContextUsed) -> None:
        self._take(used.session_id, used, self._count() if self._shows(used.session_id) else 0)

    def _take(self, session_id: str, used: ContextUsed, count: int) -> None:
        self._known.pop(session_id, None)
        self._known[session_id] = _Known(used, count, self._clock.monotonic())
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
        if self._shows(session_id):
            self.changed.emit(used)

    def _shows(self, session_id: str) -> bool:
        return session_id in self._current().ids

    def _count(self) -> int:
        summary = self._current().summary
        return summary.message_count if summary is not None else 0
