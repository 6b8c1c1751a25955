"""The current preferences of the desktop program."""

from PySide6.QtCore import QObject, Signal

from hermes_desktop.core.events import SettingsChanged
from hermes_desktop.services.settings.desktop_config import DesktopConfig
from hermes_desktop.services.settings.settings_service import SettingsService
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge

_OURS = "desktop."


class Preferences(QObject):
    """Tracks the program's own settings, whichever process changes them. Main thread only.

    Args:
        settings: Reads the settings.
        slots: Runs the reads off the main thread.
        bridge: The events about changed settings.
        current: The preferences at the start.

    Signals:
        changed: Carries the new preferences.
    """

    changed = Signal(object)

    def __init__(
        self,
        settings: SettingsService,
        slots: AsyncSlots,
        bridge: EventBridge,
        current: DesktopConfig,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._settings = settings
        self._slots = slots
        self._current = current
        bridge.settings_changed.connect(self._news)

    @property
    def current(self) -> DesktopConfig:
        """The current preferences."""
        return self._current

    def _news(self, news: SettingsChanged) -> None:
        if any(change.key.startswith(_OURS) for change in news.changes):
            self._slots.start(self._read(), doing=self.tr("Reading the settings"))

    async def _read(self) -> None:
        found = await self._settings.desktop()
        if found != self._current:
            self._current = found
            self.changed.emit(found)
