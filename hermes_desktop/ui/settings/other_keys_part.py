"""The other keys of config.yaml: shown, never changed here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QPushButton
from typing_extensions import override

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.ui.settings.fields.field_row import heading
from hermes_desktop.ui.settings.fields.parts import OTHER, SettingHit, SettingsContext, SettingsPart
from hermes_desktop.ui.widgets.quiet_table import Cell, QuietTable
from hermes_desktop.ui.widgets.section_parts import Block, LeadingLabel, SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_desktop.services.settings.config_health import RepeatedKey
    from hermes_desktop.services.settings.settings_reading import UnknownKey


class OtherKeysPart(SettingsPart):
    """A table of keys that belong to no setting, and a note on repeated keys."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(context)
        self._keys: list[UnknownKey] = []
        self._begun = False
        self.repeated = SecondaryLabel(context.theme)
        self.words = SecondaryLabel(context.theme)
        self.table = QuietTable(
            self.tr("Other keys in config.yaml"),
            (self.tr("Key"), self.tr("Value"), self.tr("Line")),
            context.theme,
        )
        self.folder = QPushButton(self.tr("Open folder"))
        self._arrange()
        context.draft.loaded.connect(self._read_again)

    @override
    def begin(self) -> None:
        self._begun = True
        self._read_again()

    @override
    def search(self, words: Sequence[str]) -> list[SettingHit]:
        return [
            SettingHit(OTHER, each.key, each.key)
            for each in self._keys
            if all(word in each.key.casefold() for word in words)
        ]

    @override
    def focus_key(self, key: str) -> bool:
        for row in range(self.table.model().rowCount()):
            if self.table.model().index(row, 0).data() == key:
                self.table.selectRow(row)
                self.table.setFocus()
                return True
        return False

    @override
    def set_locked(self, reason: str) -> None:
        """Keep the part enabled: it changes nothing."""

    def _read_again(self) -> None:
        if self._begun:
            self.context.slots.start(self._read(), doing=self.tr("Reading the other keys"))

    async def _read(self) -> None:
        service = self.context.services.settings
        trouble = ""
        keys: list[UnknownKey] = []
        try:
            keys = await service.unknown()
        except ConfigError as error:
            trouble = f"{error.title} {self.tr('Its keys cannot be listed.')}"
        repeated = await service.repeated_keys()
        self._keys = keys
        self._show(repeated)
        self.words.setText(trouble or _words(len(keys)))

    def _show(self, repeated: Sequence[RepeatedKey]) -> None:
        self.table.show_rows(
            [
                (each.key, (Cell(each.key), Cell(each.value), Cell(str(each.line), each.line)))
                for each in self._keys
            ]
        )
        self._block.setVisible(bool(self._keys))
        self.repeated.setText("\n".join(map(_repeated_words, repeated)))
        self._warning.setVisible(bool(repeated))

    def _open_folder(self) -> None:
        folder = str(self.context.services.paths.home)
        QDesktopServices.openUrl(QUrl.fromLocalFile(folder))

    def _arrange(self) -> None:
        self.column.addWidget(heading(self.tr("Keys without a field")))
        self.column.addWidget(self.words)
        self._warning = Block(self.context.theme)
        self._warning.column.addWidget(LeadingLabel(self.tr("Some keys appear more than once.")))
        self._warning.column.addWidget(self.repeated)
        self._warning.hide()
        self._block = Block(self.context.theme)
        self._block.column.setContentsMargins(SPACE_8, SPACE_4, SPACE_8, SPACE_8)
        self._block.column.addWidget(self.table)
        self._block.hide()
        self.folder.setAutoDefault(False)
        self.folder.clicked.connect(self._open_folder)
        row = QHBoxLayout()
        row.addWidget(self.folder)
        row.addStretch(1)
        self.column.addWidget(self._warning)
        self.column.addWidget(self._block)
        self.column.addLayout(row)
        self.table.sort_first_by(2)


def _words(count: int) -> str:
    if not count:
        return "Every key of config.yaml has a field on one of these pages."
    if count == 1:
        return (
            "One key of config.yaml has no field here: it belongs to “hermes” or has to be "
            "edited by hand. It is left unchanged."
        )
    return (
        f"{count} keys of config.yaml have no field here: they belong to “hermes” or have to "
        "be edited by hand. They are left unchanged."
    )


def _repeated_words(each: RepeatedKey) -> str:
    *others, last = each.lines
    before = ", ".join(map(str, others))
    noun = "line" if len(others) == 1 else "lines"
    return f"{each.key}: line {last} is used, not {noun} {before}."
