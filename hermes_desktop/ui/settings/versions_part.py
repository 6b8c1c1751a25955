"""Earlier versions of config.yaml: their differences, and restoring one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtWidgets import QHBoxLayout, QPushButton
from typing_extensions import override

from hermes_desktop.core.errors import HermesError
from hermes_desktop.ui.settings.fields.field_row import heading
from hermes_desktop.ui.settings.fields.field_text import plain
from hermes_desktop.ui.settings.fields.parts import SettingsContext, SettingsPart
from hermes_desktop.ui.settings.saving.difference_dialog import DifferenceDialog
from hermes_desktop.ui.widgets.quiet_table import Cell, QuietTable
from hermes_desktop.ui.widgets.section_parts import Block, SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8
from hermes_desktop.ui.words.day_words import words_for

if TYPE_CHECKING:
    from hermes_desktop.services.settings.settings_service import Applied
    from hermes_desktop.settings.config_versions import Version

KEPT_WORDS = (
    "Each save keeps the previous file; the latest five are kept. Restoring one replaces the "
    "whole file, and the current file becomes a version."
)


class _Row(NamedTuple):
    version: Version
    less: int
    more: int


class VersionsPart(SettingsPart):
    """A list of versions, the newest first."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(context)
        self._begun = False
        self._locked = ""
        self.words = SecondaryLabel(context.theme)
        self.table = QuietTable(
            self.tr("Previous versions of config.yaml"),
            (self.tr("Replaced"), self.tr("Differences")),
            context.theme,
        )
        self.difference = QPushButton(self.tr("Compare…"))
        self.restore = QPushButton(self.tr("Restore…"))
        self._arrange()
        context.draft.loaded.connect(self._read_again)

    @override
    def begin(self) -> None:
        self._begun = True
        self._read_again()

    @override
    def set_locked(self, reason: str) -> None:
        """Update the buttons: only a managed home forbids restoring, an invalid file does not."""
        del reason
        self._show_allowed()

    def _read_again(self) -> None:
        if self._begun:
            self.context.slots.start(self._read(), doing=self.tr("Loading previous versions"))

    async def _read(self) -> None:
        service = self.context.services.settings
        versions = await service.versions()
        rows = [_counted(each, await self._difference(each)) for each in versions]
        self._show(rows)

    async def _difference(self, version: Version) -> str:
        try:
            return await self.context.services.settings.difference_to(version)
        except HermesError:
            return "?"

    def _show(self, rows: list[_Row]) -> None:
        now = self.context.clock.time()
        days = words_for(now)
        shown = []
        for row in rows:
            moment = row.version.time
            when = Cell(_when(row.version, now), moment, days.full(moment))
            shown.append((row.version, (when, Cell(_difference_words(row), row.less + row.more))))
        self.table.show_rows(shown)
        if rows and self.table.current is None:
            self.table.selectRow(0)
        self._block.setVisible(bool(rows))
        self.words.setText(KEPT_WORDS if rows else self.tr("There are no previous versions yet."))
        self._show_allowed()

    def _show_allowed(self) -> None:
        managed = self.context.services.settings.managed
        there = self.table.current is not None
        self.difference.setEnabled(there)
        self.restore.setEnabled(there and not managed)
        self.restore.setToolTip(managed)

    def _see(self) -> None:
        version = self.table.current
        if version is not None:
            self.context.slots.start(self._compare(version), doing=self.tr("Comparing"))

    def _bring_back(self) -> None:
        version = self.table.current
        if version is not None:
            self.context.slots.start(self._restore(version), doing=self.tr("Restoring"))

    async def _compare(self, version: Version) -> None:
        found = await self.context.services.settings.difference_to(version)
        title = self.tr("From {when} to now").format(when=self._date(version))
        same = self.tr("There are no differences.")
        dialog = self._dialog(title, found, () if found else (same,))
        await self._ask(dialog)

    async def _restore(self, version: Version) -> None:
        service = self.context.services.settings
        found = await service.preview_restore(version)
        title = self.tr("Restore config.yaml from {when}?").format(when=self._date(version))
        if not found.diff:
            await self._ask(self._dialog(title, "", (self.tr("This is the current version."),)))
            return
        facts = [self.tr("The current file is kept as a version."), *found.notes]
        dialog = self._dialog(title, found.diff, tuple(map(plain, facts)), self.tr("Restore"))
        if await self._ask(dialog):
            applied: Applied = await service.restore(version)
            self.context.report(applied)

    def _dialog(
        self, title: str, difference: str, facts: tuple[str, ...], action: str = ""
    ) -> DifferenceDialog:
        return DifferenceDialog(
            title,
            difference,
            facts=facts,
            action=action,
            theme=self.context.theme,
            parent=self.window(),
        )

    async def _ask(self, dialog: DifferenceDialog) -> bool:
        answer = await self.context.slots.ask(dialog)
        dialog.deleteLater()
        return answer == DifferenceDialog.DialogCode.Accepted

    def _date(self, version: Version) -> str:
        return words_for(self.context.clock.time()).full(version.time)

    def _arrange(self) -> None:
        self.column.addWidget(heading(self.tr("Previous versions")))
        self.column.addWidget(self.words)
        self._block = Block(self.context.theme)
        self._block.column.setContentsMargins(SPACE_8, SPACE_4, SPACE_8, SPACE_8)
        self._block.column.addWidget(self.table)
        row = QHBoxLayout()
        row.setSpacing(SPACE_8)
        for button in (self.difference, self.restore):
            button.setAutoDefault(False)
            row.addWidget(button)
        row.addStretch(1)
        self._block.column.addLayout(row)
        self._block.hide()
        self.column.addWidget(self._block)
        self.table.sort_first_by(0, ascending=False)
        self.table.chosen.connect(lambda _: self._show_allowed())
        self.table.entered.connect(lambda _: self._see())
        self.difference.clicked.connect(self._see)
        self.restore.clicked.connect(self._bring_back)


def _counted(version: Version, difference: str) -> _Row:
    lines = [line for line in difference.splitlines() if not line.startswith(("---", "+++"))]
    return _Row(
        version,
        sum(line.startswith("-") for line in lines),
        sum(line.startswith("+") for line in lines),
    )


def _difference_words(row: _Row) -> str:
    if not row.less and not row.more:
        return "Nothing"
    parts = [
        f"{count} line{'' if count == 1 else 's'} {verb} since"
        for count, verb in ((row.more, "added"), (row.less, "removed"))
        if count
    ]
    return ", ".join(parts)


def _when(version: Version, now: float) -> str:
    days = words_for(now)
    brief, group = days.brief(version.time), days.group(version.time)
    return f"{group}, {brief}" if group in {"Today", "Yesterday"} else days.full(version.time)
