"""The effect of the session settings on the existing chats and sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QVBoxLayout
from typing_extensions import override

from hermes_desktop.core.errors import HermesError
from hermes_desktop.services.assembly.forgetting_preview import RetentionCounts, RetentionPreview
from hermes_desktop.ui.settings.fields.field_row import heading
from hermes_desktop.ui.settings.fields.parts import SettingsContext, SettingsPart
from hermes_desktop.ui.settings.forgetting_words import RetentionText
from hermes_desktop.ui.widgets.section_parts import Block, SecondaryLabel, heading_label

if TYPE_CHECKING:
    import asyncio

    from hermes_desktop.services.settings.settings_repository import Change

_WAIT_MS = 250
"""The delay after a keystroke, so that a number is not evaluated for each of its digits."""
_GREY_MS = 150
_OURS = ("session_reset.", "reset_by_", "session_store_max_age_days", "sessions.")


class RetentionPart(SettingsPart):
    """Three sentences, recomputed whenever a value on this page changes."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(context)
        self._preview: RetentionPreview | None = None
        self._counting: asyncio.Task[None] | None = None
        self._counted: list[Change] | None = None
        self.seen: RetentionCounts | None = None
        self.chats, self.rules, self.stored = (SecondaryLabel(context.theme) for _ in range(3))
        self.basis = SecondaryLabel(context.theme)
        self._wait = _timer(self, _WAIT_MS, self._count)
        self._grey = _timer(self, _GREY_MS, lambda: self._block.setEnabled(False))
        self._arrange()
        context.draft.edits_changed.connect(self._changed)
        context.draft.loaded.connect(self._loaded)
        context.bridge.gateway_status_changed.connect(self._gateway_changed)

    @override
    def begin(self) -> None:
        services = self.context.services
        self._preview = RetentionPreview(
            services.paths, services.db, self.context.clock, services.background.is_busy
        )
        self.destroyed.connect(self._preview.close)
        self._count()

    @override
    def set_locked(self, reason: str) -> None:
        """Keep the part enabled: it changes nothing."""

    @override
    def end(self) -> None:
        self._wait.stop()
        self._grey.stop()
        self._stop()
        if self._preview is not None:
            self._preview.close()
            self._preview = None

    def _loaded(self) -> None:
        self._counted = None
        self._changed()

    def _changed(self) -> None:
        if self._preview is not None and self._wanted() != self._counted:
            self._wait.start()

    def _gateway_changed(self, _: object) -> None:
        if self.seen is not None:
            self._show(self.seen)

    def _wanted(self) -> list[Change]:
        draft = self.context.draft
        faulty = set(draft.faulty)
        return [
            change
            for change in draft.changes()
            if change.key.startswith(_OURS) and change.key not in faulty
        ]

    def _count(self) -> None:
        self._wait.stop()
        self._stop()
        if self._preview is not None:
            self._counted = self._wanted()
            self._grey.start()
            self._counting = self.context.slots.start(
                self._count_for(self._preview, self._counted), doing=self.tr("Counting")
            )

    def _stop(self) -> None:
        """Cancel the count in progress, whose result is outdated."""
        if self._counting is not None:
            self._counting.cancel()
            self._counting = None

    async def _count_for(self, preview: RetentionPreview, changes: list[Change]) -> None:
        try:
            wished = await self.context.services.settings.preview_after(changes)
            found = await preview.count(wished)
        except HermesError as error:
            self.seen = None
            self._say(error.title, (), "")
        else:
            self._show(found)
        self._grey.stop()
        self._block.setEnabled(True)

    def _show(self, found: RetentionCounts) -> None:
        self.seen = found
        state = self.context.services.gateway.state
        words = RetentionText(self.context.clock.now(), state)
        rules = words.rules(found.rules)
        self._say(words.chats(found.chats), rules, words.stored(found.stored))

    def _say(self, chats: str, rules: tuple[str, ...] | list[str], stored: str) -> None:
        self.chats.setText(chats)
        self.rules.setText("\n".join(rules))
        self.stored.setText(stored)
        for title, label in self._lines:
            title.setVisible(bool(label.text()))
            label.setVisible(bool(label.text()))
        self.basis.setText(
            self.tr("Based on the values below, which are not saved yet.")
            if self._counted
            else self.tr("Based on the saved settings.")
        )
        self.setAccessibleDescription(" ".join((chats, *rules, stored)))

    def _arrange(self) -> None:
        self.column.addWidget(heading(self.tr("Current effect")))
        self._block = Block(self.context.theme)
        self._lines = [
            (heading_label(self.tr("Forgotten chats")), self.chats),
            (heading_label(self.tr("New sessions")), self.rules),
            (heading_label(self.tr("Deleted sessions")), self.stored),
        ]
        for title, label in self._lines:
            pair = QVBoxLayout()
            pair.setSpacing(2)
            pair.addWidget(title)
            pair.addWidget(label)
            title.hide()
            self._block.column.addLayout(pair)
        self.basis.setText(self.tr("Counting…"))
        self._block.column.addWidget(self.basis)
        self.column.addWidget(self._block)


def _timer(parent: SettingsPart, after_ms: int, slot: object) -> QTimer:
    timer = QTimer(parent)
    timer.setSingleShot(True)
    timer.setInterval(after_ms)
    timer.timeout.connect(slot)
    return timer
