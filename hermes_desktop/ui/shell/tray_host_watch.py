"""A watch for tray hosts that come and go, without permanent polling."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from PySide6.QtCore import SLOT, QObject, QTimer, Signal, Slot

if TYPE_CHECKING:
    from PySide6.QtDBus import QDBusConnection

WATCHER = "org.kde.StatusNotifierWatcher"
_PATH = "/StatusNotifierWatcher"
_OFTEN_MS, _SELDOM_MS = 2_000, 60_000
_EARLY_LOOKS = 15
"""How many polls at short intervals after the start, for hosts that are not on the bus."""


class TrayHostWatch(QObject):
    """Follows the owner of the tray's name on the session bus, and its signals about hosts.

    A desktop without that bus, or whose tray does not support it (XEmbed), is polled: often for
    half a minute after the start, once a minute later.

    Args:
        bus: The session bus; a disconnected one is not used.

    Signals:
        may_have_changed: Check for a host now.
    """

    may_have_changed = Signal()

    def __init__(self, bus: QDBusConnection | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bus = bus or _session_bus()
        self._looks = 0
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.look)
        self._timer.start(_OFTEN_MS)
        if self._bus is not None and self._bus.isConnected():
            self._listen(self._bus)

    def close(self) -> None:
        """Stop watching."""
        self._timer.stop()
        self.may_have_changed.disconnect()

    def _listen(self, bus: QDBusConnection) -> None:
        from PySide6.QtDBus import QDBusServiceWatcher  # noqa: PLC0415 - not on every system

        watcher = QDBusServiceWatcher(
            WATCHER, bus, QDBusServiceWatcher.WatchModeFlag.WatchForOwnerChange, self
        )
        watcher.serviceOwnerChanged.connect(self._owner_changed)
        for name in ("StatusNotifierHostRegistered", "StatusNotifierHostUnregistered"):
            # PySide takes a slot as text, its stubs declare bytes.
            slot = SLOT("host_changed()")
            bus.connect(WATCHER, _PATH, WATCHER, name, self, slot)  # type: ignore[call-overload]

    @Slot()
    def host_changed(self) -> None:
        """Handle a signal of the bus: a host was registered or unregistered."""
        self.may_have_changed.emit()

    def _owner_changed(self, _name: str, _before: str, _after: str) -> None:
        self.may_have_changed.emit()

    def look(self) -> None:
        """Request a check, and poll less often after the first ones."""
        self._looks += 1
        if self._looks == _EARLY_LOOKS:
            self._timer.start(_SELDOM_MS)
        self.may_have_changed.emit()


def _session_bus() -> QDBusConnection | None:
    """Return the session bus, if the system can have one."""
    if not sys.platform.startswith("linux"):  # elsewhere the module may not exist
        return None
    from PySide6.QtDBus import QDBusConnection  # noqa: PLC0415 - not on every system

    return QDBusConnection.sessionBus()
