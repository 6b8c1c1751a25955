"""The user's side of saving: preview before, report afterwards, undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from hermes_desktop.core.errors import HermesError
from hermes_desktop.services.settings.settings_repository import Change
from hermes_desktop.settings.secrets import SecretStoreError
from hermes_desktop.ui.settings.fields.field_text import plain
from hermes_desktop.ui.settings.saving.difference_dialog import DifferenceDialog
from hermes_desktop.ui.settings.saving.outcome_text import (
    detail_words,
    has_trouble,
    name_of,
    title_words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from PySide6.QtWidgets import QWidget

    from hermes_desktop.core.events import GatewayStatusChanged
    from hermes_desktop.services.settings.settings_reading import SettingView
    from hermes_desktop.services.settings.settings_service import Applied
    from hermes_desktop.ui.settings.fields.parts import SettingsContext
    from hermes_desktop.ui.settings.pages.page_stack import PageStack
    from hermes_desktop.ui.settings.saving.pending_bar import PendingBar
    from hermes_desktop.ui.settings.saving.report_strip import ReportStrip
    from hermes_desktop.ui.settings.saving.settings_controller import SettingsController

RESTART, UNDO = "restart", "undo"


class SavingController(QObject):
    """The controller that joins bar, strip and settings. Main thread only.

    Args:
        context: Draft and services.
        settings: Saves.
        stack: The pages.
        bar: Shows what is pending.
        strip: Reports the outcome.
        show_setting: Navigates to a setting.
        window: Parent of dialogs.
    """

    def __init__(  # noqa: PLR0913 - the parts it joins
        self,
        context: SettingsContext,
        settings: SettingsController,
        stack: PageStack,
        *,
        bar: PendingBar,
        strip: ReportStrip,
        show_setting: Callable[[str], None],
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._context = context
        self._settings = settings
        self._stack = stack
        self._bar = bar
        self._strip = strip
        self._show_setting = show_setting
        self._window = window
        self._undo: list[Change] = []
        self._taking_back = False
        bar.save_wanted.connect(self.save)
        bar.discard_wanted.connect(self.discard)
        bar.difference_wanted.connect(self.see_difference)
        settings.busy_changed.connect(bar.set_busy)
        settings.busy_changed.connect(stack.set_saving)
        settings.saved.connect(self._saved)
        settings.refused.connect(self._refused)
        strip.acted.connect(self._act)
        context.bridge.gateway_status_changed.connect(self._gateway_changed)

    def save(self) -> None:
        """Save everything, or navigate to the setting that cannot be saved."""
        if self._to_faulty() or not sum(self._stack.counts().values()):
            return
        self._settings.save()

    async def save_all(self) -> None:
        """Save everything and wait until it is done, successfully or not."""
        if not self._to_faulty():
            await self._settings.save_now()

    def discard(self) -> None:
        """Drop everything that is pending."""
        self._stack.revert()
        self._context.draft.discard()

    def see_difference(self) -> None:
        """Show what would be written."""
        if not self._to_faulty():
            self._context.slots.start(self._see_difference(), doing=self.tr("Comparing"))

    def _to_faulty(self) -> bool:
        faulty = self._context.draft.faulty
        if faulty:
            self._show_setting(faulty[0])
        return bool(faulty) or bool(self._stack.pending().faulty)

    async def _see_difference(self) -> None:
        changes = self._settings.wanted()
        try:
            found = await self._context.services.settings.preview(changes)
        except HermesError as error:
            self._refused(getattr(error, "key", ""), error)
            return
        secrets = self._stack.pending().secrets
        facts = [plain(note) for note in found.notes]
        if secrets:
            facts.append(self.tr("Into the keyring: {names}").format(names=", ".join(secrets)))
        if not found.diff and changes:
            facts.append(self.tr("The files need no change."))
        dialog = DifferenceDialog(
            self.tr("Changes to be written"),
            found.diff,
            facts=facts,
            action=self.tr("Save"),
            theme=self._context.theme,
            parent=self._window,
        )
        answer = await self._context.slots.ask(dialog)
        dialog.deleteLater()
        if answer == DifferenceDialog.DialogCode.Accepted:
            self.save()

    # --------------------------------------------------------------------------- outcome

    def _saved(self, applied: Applied, before: Mapping[str, SettingView]) -> None:
        views = self._context.draft.views
        taken_back, self._taking_back = self._taking_back, False
        keys = {change.key for change in applied.saved.changes}
        self._undo = [
            Change(key, view.stored, unset=not view.is_set, seen=views[key].seen)
            for key, view in before.items()
            if key in keys
        ]
        if any(view.problem for view in before.values()):
            self._undo = []  # invalid values are not written again; an earlier version has them
        if not taken_back:
            self._stack.saved(applied)
        self._tell(applied, taken_back=taken_back)

    def report(self, applied: Applied) -> None:
        """Report the outcome of a change that a part has made itself."""
        self._undo = []
        self._tell(applied)

    def _tell(self, applied: Applied, *, taken_back: bool = False) -> None:
        views = self._context.draft.views
        title = self.tr("The change was undone.") if taken_back else title_words(applied)
        actions = {}
        if applied.after_restart:
            actions[RESTART] = self.tr("Restart gateway…")
        if self._undo and not taken_back:
            actions[UNDO] = self.tr("Undo")
        level = "warning" if has_trouble(applied) else "ok"
        self._strip.tell(level, title, detail_words(applied, views), actions)

    def _refused(self, key: str, error: HermesError) -> None:
        self._taking_back = False
        if key and self._stack.show_error(key, error):
            self._show_setting(key)
            name = name_of(key, self._context.draft.views)
            title = self.tr("Nothing was saved, because of “{name}”.").format(name=name)
            self._strip.tell("error", title)
            return
        if isinstance(error, SecretStoreError) and self._stack.show_error("", error):
            title = self.tr("Nothing was saved. {why}").format(why=plain(error.title))
            self._strip.tell("error", title)
            return
        details = [plain(each) for each in (error.detail, error.hint)]
        self._strip.tell("error", plain(error.title), details)

    def take_back(self) -> None:
        """Restore the values before the last save, unless they were changed elsewhere since."""
        self._taking_back = True
        self._settings.apply(self._undo)

    def _act(self, name: str) -> None:
        if name == RESTART:
            self._context.restart_gateway()
        elif name == UNDO:
            self._strip.drop_action(UNDO)
            self.take_back()

    def _gateway_changed(self, status: GatewayStatusChanged) -> None:
        """Replace the offer to restart once the gateway starts with the saved settings."""
        if status.state == "starting" and RESTART in self._strip.buttons:
            self._strip.tell("ok", self.tr("The gateway starts with the saved settings."))
