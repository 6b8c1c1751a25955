"""The bridge from the event bus to Qt signals: one signal per kind, carrying the event itself."""

from PySide6.QtCore import QObject, Signal, SignalInstance

from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import (
    ContextUsed,
    GatewayStatusChanged,
    Notice,
    NoticeCleared,
    PairingChanged,
    SessionReset,
    SessionsChanged,
    SettingsChanged,
    StateFileChanged,
    StoreConditionChanged,
    ToolFinished,
    ToolStarted,
    TurnDelta,
    TurnFinished,
    TurnNote,
    TurnQueued,
    TurnStarted,
    VersionsChanged,
)
from hermes_desktop.core.user_requests import RequestPending, RequestResolved


class EventBridge(QObject):
    """One subscription to every event. Lives on the thread of the bus, which is Qt's main thread.

    Widgets connect to the signals and are disconnected by Qt when they are deleted, so that no
    subscription of the bus outlives its widget.
    """

    sessions_changed = Signal(object)
    state_file_changed = Signal(object)
    store_condition_changed = Signal(object)
    turn_queued = Signal(object)
    turn_started = Signal(object)
    turn_delta = Signal(object)
    turn_finished = Signal(object)
    tool_news = Signal(object)
    turn_note = Signal(object)
    context_used = Signal(object)
    request_pending = Signal(object)
    request_resolved = Signal(object)
    gateway_status_changed = Signal(object)
    pairing_changed = Signal(object)
    session_reset = Signal(object)
    settings_changed = Signal(object)
    notice = Signal(object)
    notice_cleared = Signal(object)
    versions_changed = Signal(object)

    def __init__(self, bus: EventBus, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._unsubscribe = [
            bus.subscribe(SessionsChanged, self.sessions_changed.emit),
            bus.subscribe(StateFileChanged, self.state_file_changed.emit),
            bus.subscribe(StoreConditionChanged, self.store_condition_changed.emit),
            bus.subscribe(TurnQueued, self.turn_queued.emit),
            bus.subscribe(TurnStarted, self.turn_started.emit),
            bus.subscribe(TurnDelta, self.turn_delta.emit),
            bus.subscribe(TurnFinished, self.turn_finished.emit),
            bus.subscribe(ToolStarted, self.tool_news.emit),
            bus.subscribe(ToolFinished, self.tool_news.emit),
            bus.subscribe(TurnNote, self.turn_note.emit),
            bus.subscribe(ContextUsed, self.context_used.emit),
            bus.subscribe(RequestPending, self.request_pending.emit),
            bus.subscribe(RequestResolved, self.request_resolved.emit),
            bus.subscribe(GatewayStatusChanged, self.gateway_status_changed.emit),
            bus.subscribe(PairingChanged, self.pairing_changed.emit),
            bus.subscribe(SessionReset, self.session_reset.emit),
            bus.subscribe(SettingsChanged, self.settings_changed.emit),
            bus.subscribe(Notice, self.notice.emit),
            bus.subscribe(NoticeCleared, self.notice_cleared.emit),
            bus.subscribe(VersionsChanged, self.versions_changed.emit),
        ]

    @property
    def request_signals(self) -> tuple[SignalInstance, ...]:
        """The signals for the beginning and the end of approvals and questions."""
        return self.request_pending, self.request_resolved

    def close(self) -> None:
        """End all subscriptions; idempotent."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._unsubscribe.clear()
