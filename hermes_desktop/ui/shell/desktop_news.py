"""What the desktop is told of while the window is hidden, as far as a person wants that."""

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from hermes_desktop.core.events import GatewayStatusChanged, PlatformHealth, TurnFinished
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.ui.shell.preferences import Preferences
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.words.source_names import source_name

PATIENCE_MS = 60_000
"""A platform that is reached again within this time was never worth a word."""
_FOR_NOW = frozenset({"silent", "retrying"})
_LONGEST = 140


class DesktopNews(QObject):
    """Decides what is told. Main thread only.

    Args:
        window: Whatever shows there needs no notification.
        bridge: Turns and the gateway.
        preferences: What a person wants to be told.
        patience_ms: How long a platform may be away without a word.

    Signals:
        told: Title and words; clicked, it leads to the platforms.
        told_of_chat: Likewise; clicked, it leads to the window.
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
        """The assistant asks something, and nobody sees the window."""
        if self._preferences.current.notify_approvals:
            self.told_of_chat.emit(title, words)

    def requested(self, title: str, words: str) -> None:
        """Somebody asks to be let in, and nobody sees the window."""
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
            self.told_of_chat.emit(self.tr("There is no reply"), _short(turn.error_title))
        elif turn.outcome == "done" and turn.reply.strip():
            self.told_of_chat.emit(self.tr("Hermes has answered"), _short(turn.reply))

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
            title = self.tr("{place} is not reached").format(place=place)
            self.told.emit(title, _short(health.detail))


def _short(text: str) -> str:
    """The beginning, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()}…"
