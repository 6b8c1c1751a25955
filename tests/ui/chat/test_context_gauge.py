"""How full a session is, at the foot of the window: nothing of it is cut."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont

from hermes_desktop.core.events import ContextUsed
from hermes_desktop.ui.chat.header.context_gauge import ContextGauge
from hermes_desktop.ui.widgets.theme import SPACE_8, Theme


@pytest.mark.parametrize("size", [8.3, 10.0, 11.7, 17.9])
@pytest.mark.parametrize("length", [None, 32_000, 1_000_000])
def test_the_words_have_room_in_its_own_size(theme: Theme, size: float, length: int | None) -> None:
    gauge = ContextGauge(theme)
    font = QFont(gauge.font())
    font.setPointSizeF(size)
    gauge.setFont(font)
    for used in (999, 1_234, 15_678, 31_999):
        gauge.show_used(ContextUsed("s", used, length))
        room = gauge.sizeHint().width() - 2 * SPACE_8
        cut = gauge.fontMetrics().elidedText(gauge.words, Qt.TextElideMode.ElideRight, room)
        assert cut == gauge.words
    gauge.deleteLater()
