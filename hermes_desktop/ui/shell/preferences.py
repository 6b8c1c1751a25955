"""The desktop program's own settings as they are now, for whoever shows something by them."""

from PySide6.QtCore import QObject, Signal

from hermes_desktop.core.events import SettingsChanged
from hermes_desktop.services.settings.desktop_config import DesktopConfig
from hermes_desktop.services.settings.settings_service import SettingsService
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge

_OURS = "desktop."


class Preferences(QObject):
    """Follows them, whoever changed them. Main thread only.

    Args:
        settings: Where they are read.
        slots: Reads them beside the window.
        bridge: Says that some changed.
        current: As they were at the start.

    Signals:
        changed: They are others now.
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
        """What they say."""
        return self._current

    def _news(self, news: SettingsChanged) -> None:
        if any(change.key.startswith(_OURS) for change in news.changes):
            self._slots.start(self._read(), doing=self.tr("Reading the settings"))

    async def _read(self) -> None:
        found = await self._settings.desktop()
        if found != self._current:
            self._current = found
            self.changed.emit(found)
