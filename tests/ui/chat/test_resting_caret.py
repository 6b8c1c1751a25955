"""The caret of an idle text field stands still, and blinks again with the next key."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from hermes_desktop.ui.chat.message_input import MessageInput
from hermes_desktop.ui.widgets.control_corrections import RestingCaret


@pytest.fixture
def blink_ms(qapp: QApplication) -> Iterator[int]:
    before = qapp.cursorFlashTime()
    qapp.setCursorFlashTime(1_000)
    yield 1_000
    qapp.setCursorFlashTime(before)


def test_the_caret_rests_until_the_next_key(qtbot, qapp: QApplication, blink_ms: int) -> None:
    field = MessageInput()
    qtbot.addWidget(field)
    caret = field.findChild(RestingCaret)
    caret._rest.setInterval(1)
    field.show()
    field.activateWindow()
    field.setFocus()
    qtbot.waitUntil(lambda: caret._blink_ms > 0, timeout=60_000)
    assert qapp.cursorFlashTime() == 0
    caret._rest.setInterval(3_600_000)
    qtbot.keyClick(field, Qt.Key.Key_A)
    assert caret._blink_ms == 0
    assert qapp.cursorFlashTime() == blink_ms


def test_other_fields_blink(qtbot, qapp: QApplication, blink_ms: int) -> None:
    field, other = MessageInput(), MessageInput()
    for each in (field, other):
        qtbot.addWidget(each)
        each.show()
    caret = field.findChild(RestingCaret)
    caret._rest.setInterval(1)
    field.activateWindow()
    field.setFocus()
    qtbot.waitUntil(lambda: caret._blink_ms > 0, timeout=60_000)
    field.hide()
    assert qapp.cursorFlashTime() == blink_ms
