"""One strip: replaced by key, errors stay, what was below comes back."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton

from hermes_desktop.core.events import Notice, NoticeCleared
from hermes_desktop.ui.widgets.notice_presenter import NoticeStrip


@pytest.fixture
def strip(qtbot, theme) -> NoticeStrip:
    strip = NoticeStrip(theme)
    qtbot.addWidget(strip)
    return strip


def error(key: str, title: str = "It broke.") -> Notice:
    return Notice("error", title, "Because.", "Do this.", key=key)


def test_shows_a_sentence_and_on_request_the_details(qtbot, strip) -> None:
    strip.show_notice(error("a"))
    assert strip.isVisible()
    labels = [label for label in strip.findChildren(QLabel) if label.text()]
    assert [label.text() for label in labels if label.isVisible()] == ["It broke."]
    more = strip.findChild(QPushButton)
    more.click()
    shown = [label.text() for label in labels if label.isVisible()]
    assert shown == ["It broke.", "Because.\nDo this."]
    assert strip.accessibleName() == "Error: It broke."


def test_same_key_replaces_and_settled_goes(strip) -> None:
    strip.show_notice(error("a"))
    strip.show_notice(error("a", "It broke again."))
    assert strip.current.title == "It broke again."
    strip.clear(NoticeCleared("other"))
    assert strip.isVisible()
    strip.clear(NoticeCleared("a"))
    assert strip.current is None
    assert not strip.isVisible()


def test_an_error_stays_in_front_of_later_notes(strip) -> None:
    strip.show_notice(error("a"))
    strip.show_notice(Notice("info", "By the way.", key="b"))
    assert strip.current.key == "a"
    strip.close_current()
    assert strip.current.key == "b"


def test_closing_tells_which(qtbot, strip) -> None:
    strip.show_notice(error("a"))
    with qtbot.waitSignal(strip.closed, timeout=60_000) as closed:
        strip.findChild(QToolButton).click()
    assert closed.args == ["a"]
    assert not strip.isVisible()


def test_only_what_is_no_trouble_goes_by_itself(strip) -> None:
    for level, goes in (("info", True), ("ok", True), ("warning", False), ("error", False)):
        strip.show_notice(Notice(level, "x", key="k"))
        assert strip._expiry.isActive() is goes


def test_text_is_never_markup(strip) -> None:
    strip.show_notice(Notice("error", "<b>bold</b><img src=x>", key="k"))
    title = next(label for label in strip.findChildren(QLabel) if label.text())
    assert title.text() == "<b>bold</b><img src=x>"
    assert title.textFormat().name == "PlainText"


def test_colours_follow_the_theme(strip, theme) -> None:
    strip.show_notice(error("a"))
    light = strip.grab().toImage().pixelColor(2, 2)
    theme.set_scheme("dark")
    assert strip.grab().toImage().pixelColor(2, 2) != light


def test_one_action_in_it_that_can_be_done_once(qtbot, strip) -> None:
    done: list[str] = []
    strip.acted.connect(done.append)
    strip.show_notice(Notice("ok", "Deleted “Trip plan”.", key="undo-1", action="Undo"))
    button = next(b for b in strip.findChildren(QPushButton) if b.text() == "Undo")
    assert button.isVisible()
    assert strip._expiry.isActive()
    button.click()
    assert done == ["undo-1"]
    assert strip.current is None
    strip.act()
    strip.show_notice(error("a"))
    assert not button.isVisible()
    strip.act()
    assert done == ["undo-1"]


def test_words_begin_where_lines_of_the_window_begin(strip) -> None:
    strip.show_notice(Notice("info", "Anna asks to be let in.", "She wrote for the first time."))
    for direction, edge in (
        (Qt.LayoutDirection.LeftToRight, Qt.AlignmentFlag.AlignLeft),
        (Qt.LayoutDirection.RightToLeft, Qt.AlignmentFlag.AlignRight),
    ):
        strip.setLayoutDirection(direction)
        words = [each for each in strip.findChildren(QLabel) if each.text()]
        assert len(words) == 2
        assert all(each.alignment() & edge for each in words)
