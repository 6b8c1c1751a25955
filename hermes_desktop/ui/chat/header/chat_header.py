"""The header of the page: back button, title (click to rename), state, facts, and the folder."""

from typing import Literal

from PySide6.QtCore import QEvent, QMargins, QObject, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QKeyEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.ui.chat.header.workplace_widgets import FolderButton, HoldChip
from hermes_desktop.ui.widgets.centered_column import SIDE
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.resource_files import icon, icon_size
from hermes_desktop.ui.widgets.row_painting import draw_text
from hermes_desktop.ui.widgets.section_parts import ElidedLabel
from hermes_desktop.ui.widgets.theme import RADIUS_BUTTON, Theme

_TITLE_INSET = 6
"""Between the edge of the title's button and its text, which aligns with the messages."""

ChatState = Literal["", "live", "working", "asking", "queued"]
_WORDS: dict[ChatState, str] = {
    "": "",
    "live": "● live",
    "working": "● writing…",
    "asking": "○ waiting for your answer",
    "queued": "○ waiting",
}
_TIPS: dict[ChatState, str] = {
    "": "",
    "live": "Another program was active in this session a moment ago.",
    "working": "A reply is being written.",
    "asking": "The assistant is waiting for your answer.",
    "queued": "A message is waiting for its turn.",
}


