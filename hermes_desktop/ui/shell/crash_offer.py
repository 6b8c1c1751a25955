"""The offer to see the report of an earlier crash, and the dialog that shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPlainTextEdit, QVBoxLayout, QWidget

from hermes_desktop.core.events import Notice
from hermes_desktop.ui.widgets.control_corrections import remove_icons
from hermes_desktop.ui.widgets.section_parts import LeadingLabel, heading_label
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, SPACE_16, SPACE_24, fixed_font

if TYPE_CHECKING:
    from hermes_desktop.core.event_bus import EventBus
    from hermes_desktop.services.diagnosis.crash_reports import CrashReport
    from hermes_desktop.services.diagnosis.diagnostics import Diagnostics
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots

KEY = "crash-report"
_SIZE = QSize(680, 480)
_KEEP, _DELETE = int(QDialog.DialogCode.Accepted), 2


class CrashReportDialog(QDialog):
    """Shows a report. Closing it decides nothing; the report is then offered at the next start.

    Args:
        report: The report.
        parent: The window.
    """

    def __init__(self, report: CrashReport, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Crash report"))
        self.resize(_SIZE)
        self.text = QPlainTextEdit(report.text)
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setFont(fixed_font())
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setAccessibleName(self.tr("Report"))
        buttons = QDialogButtonBox()
        role = QDialogButtonBox.ButtonRole
        self.delete = buttons.addButton(self.tr("Delete report"), role.DestructiveRole)
        self.copy = buttons.addButton(self.tr("Copy"), role.ActionRole)
        self.keep = buttons.addButton(self.tr("Keep report"), role.AcceptRole)
        for button in (self.delete, self.copy):
            button.setAutoDefault(False)  # Enter must not delete
        self.keep.setDefault(True)
        self.keep.setFocus()
        remove_icons(buttons)
        self.keep.clicked.connect(self.accept)
        self.delete.clicked.connect(lambda: self.done(_DELETE))
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(report.text))
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_24, SPACE_24, SPACE_24, SPACE_16)
        column.setSpacing(SPACE_12)
        column.addWidget(heading_label(_title(report), share=1.1))
        about = self.tr(
            "The report stays on this computer and contains no messages, titles or secrets. If you "
            "report the bug, you can attach it."
        )
        column.addWidget(LeadingLabel(about))
        column.addWidget(self.text, 1)
        column.addSpacing(SPACE_8)
        column.addWidget(buttons)


class CrashOffer(QObject):
    """Offers the report of the last crash once per start, in the notice strip.

    Args:
        diagnosis: Has the report.
        bus: Receives the notices.
        slots: Runs coroutines.
        window: Parent of the dialog.
    """

    def __init__(
        self, diagnosis: Diagnostics, bus: EventBus, slots: AsyncSlots, window: QWidget
    ) -> None:
        super().__init__(window)
        self._diagnosis = diagnosis
        self._bus = bus
        self._slots = slots
        self._window = window

    def look(self) -> None:
        """Offer the report, if there is one."""
        self._slots.start(self._look(), doing=self.tr("Looking for a crash report"))

    def act_on(self, key: str) -> None:
        """Handle the button of a notice."""
        if key == KEY:
            self._slots.start(self._show(), doing=self.tr("Showing the crash report"))

    async def _look(self) -> None:
        report = await self._diagnosis.pending_crash()
        if report is not None:
            action = self.tr("Show report…")
            self._bus.publish(Notice("warning", _title(report), key=KEY, action=action))

    async def _show(self) -> None:
        report = await self._diagnosis.pending_crash()
        if report is None:
            return
        dialog = CrashReportDialog(report, self._window)
        answer = await self._slots.ask(dialog)
        dialog.deleteLater()
        if answer == _KEEP:
            kept = await self._diagnosis.keep_crash()
            self._bus.publish(Notice("ok", self.tr("The report was kept."), str(kept), key=KEY))
        elif answer == _DELETE:
            await self._diagnosis.delete_crash()


def _title(report: CrashReport) -> str:
    if report.ended_program:
        return "Hermes Desktop crashed when it was last used."
    return "Hermes Desktop had an internal error when it was last used."
