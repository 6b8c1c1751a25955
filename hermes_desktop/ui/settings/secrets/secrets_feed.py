"""The feed of secrets: their places as last read, and read again on changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal
from shiboken6 import isValid

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.events import SettingsChanged
from hermes_desktop.services.secrets.secrets_repository import SecretView
from hermes_desktop.ui.widgets.coalesced_runs import CoalescedRuns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hermes_desktop.ui.settings.fields.parts import SettingsContext

_SLOW_MS = 400


class SecretsFeed(QObject):
    """Reads the places off the main thread, as a keyring may take seconds. Main thread only.

    Args:
        context: Context of the settings.
        parent: Qt parent.

    Signals:
        looked: :attr:`views` is up to date.
        slow: Reading takes a while.
        over: Reading has ended.
        broken: A file cannot be parsed; carries the error.
    """

    looked = Signal()
    slow = Signal()
    over = Signal()
    broken = Signal(object)

    def __init__(self, context: SettingsContext, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._settings = context.services.settings
        self._views: dict[str, SecretView] = {}
        self._looks = CoalescedRuns()
        self._begun = self._known = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SLOW_MS)
        self._timer.timeout.connect(self.slow)
        unsubscribe = context.services.bus.subscribe(SettingsChanged, self._changed)
        self.destroyed.connect(lambda _: unsubscribe())

    @property
    def views(self) -> Mapping[str, SecretView]:
        """The state of each secret, by variable."""
        return self._views

    @property
    def known(self) -> bool:
        """Whether the secrets were read at least once."""
        return self._known

    def view(self, name: str) -> SecretView:
        """Return the state of a secret; one that is stored nowhere has no places."""
        return self._views.get(name) or SecretView(name)

    def refresh(self) -> None:
        """Read again; a call during a read triggers one more read afterwards."""
        self._begun = True
        self._context.slots.start(self._looks.run(self._look), doing=self.tr("Loading secrets"))

    async def _look(self) -> None:
        self._timer.start()
        try:
            found = await self._settings.look_at_secrets()
        except HermesError as error:
            self._over()
            self.broken.emit(error)
        except Exception:
            if isValid(self):  # else the window was destroyed during the read
                self._over()
            raise
        else:
            self._known = True
            self._views = {view.name: view for view in found}
            self._over()
            self.looked.emit()

    def _over(self) -> None:
        self._timer.stop()
        self.over.emit()

    def _changed(self, _: SettingsChanged) -> None:
        if self._begun:
            self.refresh()
