"""Collapsible sections that expand in place: tool calls and the model's reasoning."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QMargins, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QPushButton, QWidget
from typing_extensions import override

from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget, Stack
from hermes_desktop.ui.widgets.look import Look, scaled, tint
from hermes_desktop.ui.widgets.row_painting import draw_text
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import RADIUS_BUTTON, Palette

_LEAST_LINE = 28
_ARROW = 18
_GAP = 10


Mark = Literal["", "ok", "failed", "running", "asked"]
_SIGNS: dict[Mark, str] = {"": "", "ok": "✓", "failed": "✗", "running": "●", "asked": "○"}


@dataclass(frozen=True, slots=True)
class FoldWords:
    """The content of a section's line.

    Attributes:
        name: In semibold.
        subject: In the secondary color, elided where there is no space.
        note: More about the state, elided before the end is; the subject gives way first.
        end: Text at the end, e.g. a duration.
        mark: The state, after the end.
        spoken: All of it as text for screen readers.
        tip: Tool tip with what does not fit.
    """

    name: str
    subject: str = ""
    note: str = ""
    end: str = ""
    mark: Mark = ""
    spoken: str = ""
    tip: str = ""


class FoldButton(QAbstractButton):
    """The line itself: a toggle button with an arrow."""

    def __init__(self, words: FoldWords, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._look = look
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.toggled.connect(self._name)
        self._name()

    @property
    def words(self) -> FoldWords:
        """The content of the line."""
        return self._words

    def set_words(self, words: FoldWords) -> None:
        """Replace the content of the line."""
        if words != self._words:
            self._words = words
            self._name()
            self.update()

    @property
    def line_height(self) -> int:
        """The height of the line in pixels."""
        return max(_LEAST_LINE, QFontMetrics(self._look.caption_font).height() + 4)

    def _name(self) -> None:
        state = "expanded" if self.isChecked() else "collapsed"
        self.setAccessibleName(f"{self._words.spoken or self._words.name}, {state}")
        self.setToolTip(self._words.tip)

    @override
    def sizeHint(self) -> QSize:
        return QSize(320, self.line_height)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = self._look.palette
        if self.underMouse() or self.hasFocus():
            painter.setPen(QColor(colours.accent) if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours.hover))
            box = self.rect().adjusted(1, 1, -1, -1)
            painter.drawRoundedRect(box, RADIUS_BUTTON, RADIUS_BUTTON)
        painter.setPen(QColor(colours.secondary_text))
        right_to_left = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        arrow = "▾" if self.isChecked() else ("◂" if right_to_left else "▸")
        x = 6
        self._draw(painter, self.font(), colours.secondary_text, arrow, x, _ARROW)
        x += _ARROW
        for font, colour, text in self._pieces():
            room = self.width() - x - 6
            if room <= 0:
                break
            x += self._draw(painter, font, colour, text, x, room) + _GAP
        painter.end()

    def _pieces(self) -> list[tuple[QFont, str, str]]:
        """Return font, color and text of each piece; the subject is elided to fit the end."""
        colours = self._look.palette
        caption = self._look.caption_font
        name = scaled(caption, 1.0, weight=QFont.Weight.DemiBold)
        mark = self._words.mark
        waits = mark == "asked"
        quiet = colours.warning if waits else colours.secondary_text
        end = [(caption, quiet, self._words.end)] if self._words.end else []
        if mark:
            end.append((name, _mark_colour(mark, colours), _SIGNS[mark]))
        taken = QFontMetrics(name).horizontalAdvance(self._words.name) + _ARROW + 12 + _GAP
        for font, _, text in end:
            taken += QFontMetrics(font).horizontalAdvance(text) + _GAP
        metrics = QFontMetrics(caption)
        room = max(self.width() - taken - _GAP, 0)
        note = metrics.elidedText(self._words.note, Qt.TextElideMode.ElideRight, room)
        if note:
            room = max(room - metrics.horizontalAdvance(note) - _GAP, 0)
        subject = metrics.elidedText(self._words.subject, Qt.TextElideMode.ElideRight, room)
        pieces = [(name, colours.text, self._words.name)]
        pieces += [(caption, colours.secondary_text, text) for text in (subject, note) if text]
        return pieces + end

    def _draw(
        self, painter: QPainter, font: QFont, colour: str, text: str, x: int, room: int
    ) -> int:
        """Draw one piece from the leading side and return its width."""
        width = min(QFontMetrics(font).horizontalAdvance(text), room)
        left = x
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            left = self.width() - x - width
        painter.setFont(font)
        painter.setPen(QColor(colour))
        area = QRect(left, 0, width + 2, self.height())
        draw_text(painter, area, text, Qt.LayoutDirection.LeftToRight)  # already mirrored
        return width


def _mark_colour(mark: Mark, colours: Palette) -> str:
    known = {"ok": colours.ok, "failed": colours.error, "asked": colours.warning}
    return known.get(mark, colours.accent)


class ButtonRow(HeightForWidthWidget):
    """A section's line as a row of a stack, with room for one more button at its end."""

    def __init__(self, words: FoldWords, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.button = FoldButton(words, look, self)
        self.extra: QAbstractButton | None = None
        self.setFocusProxy(self.button)

    @override
    def fit(self, width: int) -> int:
        taken, high = 0, self.button.line_height
        if self.extra is not None and not self.extra.isHidden():
            size = self.extra.sizeHint()
            high = max(high, size.height())
            taken = min(size.width() + _GAP, width)
            left = 0 if self.isRightToLeft() else width - size.width()
            top = (high - size.height()) // 2
            self.extra.setGeometry(left, top, size.width(), size.height())
        start = taken if self.isRightToLeft() else 0
        self.button.setGeometry(start, 0, width - taken, high)
        return high


class CollapsibleSection(Stack):
    """A line and, once it was expanded, the content below it.

    Args:
        words: The line.
        look: Colors and fonts.
        contents: Called when first expanded; its widgets are shown below the line.
        parent: The parent widget.
    """

    def __init__(
        self,
        words: FoldWords,
        look: Look,
        contents: Callable[[], list[HeightForWidthWidget]] = list,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._contents = contents
        self.look = look
        self._inside = Stack()
        self._inside.set_margins(QMargins(_ARROW + 6, 2, 0, 6))
        self._filled = False
        self._line = ButtonRow(words, look)
        self.add_row(self._line)
        self.add_row(self._inside, gap=2)
        self._inside.hide()
        self._line.button.toggled.connect(self._toggle)

    @property
    def button(self) -> FoldButton:
        """The line's button, for tests and for expanding the section by program."""
        return self._line.button

    @property
    def line(self) -> ButtonRow:
        """The line as a row."""
        return self._line

    @property
    def inside(self) -> Stack:
        """The content below the line."""
        return self._inside

    def renew(self) -> None:
        """Rebuild the content below the line, now or when it is next expanded."""
        if self._filled:
            for row in self._inside.rows:
                self._inside.remove_row(row)
            self._filled = False
            if self.button.isChecked():
                self._fill()
                self.refit()

    def make_contents(self) -> list[HeightForWidthWidget]:
        """Return the widgets below the line.

        Subclasses override it, because passing their own method would create a reference cycle.
        """
        return self._contents()

    def _fill(self) -> None:
        self._filled = True
        for row in self.make_contents():
            self._inside.add_row(row, gap=8)

    def _toggle(self, opened: bool) -> None:  # noqa: FBT001 - a slot
        if opened and not self._filled:
            self._fill()
        self._inside.setVisible(opened)
        self.refit()


class LabelRow(HeightForWidthWidget):
    """Plain text over the whole width.

    Args:
        text: The text.
        font: Its font.
        colour: Returns its color from a palette.
        look: Provides the palette.
        parent: The parent widget.
    """

    def __init__(
        self,
        text: str,
        font: QFont,
        colour: Callable[[Palette], str],
        look: Look,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._colour = colour
        self.label = LeadingLabel(text, self)
        self.label.setFont(font)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.restyle(look)

    def restyle(self, look: Look) -> None:
        """Apply other colors."""
        self.look = look
        tint(self.label, self._colour(look.palette))

    @override
    def fit(self, width: int) -> int:
        height = max(self.label.heightForWidth(width), self.label.minimumSizeHint().height())
        self.label.setGeometry(0, 0, width, height)
        return height


def caption(text: str, look: Look) -> LabelRow:
    """Return a row of small text in the secondary color."""
    return LabelRow(text, look.caption_font, lambda palette: palette.secondary_text, look)


class ActionRow(HeightForWidthWidget):
    """One or more push buttons at the leading side."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons: list[QPushButton] = []
        self.button = self.add(text)
        self.setFocusProxy(self.button)

    def add(self, text: str) -> QPushButton:
        """Add a button after the others."""
        button = QPushButton(text, self)
        self.buttons.append(button)
        return button

    @override
    def fit(self, width: int) -> int:
        right_to_left = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        x = high = 0
        for button in self.buttons:
            size = button.sizeHint()
            wide = min(size.width(), width)
            button.setGeometry(width - x - wide if right_to_left else x, 0, wide, size.height())
            x += wide + _GAP
            high = max(high, size.height())
        return high
