"""The strip about other versions of this program: a release, an upgrade, a finished update."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.core.events import VersionsChanged
from hermes_desktop.ui.widgets.notice_presenter import level_colour, paint_strip
from hermes_desktop.ui.widgets.resource_files import icon, icon_size, pixmap
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_12, fixed_font
from hermes_desktop.ui.words.day_words import written_day
from hermes_desktop.ui.words.visible_text import visible

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from hermes_desktop.core.events import NewRelease
    from hermes_desktop.ui.widgets.theme import Theme

_FEWEST_LINES, _MOST_LINES = 3, 8
"""Lines of notes that are visible without scrolling."""


class UpdateStrip(QWidget):
    """Shows one matter at a time: an installed upgrade, a new release, or the version before.

    Signals:
        restart_wanted: Start the program again.
        page_wanted: Open the release page; carries its address.
        dismissed: The user closed the notice of a release; carries its version.
    """

    restart_wanted = Signal()
    page_wanted = Signal(str)
    dismissed = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._news = VersionsChanged("")
        self._closed: set[tuple[str, str]] = set()
        self._icon = QLabel()
        self.title = LeadingLabel()
        self.title.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.restart = QPushButton(self.tr("Restart now"))
        self.more = QPushButton(self.tr("What’s new"))
        self.more.setCheckable(True)
        self.page = QPushButton(self.tr("Release page…"))
        self.close_button = QToolButton()
        self.how = LeadingLabel()
        self.command = LeadingLabel()
        self.copy = QPushButton(self.tr("Copy"))
        self.notes = QPlainTextEdit()
        self._way = QWidget()
        self._dress_parts()
        self._arrange()
        self.restart.clicked.connect(self.restart_wanted)
        self.more.toggled.connect(self.notes.setVisible)
        self.page.clicked.connect(self._open_page)
        self.copy.clicked.connect(self._copy)
        self.close_button.clicked.connect(self._close)
        theme.changed.connect(self._colour)
        self.hide()

    def show_news(self, news: VersionsChanged) -> None:
        """Show the most important of what is known, unless the user closed that."""
        self._news = news
        kind, version = self._matter
        self.setVisible(bool(kind))
        for widget in (self.restart, self.more, self.page, self._way, self.notes):
            widget.hide()
        if kind == "installed":
            self.restart.show()
            self._say(
                self.tr("Version {new} is installed, but {old} is still running.").format(
                    new=version, old=news.running
                )
            )
        elif kind == "release" and news.release is not None:
            self._show_release(news.release)
        elif kind == "previous":
            self._say(
                self.tr("Hermes Desktop is now version {new}. Before, it was {old}.").format(
                    new=news.running, old=version
                )
            )
        self._colour()

    @property
    def _matter(self) -> tuple[str, str]:
        """What to show, with its version; two empty texts for nothing."""
        news = self._news
        release = "" if news.release is None else news.release.version
        # An upgrade that waits for its restart makes the notice of a release pointless.
        wanted = [("installed", news.installed)]
        if not news.installed:
            wanted += [("release", release), ("previous", news.previous)]
        return next((one for one in wanted if one[1] and one not in self._closed), ("", ""))

    def _show_release(self, release: NewRelease) -> None:
        self._say(
            self.tr("Hermes Desktop {version} was released on {day}.").format(
                version=release.version, day=written_day(release.date)
            )
        )
        self.notes.setPlainText(visible(release.notes))
        lines = min(max(self.notes.blockCount(), _FEWEST_LINES), _MOST_LINES)
        self.notes.setFixedHeight(lines * self.fontMetrics().lineSpacing() + SPACE_12)
        self.more.setChecked(False)
        self.more.setVisible(bool(release.notes))
        self.page.setVisible(bool(release.page))
        self.how.setText(release.update)
        self.command.setText(release.command)
        for widget in (self.command, self.copy):
            widget.setVisible(bool(release.command))
        self._way.show()

    def _say(self, words: str) -> None:
        self.title.setText(words)
        self.setAccessibleName(words)

    def _open_page(self) -> None:
        if self._news.release is not None:
            self.page_wanted.emit(self._news.release.page)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.command.text())

    def _close(self) -> None:
        kind, version = self._matter
        self._closed.add((kind, version))
        if kind == "release":
            self.dismissed.emit(version)
        self.show_news(self._news)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        paint_strip(self, self._theme.palette, "info")

    def _dress_parts(self) -> None:
        for button in (self.restart, self.more, self.page, self.copy):
            button.setAutoDefault(False)
        self.close_button.setAutoRaise(True)
        self.close_button.setIconSize(icon_size())
        self.close_button.setAccessibleName(self.tr("Dismiss"))
        self.close_button.setToolTip(self.tr("Close"))
        self.copy.setAccessibleName(self.tr("Copy the command"))
        selectable = (
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.title.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.command.setTextInteractionFlags(selectable)
        self.command.setFont(fixed_font())
        self.command.setAccessibleName(self.tr("Command that updates Hermes Desktop"))
        self.notes.setReadOnly(True)
        self.notes.setTabChangesFocus(True)
        self.notes.setAccessibleName(self.tr("What’s new"))
        make_slim(self.notes, self._theme)

    def _arrange(self) -> None:
        line = QHBoxLayout()
        line.setSpacing(SPACE_8)
        line.addWidget(self._icon)
        line.addWidget(self.title, 1)
        for widget in (self.restart, self.more, self.page, self.close_button):
            line.addWidget(widget)
        way = QHBoxLayout(self._way)
        way.setContentsMargins(0, 0, 0, 0)
        way.setSpacing(SPACE_8)
        words = QVBoxLayout()
        words.setSpacing(SPACE_4)
        words.addWidget(self.how)
        words.addWidget(self.command)
        way.addLayout(words, 1)
        way.addWidget(self.copy, 0, Qt.AlignmentFlag.AlignBottom)
        below = QVBoxLayout()
        below.setContentsMargins(icon_size().width() + SPACE_8, 0, SPACE_12, 0)
        below.setSpacing(SPACE_8)
        below.addWidget(self._way)
        below.addWidget(self.notes)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_12, SPACE_8, SPACE_8, SPACE_8)
        column.setSpacing(SPACE_8)
        column.addLayout(line)
        column.addLayout(below)

    def _colour(self) -> None:
        if self.isHidden():
            return
        palette = self._theme.palette
        edge, ratio = icon_size().width(), self.devicePixelRatioF()
        self._icon.setPixmap(pixmap("info", level_colour(palette, "info"), edge, ratio))
        self.close_button.setIcon(icon("close", palette))
        self.update()
