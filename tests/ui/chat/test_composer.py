"""Where messages are written."""

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtWidgets import QApplication, QWidget

from hermes_desktop.services.hosting.desktop_chat import ChatReadiness
from hermes_desktop.ui.chat.composer import Composer
from hermes_desktop.ui.chat.message_input import MOST_LINES


@pytest.fixture
def composer(qtbot, theme) -> Composer:
    composer = Composer(theme)
    qtbot.addWidget(composer)
    composer.resize(700, 200)
    composer.show()
    qtbot.waitExposed(composer)
    return composer


def test_enter_sends_and_shift_enter_breaks(composer, qtbot) -> None:
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    qtbot.keyClicks(composer.field, "one")
    qtbot.keyClick(composer.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(composer.field, "two")
    assert sent == []
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    qtbot.keyClick(composer.field, Qt.Key.Key_Enter)
    assert sent == ["one\ntwo", "one\ntwo"]
    assert composer.text == "one\ntwo"  # it is cleared by whoever took it


def test_blank_messages_are_not_sent(composer, qtbot) -> None:
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    composer.set_text("  \n ")
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    assert sent == []
    assert not composer.send_button.isEnabled()


def test_an_input_method_that_is_composing_keeps_enter_for_itself(composer, qtbot) -> None:
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    composer.set_text("日本")
    QApplication.sendEvent(composer.field, QInputMethodEvent("にほん", []))
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    assert sent == []
    done = QInputMethodEvent("", [])
    done.setCommitString("語")
    QApplication.sendEvent(composer.field, done)
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    assert len(sent) == 1
    assert "語" in sent[0]


def test_paste_is_plain_text(composer) -> None:
    data = QMimeData()
    data.setHtml("<b>bold</b><img src='http://tracker.example/x.png'>")
    data.setText("bold")
    composer.field.insertFromMimeData(data)
    assert composer.text == "bold"
    picture = QMimeData()
    picture.setImageData(composer.grab().toImage())
    assert not composer.field.canInsertFromMimeData(picture)
    composer.field.insertFromMimeData(picture)
    assert composer.text == "bold"


def test_the_field_grows_to_eight_lines_and_then_scrolls(composer) -> None:
    heights = []
    for lines in (1, 2, 5, MOST_LINES, 30):
        composer.set_text("\n".join("x" for _ in range(lines)))
        heights.append(composer.field.height())
    assert heights == sorted(heights)
    assert heights[0] < heights[1] < heights[2] < heights[3] == heights[4]
    assert composer.field.verticalScrollBar().maximum() > 0
    composer.clear()
    assert composer.field.height() == heights[0]


def test_a_long_line_wraps_and_counts(composer) -> None:
    one = composer.field.height()
    composer.set_text("word " * 60)
    assert composer.field.height() > one


def test_every_button_has_a_name_and_room_for_a_finger(composer) -> None:
    for button in (composer.send_button, composer.stop_button):
        assert button.accessibleName()
        assert button.toolTip()
        assert min(button.width(), button.height()) >= 24
    assert composer.field.accessibleName() == "Message"


def test_stop_is_offered_only_while_a_reply_is_written(composer, qtbot) -> None:
    stopped: list[bool] = []
    composer.stop_wanted.connect(lambda: stopped.append(True))
    assert not composer.stop_button.isVisible()
    qtbot.keyClick(composer.field, Qt.Key.Key_Escape)
    assert composer.field.toolTip() == ""
    composer.set_running(True)
    assert "/steer" in composer.field.toolTip()
    assert composer.field.accessibleDescription() == composer.field.toolTip()
    composer.stop_button.click()
    qtbot.keyClick(composer.field, Qt.Key.Key_Escape)
    assert stopped == [True, True]


def test_the_reason_stands_where_one_would_write(composer, qtbot) -> None:
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    composer.set_text("kept")
    composer.set_readiness(ChatReadiness(False, "", "No model is set.", "Why.", "Set one."))
    assert composer.reason.title.text() == "No model is set."
    assert composer.reason.words.text() == "Why. Set one."
    composer._submit()
    assert sent == []
    assert composer.text == "kept"
    composer.set_readiness(ChatReadiness(True, "m"))
    composer._submit()
    assert sent == ["kept"]


def test_the_keyboard_stays_here_when_nothing_can_be_sent(composer, qtbot) -> None:
    composer.activateWindow()
    composer.field.setFocus()
    qtbot.waitUntil(composer.field.hasFocus, timeout=60_000)
    composer.set_readiness(ChatReadiness(False, "", "No model is set."))
    assert composer.reason.first_button.hasFocus()


def test_what_is_typed_while_a_message_is_handed_over_is_the_next_one(composer, qtbot) -> None:
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    composer.set_text("one")
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    composer.set_locked(True)
    qtbot.keyClicks(composer.field, "two")
    composer.set_locked(False)
    composer.take_out("one")
    assert (sent, composer.text) == (["one"], "two")


def test_enter_while_a_message_is_handed_over_sends_the_next_one_then(composer, qtbot) -> None:
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    composer.set_text("one")
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    composer.set_locked(True)
    qtbot.keyClicks(composer.field, "two")
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    qtbot.keyClicks(composer.field, "three")
    assert sent == ["one"]
    composer.set_locked(False)
    composer.take_out("one")
    assert sent == ["one", "two"]
    assert composer.text == "twothree"
    composer.take_out("two")
    assert composer.text == "three"


def test_enter_on_what_was_not_taken_waits_for_the_person(composer, qtbot) -> None:
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    composer.set_text("one")
    composer.set_locked(True)
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    composer.set_locked(False)  # nobody took it
    assert sent == []
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    assert sent == ["one"]


def test_focus_waits_for_the_look_that_turns_the_field_on(composer, qtbot) -> None:
    composer.set_readiness(ChatReadiness(False, "", "No model is set."))
    composer.send_button.setFocus()
    composer.take_focus()
    assert not composer.field.hasFocus()
    composer.set_readiness(ChatReadiness(True, "m"))
    assert composer.field.hasFocus()


def test_focus_is_not_taken_long_after_it_was_asked_for(composer, qtbot) -> None:
    off = ChatReadiness(False, "", "No model is set.")
    composer.set_readiness(off)
    composer.take_focus()
    composer.set_readiness(off)
    composer.reason.check_button.setFocus()
    composer.set_readiness(ChatReadiness(True, "m"))
    assert not composer.field.hasFocus()


def test_the_settings_are_looked_at_when_the_window_becomes_active(composer, qtbot) -> None:
    looks: list[bool] = []
    composer.check_wanted.connect(lambda: looks.append(True))
    other = QWidget()
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    qtbot.waitUntil(other.isActiveWindow, timeout=60_000)
    assert looks == []
    composer.activateWindow()
    qtbot.waitUntil(lambda: bool(looks), timeout=60_000)


def test_a_message_that_was_not_taken_comes_back_above_what_was_typed_since(composer) -> None:
    composer.set_text("new")
    composer.give_back("old")
    assert composer.text == "old\nnew"
    composer.clear()
    composer.give_back("old")
    assert composer.text == "old"


def test_the_focus_goes_where_one_can_go_on(composer, qtbot) -> None:
    qtbot.waitUntil(composer.isActiveWindow, timeout=60_000)
    composer.take_focus()
    composer.set_read_only("Another gateway answers this chat.")
    assert composer.read_only.copy.hasFocus()
    assert not composer.field.isVisible()
    composer.set_read_only("Still.")
    assert composer.read_only.words.text() == "Still."
    composer.set_read_only("")
    assert composer.field.hasFocus()
    assert not composer.read_only.isVisible()
