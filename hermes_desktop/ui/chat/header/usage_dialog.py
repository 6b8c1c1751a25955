"""The usage of a session by model: text, figures, and a bar for each to compare them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QMargins, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.ui.chat.header.context_text import short_tokens
from hermes_desktop.ui.chat.header.usage_text import share_words, total_words
from hermes_desktop.ui.widgets.control_corrections import remove_icons
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.section_parts import LeadingLabel, SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_16, SPACE_24, Theme

if TYPE_CHECKING:
    from hermes_desktop.core.usage import ModelUsage
    from hermes_desktop.services.agents.session_figures import SessionStatistics, SessionUsage
    from hermes_desktop.state.records.records import SessionSummary

_BAR = 6
_WIDTH = 520
_LEAST = 320
_LETTERS = 80
_MOST_HEIGHT = 420
_BAR_ROOM = 16
"""Width of the scroll bar, including a gap before it."""


class UsageBar(QWidget):
    """A bar for a share; its figures are shown beside it."""

    def __init__(self, theme: Theme, share: float, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.share = min(max(share, 0.0), 1.0)
        self.setFixedHeight(_BAR)
        theme.changed.connect(self.update)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        colours = self._theme.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.separator))
        painter.drawRoundedRect(self.rect(), _BAR / 2, _BAR / 2)
        wide = max(round(self.width() * self.share), _BAR)
        left = self.width() - wide if self.isRightToLeft() else 0
        painter.setBrush(QColor(colours.accent))
        painter.drawRoundedRect(left, 0, wide, _BAR, _BAR / 2, _BAR / 2)
        painter.end()


class ModelLine(QWidget):
    """One model: its name, its tokens, its bar, and the details in one line."""

    def __init__(
        self, theme: Theme, usage: ModelUsage, share: float, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        name, tokens = LeadingLabel(usage.model or self.tr("unknown model")), QLabel()
        tokens.setTextFormat(Qt.TextFormat.PlainText)
        font = QFont(name.font())
        font.setWeight(QFont.Weight.DemiBold)
        name.setFont(font)
        tokens.setText(self.tr("{} tokens").format(short_tokens(usage.tokens)))
        self.words = SecondaryLabel(theme, share_words(usage))
        self.bar = UsageBar(theme, share)
        head = QHBoxLayout()
        head.setSpacing(SPACE_8)
        head.addWidget(name, 1)
        head.addWidget(tokens, 0, Qt.AlignmentFlag.AlignBottom)
        column = QVBoxLayout(self)
        column.setContentsMargins(QMargins())
        column.setSpacing(SPACE_4)
        column.addLayout(head)
        column.addWidget(self.bar)
        column.addWidget(self.words)
        self.setAccessibleName(f"{name.text()}: {tokens.text()}. {self.words.text()}")


class UsageDialog(QDialog):
    """A dialog with a session's usage as read once; it is not updated.

    Args:
        theme: Colors.
        title: The session's title.
        usage: The usage.
        parent: The widget whose window the dialog belongs to.
    """

    def __init__(self, theme: Theme, title: str, usage: SessionUsage, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Usage"))
        heading = LeadingLabel(title)
        font = QFont(heading.font())
        font.setWeight(QFont.Weight.DemiBold)
        heading.setFont(font)
        self.total = SecondaryLabel(theme, total_words(usage.models, usage.parts))
        most = max((each.tokens for each in usage.models), default=0)
        self.lines = [
            ModelLine(theme, each, each.tokens / most if most else 0.0) for each in usage.models
        ]
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        remove_icons(buttons)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(QMargins(SPACE_24, SPACE_16, SPACE_24, SPACE_16))
        column.setSpacing(SPACE_8)
        column.addWidget(heading)
        column.addWidget(self.total)
        if self.lines:
            column.addWidget(self._scrolled(theme), 1)
        column.addWidget(buttons)
        wide = max(_WIDTH, _LETTERS * self.fontMetrics().averageCharWidth())
        self.setMinimumWidth(min(wide, max(parent.window().width() - 2 * SPACE_24, _LEAST)))
        self._fit()

    def _fit(self) -> None:
        """Fit the height to the lines at the dialog's width; many lines scroll."""
        layout = self.layout()
        if layout is None:
            return
        wide = self.minimumWidth()
        if self.lines:
            inner = wide - 2 * SPACE_24
            high = self._inside.totalHeightForWidth(inner)
            if high > _MOST_HEIGHT:
                self._inside.setContentsMargins(QMargins(0, SPACE_8, _BAR_ROOM, SPACE_8))
            self._area.setFixedHeight(min(high, _MOST_HEIGHT))
        self.resize(wide, layout.totalHeightForWidth(wide))

    def _scrolled(self, theme: Theme) -> QScrollArea:
        inside = QWidget()
        column = self._inside = QVBoxLayout(inside)
        column.setContentsMargins(QMargins(0, SPACE_8, 0, SPACE_8))
        column.setSpacing(SPACE_16)
        for line in self.lines:
            column.addWidget(line)
        area = self._area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(inside)
        make_slim(area, theme)
        return area


async def show_usage(
    figures: SessionStatistics, session: SessionSummary, theme: Theme, parent: QWidget
) -> None:
    """Read the usage of a session and show it.

    Raises:
        StateError: The database cannot be read.
    """
    usage = await figures.usage(session.id)
    dialog = UsageDialog(theme, session.label, usage, parent)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
