"""The notice above the pages while a settings file cannot be parsed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.core.text.capitals import capitalized
from hermes_desktop.ui.settings.fields.field_text import plain
from hermes_desktop.ui.widgets.notice_presenter import paint_strip
from hermes_desktop.ui.widgets.section_parts import LeadingLabel, heading_label
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_16, fixed_font

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hermes_desktop.core.errors import HermesError
    from hermes_desktop.services.settings.config_health import TextLine
    from hermes_desktop.ui.settings.fields.parts import SettingsContext

_LINE = re.compile(r"\bline (\d+)\b")


class ParseErrorNotice(QWidget):
    """The parse error with the lines around it, and buttons to recover. The file is never written.

    Args:
        context: Paths, workers and colors.

    Signals:
        retry_wanted: The user corrected the file; read it again.
        versions_wanted: The user wants to see earlier versions of the file.
    """

    retry_wanted = Signal()
    versions_wanted = Signal()

    def __init__(self, context: SettingsContext) -> None:
        super().__init__()
        self._context = context
        self.title = heading_label()
        self.detail = LeadingLabel()
        self.lines = QLabel()
        self.retry = QPushButton(self.tr("Read again"))
        self.folder = QPushButton(self.tr("Open folder"))
        self.versions = QPushButton(self.tr("Previous versions"))
        self._arrange()
        self.retry.clicked.connect(self.retry_wanted)
        self.folder.clicked.connect(self._open_folder)
        self.versions.clicked.connect(self.versions_wanted)
        context.theme.changed.connect(self.update)
        self.hide()

    def show_error(self, error: HermesError) -> None:
        """Show the error, and the lines around it as soon as they are read."""
        self.title.setText(error.title)
        kept = self.tr("Until it is corrected, settings cannot be changed here.")
        detail = error.detail.removeprefix(f"{self._file}, ")  # the title names the file
        detail = capitalized(detail)
        self.detail.setText(plain(" ".join(filter(None, (detail, error.hint, kept)))))
        self.lines.hide()
        ours = self._file.name in error.title
        self.versions.setVisible(ours)
        self.show()
        found = _LINE.search(error.detail)
        if ours and found is not None:
            reading = self._show_lines(int(found[1]))
            self._context.slots.start(reading, doing=self.tr("Reading the lines"))

    @property
    def _file(self) -> Path:
        return self._context.services.paths.config_yaml

    async def _show_lines(self, line: int) -> None:
        found = await self._context.services.settings.lines_around(line)
        self.lines.setText(_numbered(found, line))
        self.lines.setVisible(bool(found))

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._file.parent)))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        paint_strip(self, self._context.theme.palette, "error")
        painter = QPainter(self)
        painter.end()

    def _arrange(self) -> None:
        self.lines.setFont(fixed_font())
        self.lines.setAccessibleName(self.tr("The lines in question"))
        row = QHBoxLayout()
        row.setSpacing(SPACE_8)
        for button in (self.retry, self.folder, self.versions):
            button.setAutoDefault(False)
            row.addWidget(button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_16, SPACE_16, SPACE_16, SPACE_16)
        column.setSpacing(SPACE_8)
        for widget in (self.title, self.detail, self.lines):
            column.addWidget(widget)
        column.addLayout(row)


def _numbered(lines: Sequence[TextLine], marked: int) -> str:
    width = len(str(lines[-1].number)) if lines else 1
    return "\n".join(
        f"{'▸' if line.number == marked else ' '} {line.number:>{width}}  {line.text}"
        for line in lines
    )
