"""The controller that loads settings into the draft and saves it; I/O is off the main thread."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from hermes_desktop.core.errors import ConfigError, HermesError
from hermes_desktop.settings.config_store import ChangedElsewhereError
from hermes_desktop.ui.widgets.coalesced_runs import CoalescedRuns

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_desktop.services.settings.settings_repository import Change
    from hermes_desktop.services.settings.settings_service import Applied, SettingsService
    from hermes_desktop.ui.settings.fields.parts import Pending
    from hermes_desktop.ui.settings.saving.draft import Draft
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots


class SettingsController(QObject):
    """Connects the draft with the settings service. Main thread only.

    Args:
        service: Reads and writes settings.
        slots: Runs coroutines started by the user interface.
        draft: Edits of options.
        pending: Returns the further changes that the parts of all pages want to save.

    Signals:
        read: The draft was loaded; carries the settings that were changed elsewhere since.
        broken: A file cannot be parsed; carries the error. Nothing was loaded.
        busy_changed: Saving started or ended.
        saved: Carries the outcome, and each setting as it was before. The draft has been loaded
            since.
        refused: Saving failed; carries the setting or variable ("" for none) and the error.
    """

    read = Signal(object)
    broken = Signal(object)
    busy_changed = Signal(bool)
    saved = Signal(object, object)
    refused = Signal(str, object)

    def __init__(
        self,
        service: SettingsService,
        slots: AsyncSlots,
        draft: Draft,
        pending: Callable[[], Pending],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._service = service
        self._slots = slots
        self._draft = draft
        self._pending = pending
        self._saving = False
        self._loads = CoalescedRuns()

    @property
    def busy(self) -> bool:
        """Whether a save is in progress."""
        return self._saving

    def load(self) -> None:
        """Read all settings; calls during a load or a save lead to one more afterwards."""
        self._slots.start(self._loads.run(self._look), doing=self.tr("Reading the settings"))

    def save(self) -> None:
        """Save everything that is pending."""
        if not self._saving:
            self._slots.start(self.save_now(), doing=self.tr("Saving the settings"))

    def apply(self, changes: list[Change]) -> None:
        """Save exactly these changes; pending edits are kept."""
        if not self._saving:
            self._slots.start(self._apply(changes, {}), doing=self.tr("Saving the settings"))

    def wanted(self) -> list[Change]:
        """Return every pending change of a setting."""
        return [*self._draft.changes(), *self._pending().changes]

    async def _look(self) -> None:
        try:
            views = await self._service.look()
            repeated = await self._service.repeated_keys()
        except ConfigError as error:
            self.broken.emit(error)
        else:
            self.read.emit(self._draft.load(views, repeated))

    async def save_now(self) -> None:
        """Save everything that is pending and wait for it; the signals report the outcome."""
        pending = self._pending()
        changes = [*self._draft.changes(), *pending.changes]
        edits = dict(self._draft.edits)  # fields filled in from here on are not part of this save
        await self._apply(changes, dict(pending.secrets), partial(self._draft.saved, edits))

    async def _apply(
        self, changes: list[Change], secrets: dict[str, str], done: Callable[[], None] | None = None
    ) -> None:
        """Save, read back, then notify, so that the notification matches what the files hold."""
        views = self._draft.views
        before = {each.key: views[each.key] for each in changes if each.key in views}
        self._set_saving(saving=True)
        try:
            applied: Applied = await self._service.apply(changes, secrets)
            if done is not None:
                done()
            await self._look()
        except HermesError as error:
            if isinstance(error, ChangedElsewhereError | ConfigError):
                await self._look()  # the values of the files now make the conflict visible
            self.refused.emit(getattr(error, "key", ""), error)
        else:
            self.saved.emit(applied, before)
        finally:
            self._set_saving(saving=False)

    def _set_saving(self, *, saving: bool) -> None:
        self._saving = self._loads.held = saving
        self.busy_changed.emit(saving)
        if self._loads.wanted and not saving:
            self.load()
