"""Desktop notifications while the window is hidden, according to the preferences."""

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from hermes_desktop.core.events import GatewayStatusChanged, PlatformHealth, TurnFinished
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.ui.shell.preferences import Preferences
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.words.source_names import source_name

PATIENCE_MS = 60_000
"""No notification for a platform that is reachable again within this time."""
_FOR_NOW = frozenset({"silent", "retrying"})
_LONGEST = 140


class NotificationController(QObject):
    """Decides which events become notifications. Main thread only.

    Args:
        window: While it is visible, there are no notifications.
        bridge: The events of turns and the gateway.
        preferences: Which notifications are enabled.
        patience_ms: How long a platform may be unreachable without a notification.

    Signals:
        told: Carries title and text; a click opens the platforms page.
        told_of_chat: Likewise; a click opens the window.
    """

    told = Signal(str, str)
    told_of_chat = Signal(str, str)

    def __init__(
        self,
        window: QWidget,
        bridge: EventBridge,
        preferences: Preferences,
        *,
        patience_ms: int = PATIENCE_MS,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._preferences = preferences
        self._away: dict[str, PlatformHealth] = {}
        self._known: set[str] = set()
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(patience_ms)
        self._patience.timeout.connect(self._still_away)
        bridge.turn_finished.connect(self._finished)
        bridge.gateway_status_changed.connect(self._platforms)

    def asked(self, title: str, words: str) -> None:
        """Notify of a prompt by the assistant while the window is hidden."""
        if self._preferences.current.notify_approvals:
            self.told_of_chat.emit(title, words)

    def requested(self, title: str, words: str) -> None:
        """Notify of a pairing request while the window is hidden."""
        if self._preferences.current.notify_requests:
            self.told.emit(title, words)

    @property
    def _is_unseen(self) -> bool:
        return not self._window.isVisible() or self._window.isMinimized()

    def _finished(self, turn: TurnFinished) -> None:
        ours = f":{Platform.DESKTOP.value}:" in turn.session_key
        if not ours or not self._is_unseen or not self._preferences.current.notify_finished:
            return
        if turn.outcome == "failed":
            self.told_of_chat.emit(self.tr("No reply"), _short(turn.error_title))
        elif turn.outcome == "done" and turn.reply.strip():
            self.told_of_chat.emit(self.tr("Reply finished"), _short(turn.reply))

    def _platforms(self, status: GatewayStatusChanged) -> None:
        broken = {each.name: each for each in status.platforms if each.state == "fatal"}
        away = {each.name: each for each in status.platforms if each.state in _FOR_NOW}
        self._known &= {*broken, *away}
        self._away = {name: each for name, each in away.items() if name not in self._known}
        for name in [name for name in broken if name not in self._known]:
            self._tell(broken[name])
        if not self._away:
            self._patience.stop()
        elif not self._patience.isActive():
            self._patience.start()

    def _still_away(self) -> None:
        for health in list(self._away.values()):
            self._tell(health)
        self._away.clear()

    def _tell(self, health: PlatformHealth) -> None:
        self._known.add(health.name)
        if self._is_unseen and self._preferences.current.notify_platforms:
            place = source_name(health.name)
            title = self.tr("{place} is not reachable").format(place=place)
            self.told.emit(title, _short(health.detail))


def _short(text: str) -> str:
    """Return the beginning of the text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()}…"
