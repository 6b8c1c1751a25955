"""A button for an answer: its number and its wrapped text."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget
from typing_extensions import override

from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_12
from hermes_desktop.ui.words.visible_text import visible


class ChoiceButton(QPushButton):
    """A button whose text wraps.

    Args:
        number: Its number, from 1, which is also the key that chooses it.
        words: The answer, untrusted.
    """

    def __init__(self, number: int, words: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.number = QLabel(str(number))
        self.words = LeadingLabel(visible(words))
        for label in (self.number, self.words):
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_12, SPACE_4, SPACE_12, SPACE_4)
        row.setSpacing(SPACE_8)
        row.addWidget(self.number)
        row.addWidget(self.words, 1)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAutoDefault(False)
        self.setAccessibleName(f"{number}: {self.words.text()}")

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        wanted = layout.totalHeightForWidth(width) if layout is not None else 0
        return max(wanted, super().sizeHint().height())

    @override
    def sizeHint(self) -> QSize:
        layout = self.layout()
        wanted = layout.totalSizeHint() if layout is not None else QSize()
        return wanted.expandedTo(QSize(0, super().sizeHint().height()))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(80, super().sizeHint().height())
