"""The sandbox for commands on this computer: level, error, remedy, and a new check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.ui.settings.fields.field_row import heading
from hermes_desktop.ui.settings.fields.parts import SettingsContext, SettingsPart
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.resource_files import pixmap
from hermes_desktop.ui.widgets.section_parts import (
    Block,
    LeadingLabel,
    SecondaryLabel,
    heading_label,
)
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_12, fixed_font
from hermes_desktop.ui.words.visible_text import visible

if TYPE_CHECKING:
    from hermes_desktop.services.settings.sandbox_check import SandboxView

_ICON = 18
_ICONS = {"A": ("ok", "ok"), "B": ("warning", "warning"), "C": ("error", "error")}


class SandboxPart(SettingsPart):
    """The level that works here. It changes nothing; the choice is a setting below it."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(context)
        self._begun = False
        self.seen: SandboxView | None = None
        theme = context.theme
        self.icon = QLabel()
        self.title = heading_label(self.tr("Checking…"))
        self.meaning = SecondaryLabel(theme)
        self.error = LeadingLabel()
        self.remedy = LeadingLabel()
        self.command = LeadingLabel()
        self.copy = QPushButton(self.tr("Copy"))
        self.again = QPushButton(self.tr("Check again"))
        self._fix = QWidget()
        self._arrange()
        self.copy.clicked.connect(self._copy)
        self.again.clicked.connect(lambda: self._look(fresh=True))
        theme.changed.connect(self._colour)
        self._colour()

    @override
    def begin(self) -> None:
        self._begun = True
        self._look(fresh=False)

    @override
    def set_locked(self, reason: str) -> None:
        """Keep the part enabled: it changes nothing."""

    def _look(self, *, fresh: bool) -> None:
        self.again.setEnabled(False)
        self.context.slots.start(self._find(fresh=fresh), doing=self.tr("Checking the sandbox"))

    async def _find(self, *, fresh: bool) -> None:
        try:
            self._show(await self.context.services.sandbox.look(fresh=fresh))
        finally:
            self.again.setEnabled(True)

    def _show(self, view: SandboxView) -> None:
        self.seen = view
        self.title.setText(
            self.tr("{title} (level {level})").format(title=view.title, level=view.level)
        )
        self.meaning.setText(view.meaning)
        for label, text in (
            (self.error, view.error),
            (self.remedy, view.remedy),
            (self.command, view.command),
        ):
            label.setText(visible(text))
            label.setVisible(bool(text))
        self._fix.setVisible(bool(view.command))
        words = (view.title, view.meaning, view.error, view.remedy, view.command)
        self.setAccessibleDescription(" ".join(filter(None, words)))
        self._colour()

    def _copy(self) -> None:
        if self.seen is not None:
            QGuiApplication.clipboard().setText(self.seen.command)

    def _colour(self) -> None:
        palette = self.context.theme.palette
        tint(self.error, palette.secondary_text)
        self.icon.setVisible(self.seen is not None)
        if self.seen is not None:
            name, colour = _ICONS[self.seen.level]
            shown = pixmap(name, getattr(palette, colour), _ICON, self.devicePixelRatioF())
            self.icon.setPixmap(shown)

    def _arrange(self) -> None:
        self.column.addWidget(heading(self.tr("Sandbox on this computer")))
        block = Block(self.context.theme)
        self.column.addWidget(block)
        head = QHBoxLayout()
        head.setSpacing(SPACE_8)
        head.addWidget(self.icon)
        head.addWidget(self.title, 1)
        self.again.setAutoDefault(False)
        head.addWidget(self.again)
        block.column.addLayout(head)
        block.column.addWidget(self.meaning)
        selectable = (
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        for label in (self.error, self.command):
            label.setFont(fixed_font())
            label.setTextInteractionFlags(selectable)
        more = QVBoxLayout()
        more.setSpacing(SPACE_4)
        more.addWidget(self.error)
        more.addWidget(self.remedy)
        block.column.addLayout(more)
        line = QHBoxLayout(self._fix)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(SPACE_12)
        line.addWidget(self.command, 1)
        self.copy.setAutoDefault(False)
        line.addWidget(self.copy, 0, Qt.AlignmentFlag.AlignTop)
        block.column.addWidget(self._fix)
        for widget in (self.error, self.remedy, self._fix):
            widget.hide()
