"""The placeholder page shown when there is no conversation."""

from PySide6.QtCore import QMargins, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.ui.widgets.look import scaled, tint
from hermes_desktop.ui.widgets.resource_files import pixmap
from hermes_desktop.ui.widgets.theme import Theme

_MARK = 44
_WIDTH = 380
_SIDE, _ROOM, _GAP = 16, 24, 8


class EmptyPage(QWidget):
    """A logo, a title, a sentence, and a caption in the secondary color.

    Where a request sheet takes the space, parts that do not fit as a whole are hidden, the logo
    first.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.mark = QLabel(self)
        self.title = QLabel(self)
        self.words = QLabel(self)
        self.caption = QLabel(self)
        holder = QWidget(self)
        holder.setFixedWidth(_WIDTH)
        row = QHBoxLayout(self)
        row.setContentsMargins(QMargins())
        row.addStretch(1)
        row.addWidget(holder)
        row.addStretch(1)
        column = QVBoxLayout(holder)
        column.setContentsMargins(QMargins(_SIDE, _ROOM, _SIDE, _ROOM))
        column.setSpacing(_GAP)
        column.addStretch(2)
        for label in (self.mark, self.title, self.words, self.caption):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(label is not self.mark)
            column.addWidget(label)
        column.addStretch(3)
        self.title.setFont(scaled(self.font(), 1.25, weight=QFont.Weight.DemiBold))
        theme.changed.connect(self._dress)
        self._dress()

    def say(self, title: str, words: str, caption: str = "") -> None:
        """Replace the texts."""
        for label, text in ((self.title, title), (self.words, words), (self.caption, caption)):
            label.setText(text)
        self._fit()

    def say_nothing_open(self) -> None:
        """Show that no session is open."""
        self.say(
            self.tr("No session is open"),
            self.tr("Choose one on the left to read it, or write below to start a new one."),
        )

    def say_new(self, model: str, folder: str = "") -> None:
        """Show a chat that has not started.

        Args:
            model: The model that would answer, "" if unknown.
            folder: The folder it would work in, if none has been chosen yet; else "".
        """
        lines = []
        if model:
            lines.append(self.tr("{model} answers.").format(model=model))
        if folder:
            words = self.tr("It works in {folder}. Choose another folder above.")
            lines.append(words.format(folder=folder))
        self.say(
            self.tr("Start a session"),
            self.tr("Ask a question or assign a task. The session is kept in your history."),
            "\n".join(lines),
        )

    def say_new_elsewhere(self) -> None:
        """Show that new conversations are started in another program."""
        self.say(
            self.tr("New chats start in hermes"),
            self.tr("Here you can read, search and export what is in your history."),
        )

    def say_gone(self) -> None:
        """Show that another program deleted the open session."""
        self.say(
            self.tr("This session was deleted"),
            self.tr(
                "Another program deleted it. Your text is kept; sending it starts a new session."
            ),
        )

    def silent(self) -> "EmptyPage":
        """Show that the open session has no messages, and return the page."""
        self.say(
            self.tr("No messages yet"),
            self.tr("Write the first message below."),
        )
        return self

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Show the most important parts that fit."""
        room = self.height() - 2 * _ROOM
        for label in (self.title, self.words, self.caption, self.mark):
            high = label.heightForWidth(_WIDTH - 2 * _SIDE) if label.wordWrap() else _MARK
            fits = bool(label is self.mark or label.text()) and high <= room
            label.setVisible(fits)
            if fits:
                room -= high + _GAP
            elif label.text():
                room = 0  # hide everything less important

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(QRectF(self.rect()), QColor(self._theme.palette.base))
        painter.end()

    def _dress(self) -> None:
        colours = self._theme.palette
        ratio = self.devicePixelRatioF()
        self.mark.setPixmap(pixmap("mark", colours.accent, _MARK, ratio))
        tint(self.words, colours.secondary_text)
        tint(self.caption, colours.secondary_text)
        self.update()
