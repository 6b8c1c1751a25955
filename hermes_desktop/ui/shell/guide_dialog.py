"""The user guide in a window of its own: its chapters on the left, one of them on the right."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QHBoxLayout,
    QListWidget,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.core.files.shipped_files import shipped_path
from hermes_desktop.ui.chat.link_confirmation import ask_to_open
from hermes_desktop.ui.transcript.blocks.body import Body, Segment
from hermes_desktop.ui.transcript.blocks.code_block import CodeSegment
from hermes_desktop.ui.transcript.blocks.markdown_blocks import parse_markdown
from hermes_desktop.ui.widgets.centered_column import MAX_WIDTH
from hermes_desktop.ui.widgets.control_corrections import remove_icons
from hermes_desktop.ui.widgets.look import Look
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, SPACE_16, SPACE_24

if TYPE_CHECKING:
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots
    from hermes_desktop.ui.widgets.theme import Theme

_SIZE, _LEAST = QSize(980, 680), QSize(560, 360)
_LIST_SIDES = 2 * SPACE_16
_CHAPTER = re.compile(r"^## +(.+)\n", re.MULTILINE)
_TITLE = re.compile(r"\A# +(.+)\n")
_PICTURE = re.compile(r"^!\[.*\]\(.*\)\n+", re.MULTILINE)
_LINK_TO_FILE = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of the guide, in Markdown, with its heading."""

    title: str
    text: str


def guide_chapters(text: str) -> tuple[Chapter, ...]:
    """Split the guide at its headings of the second level.

    Pictures are left out, and links to other files become plain words: neither is shipped.

    Args:
        text: Markdown that begins with a heading of the first level.
    """
    plain = _LINK_TO_FILE.sub(r"\1", _PICTURE.sub("", text))
    first, *others = _CHAPTER.split(plain)
    title = _TITLE.match(first)
    heads = [title[1] if title else "", *others[::2]]
    bodies = [_TITLE.sub("", first), *others[1::2]]
    return tuple(
        Chapter(head, f"# {head}\n{body}") for head, body in zip(heads, bodies, strict=True)
    )


class GuidePage(QScrollArea):
    """Shows one chapter, in a column of at most 760 pixels.

    Signals:
        link_wanted: A link was clicked; holds its address.
    """

    link_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._holder = QWidget()
        self._body = Body(Look.of(theme.palette), theme.palette.text, self._holder)
        self._holder.setBackgroundRole(QPalette.ColorRole.Base)
        self.viewport().setBackgroundRole(QPalette.ColorRole.Base)
        self.setWidget(self._holder)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        make_slim(self, theme)
        self.verticalScrollBar().setSingleStep(24)
        theme.changed.connect(self._restyle)

    @property
    def body(self) -> Body:
        """The content of the chapter."""
        return self._body

    def show_chapter(self, chapter: Chapter) -> None:
        """Show a chapter from its beginning. It is short, so it is parsed here."""
        old = self._body
        self._body = Body(Look.of(self._theme.palette), self._theme.palette.text, self._holder)
        self._body.segment_made.connect(self._segment_made)
        self._body.height_changed.connect(self._fit)
        for block in parse_markdown(chapter.text):
            self._body.append(block)
        self._body.show()
        old.hide()
        old.deleteLater()
        self.setAccessibleName(chapter.title)
        self.verticalScrollBar().setValue(0)
        self._fit()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _segment_made(self, segment: Segment) -> None:
        if not isinstance(segment, CodeSegment):
            segment.text.link_wanted.connect(self.link_wanted)

    def _fit(self) -> None:
        whole = self.viewport().width()
        width = max(min(whole - 2 * SPACE_24, MAX_WIDTH), 1)
        height = self._body.fit(width)
        self._body.setGeometry((whole - width) // 2, SPACE_24, width, height)
        self._holder.resize(whole, height + 2 * SPACE_24)

    def _restyle(self) -> None:
        self._body.restyle(Look.of(self._theme.palette), self._theme.palette.text)
        self._fit()


class GuideDialog(QDialog):
    """The guide, which stays open beside the window. Opened with ``show()``; Esc closes it.

    Attributes:
        list: The chapters.
        page: The chosen chapter.

    Args:
        theme: Colors.
        slots: Asks before a link is opened.
        parent: The window.
    """

    def __init__(self, theme: Theme, slots: AsyncSlots, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._slots = slots
        self._chapters = guide_chapters(shipped_path("docs", "guide.md").read_text("utf-8"))
        self.setWindowTitle(self.tr("User guide"))
        self.setMinimumSize(_LEAST)
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Chapters"))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setSpacing(2)
        self.list.viewport().setBackgroundRole(QPalette.ColorRole.Window)
        self.list.addItems([each.title for each in self._chapters])
        self.list.setFixedWidth(self.list.sizeHintForColumn(0) + _LIST_SIDES)
        make_slim(self.list, theme, ground="window")
        self.page = GuidePage(theme)
        self.page.link_wanted.connect(self._open_link)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        remove_icons(buttons)
        buttons.rejected.connect(self.reject)
        row = QHBoxLayout()
        row.setSpacing(SPACE_8)
        row.addWidget(self.list)
        row.addWidget(self.page, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_12, SPACE_12, SPACE_12, SPACE_12)
        column.setSpacing(SPACE_12)
        column.addLayout(row, 1)
        column.addWidget(buttons)
        self.resize(_SIZE)
        self.list.currentRowChanged.connect(self._show)
        self.list.setCurrentRow(0)
        self.list.setFocus()

    def _show(self, row: int) -> None:
        self.page.show_chapter(self._chapters[row])

    def _open_link(self, address: str) -> None:
        asking = ask_to_open(
            self._slots, address, self, lambda url: QDesktopServices.openUrl(QUrl(url))
        )
        self._slots.start(asking, doing=self.tr("Opening the link"))