class TitleButton(QAbstractButton):
    """The title as clickable text."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.italic = False
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    @override
    def sizeHint(self) -> QSize:
        return QSize(200, QFontMetrics(self._face()).height() + 8)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = self._theme.palette
        font = self._face()
        metrics = QFontMetrics(font)
        text = metrics.elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width() - 12)
        if self.isEnabled() and (self.underMouse() or self.hasFocus()):
            painter.setPen(QColor(colours.accent) if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours.hover))
            width = min(metrics.horizontalAdvance(text) + 12, self.width() - 1)
            left = self.width() - width - 1 if self.isRightToLeft() else 0
            painter.drawRoundedRect(left, 0, width, self.height() - 1, RADIUS_BUTTON, RADIUS_BUTTON)
        painter.setFont(font)
        painter.setPen(QColor(colours.text))
        place = self.rect().adjusted(_TITLE_INSET, 0, -_TITLE_INSET, 0)
        draw_text(painter, place, text, self.layoutDirection())
        painter.end()

    def _face(self) -> QFont:
        font = QFont(self.font())
        font.setWeight(QFont.Weight.DemiBold)
        font.setItalic(self.italic)
        return font


class ChatHeader(QWidget):
    """The header of a session's page.

    Attributes:
        folder: The working folder; its controller fills it.
        hold: How commands are held, likewise.

    Signals:
        renamed: The user entered another title; not stored yet.
        back_wanted: Return to the list.
        menu_wanted: Open the menu of the session; holds the global point for the menu.
    """

    renamed = Signal(str)
    back_wanted = Signal()
    menu_wanted = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._fixed = ""
        self._theme = theme
        self._state: ChatState = ""
        self.back = QToolButton(self)
        self.back.setAutoRaise(True)
        self.back.setIconSize(icon_size())
        self.back.setToolTip(self.tr("Back to the sessions"))
        self.back.setAccessibleName(self.tr("Back to the sessions"))
        self.back.hide()
        self.more = QToolButton(self)
        self.more.setAutoRaise(True)
        self.more.setIconSize(icon_size())
        self.more.setToolTip(self.tr("Session actions"))
        self.more.setAccessibleName(self.tr("Session menu"))
        self.title = TitleButton(theme, self)
        self.edit = QLineEdit(self)
        self.edit.setAccessibleName(self.tr("Session title"))
        self.edit.setMaxLength(200)
        self.facts = ElidedLabel(parent=self)
        self.folder = FolderButton(theme, self)
        self.hold = HoldChip(theme, self)
        self.state = QLabel(self)
        self.state.setTextFormat(Qt.TextFormat.PlainText)
        self._titles = QStackedLayout()
        self._arrange()
        self._connect()
        self._dress()
        self.set_words("", "", renameable=False)

    def set_words(
        self, title: str, facts: str, *, renameable: bool, italic: bool = False, tip: str = ""
    ) -> None:
        """Show the title and the facts of a session.

        Args:
            title: The first line.
            facts: The second line.
            renameable: Whether there is a session that can be renamed and has a menu.
            italic: Whether the title is a substitute for a missing one.
            tip: More details about the facts, for the tool tip.
        """
        self.title.setText(title)
        self.title.italic = italic
        self.title.setEnabled(renameable)
        self.more.setVisible(renameable)
        self.title.setAccessibleName(title)
        self.title.setToolTip(self.tr("Rename this session") if renameable else "")
        if renameable and self._fixed:
            self.title.setEnabled(False)
            self.title.setToolTip(self._fixed)
        self.title.update()
        self.facts.setText(facts)
        self.facts.setToolTip("\n".join(part for part in (facts, tip) if part))

    def fix_title(self, reason: str) -> None:
        """Disable renaming for this reason; "" enables it again."""
        self._fixed = reason

    def set_state(self, state: ChatState) -> None:
        """Show the activity in the session."""
        self._state = state
        self.state.setText(self.tr(_WORDS[state]) if state else "")
        self.state.setToolTip(self.tr(_TIPS[state]) if state else "")
        self.state.setAccessibleName(self.state.toolTip())
        self._dress()

    @property
    def shown_state(self) -> ChatState:
        """The state that is shown."""
        return self._state

    def begin_rename(self) -> None:
        """Edit the title in place: Enter accepts, Esc cancels."""
        if self.title.isEnabled():
            self.edit.setText("" if self.title.italic else self.title.text())
            self.edit.setPlaceholderText(self.title.text())
            self._titles.setCurrentWidget(self.edit)
            self.edit.setFocus()
            self.edit.selectAll()

    def end_rename(self) -> None:
        """Show the title again."""
        self._titles.setCurrentWidget(self.title)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle Esc in the title field: end the edit and nothing else in the window."""
        if watched is self.edit and isinstance(event, QKeyEvent):
            if event.key() == Qt.Key.Key_Escape:
                if event.type() == QEvent.Type.ShortcutOverride:
                    event.accept()
                    return True
                if event.type() == QEvent.Type.KeyPress:
                    self.end_rename()
                    return True
        elif watched is self.edit and event.type() == QEvent.Type.FocusOut:
            self.end_rename()
        return False

    def _open_menu(self) -> None:
        self.menu_wanted.emit(self.more.mapToGlobal(self.more.rect().bottomLeft()))

    def _take_title(self) -> None:
        changed = self.edit.text() != self.title.text()
        self.end_rename()
        self.title.setFocus()
        if changed:
            self.renamed.emit(self.edit.text())

    def _arrange(self) -> None:
        self._titles.addWidget(self.title)
        self._titles.addWidget(self.edit)
        first = QHBoxLayout()
        first.setSpacing(8)
        first.addLayout(self._titles, 1)
        first.addWidget(self.state)
        lines = QVBoxLayout()
        lines.setSpacing(0)
        lines.addLayout(first)
        second = QHBoxLayout()
        second.setContentsMargins(QMargins(_TITLE_INSET, 0, 0, 0))
        second.setSpacing(8)
        second.addWidget(self.facts, 1)
        second.addWidget(self.folder)
        second.addWidget(self.hold)
        lines.addLayout(second)
        row = QHBoxLayout(self)
        row.setContentsMargins(QMargins(SIDE - _TITLE_INSET, 8, SIDE, 9))
        row.addWidget(self.back)
        row.addLayout(lines, 1)
        row.addWidget(self.more, 0, Qt.AlignmentFlag.AlignTop)  # beside title and state

    def _connect(self) -> None:
        self.back.clicked.connect(self.back_wanted)
        self.more.clicked.connect(self._open_menu)
        self.title.clicked.connect(self.begin_rename)
        self.edit.returnPressed.connect(self._take_title)
        self.edit.installEventFilter(self)
        self._theme.changed.connect(self._dress)

    def _dress(self) -> None:
        colours = self._theme.palette
        self.back.setIcon(icon("back", colours))
        self.more.setIcon(icon("more", colours))
        tint(self.facts, colours.secondary_text)
        state = {"live": colours.ok, "asking": colours.warning}.get(self._state, colours.accent)
        tint(self.state, state)
        self.title.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = self._theme.palette
        painter.fillRect(self.rect(), QColor(colours.base))
        painter.fillRect(0, self.height() - 1, self.width(), 1, QColor(colours.separator))
        painter.end()
