"""The column on screen: order, place, windows, second looks."""

from dataclasses import replace
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextCursor

from hermes_desktop.ui.transcript.entry_window import MAX_ALIVE
from hermes_desktop.ui.transcript.message_widget import MessageWidget
from hermes_desktop.ui.transcript.separators import SeparatorWidget
from hermes_desktop.ui.transcript.transcript_view import TranscriptView
from hermes_desktop.ui.widgets.theme import Theme


def texts(view: TranscriptView) -> list[str]:
    return [widget.plain() for widget in view.messages]


def widget_of(view: TranscriptView, number: int) -> MessageWidget:
    item = view.area.column.item(f"m{number}")
    assert item is not None
    assert isinstance(item.widget, MessageWidget)
    return item.widget


def top_of(view: TranscriptView, number: int) -> int:
    """Where a message stands on screen."""
    item = view.area.column.item(f"m{number}")
    assert item is not None
    return item.y - view.area.verticalScrollBar().value()


def scroll_to(view: TranscriptView, share: float) -> None:
    bar = view.area.verticalScrollBar()
    bar.setValue(round(bar.maximum() * share))


def test_opens_at_the_end_in_order_and_without_overlap(view, show, rows) -> None:
    show(rows(1, 60))
    assert texts(view) == [f"Message {n} says a few words." for n in range(1, 61)]
    bar = view.area.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0
    items = view.area.column.items
    assert all(below.y >= above.bottom for above, below in pairwise(items))
    assert all(item.widget.height() == item.height for item in items)


def test_the_column_is_centred_and_at_most_760_wide(view, show, rows, qtbot) -> None:
    show(rows(1, 4))
    view.resize(1_300, 640)
    qtbot.waitUntil(lambda: view.area.column.items[0].widget.width() == 760, timeout=60_000)
    widget = view.area.column.items[0].widget
    left = widget.x()
    right = view.area.column.width() - widget.geometry().right() - 1
    assert abs(left - right) <= 1


def test_messages_are_as_wide_with_a_scroll_bar_as_without(view, show, rows) -> None:
    show(rows(1, 2))
    assert view.area.verticalScrollBar().maximum() == 0
    width = widget_of(view, 1).width()
    show(rows(101, 160))
    assert view.area.verticalScrollBar().maximum() > 0
    assert widget_of(view, 160).width() == width


def test_the_first_paint_shows_the_tail_before_all_is_built(view, page, rows, qtbot) -> None:
    shown_at_paint: list[int] = []
    view.first_painted.connect(lambda: shown_at_paint.append(len(view.area.column.items)))
    with qtbot.waitSignal(view.first_painted, timeout=60_000):
        view.set_page(page(rows(1, 200)))
    assert 0 < shown_at_paint[0] < 200
    assert texts(view)[-1] == "Message 200 says a few words."


def test_older_messages_come_in_front_and_nothing_moves(view, show, rows, page, settle) -> None:
    show(rows(61, 120), has_older=True)
    asked: list[int] = []
    view.older_wanted.connect(lambda first: asked.append(first.id))
    scroll_to(view, 0.0)
    assert asked == [61]
    before = top_of(view, 70)
    view.prepend(page(rows(1, 60)))
    settle()
    assert top_of(view, 70) == before
    assert texts(view)[0] == "Message 1 says a few words."
    assert asked == [61]


def test_a_failed_read_of_older_messages_can_be_asked_again(view, show, rows) -> None:
    show(rows(61, 120), has_older=True)
    asked: list[int] = []
    view.older_wanted.connect(lambda first: asked.append(first.id))
    scroll_to(view, 0.0)
    view.older_failed()
    scroll_to(view, 0.5)
    scroll_to(view, 0.0)
    assert asked == [61, 61]


def test_at_most_300_are_alive_and_both_ends_come_back(
    view, show, rows, page, settle, qtbot
) -> None:
    show(rows(601, 660), has_older=True)
    for first in range(541, 0, -60):
        view.prepend(page(rows(first, first + 59), has_older=first > 1))
        settle()
    assert len(view.area.column.items) <= MAX_ALIVE
    assert not view.window_of_entries.at_end
    assert view.jump.isVisible()
    for _ in range(30):
        scroll_to(view, 1.0)
        settle()
        if view.window_of_entries.at_end:
            break
    assert texts(view)[-1] == "Message 660 says a few words."
    assert len(view.area.column.items) <= MAX_ALIVE
    scroll_to(view, 0.0)
    settle()
    view.jump.click()
    settle()
    bar = view.area.verticalScrollBar()
    assert bar.value() == bar.maximum()
    assert not view.jump.isVisible()


def test_each_message_is_built_once(view, show, rows) -> None:
    made: list[object] = []
    view._builder.made.connect(made.append)
    show(rows(1, 40))
    assert len(made) == 40


def test_a_second_look_touches_only_what_changed(view, show, rows, page, settle) -> None:
    messages = rows(1, 20)
    show(messages)
    before = {n: widget_of(view, n) for n in range(1, 21)}
    cursor = before[10].segments[0].text.textCursor()
    cursor.select(QTextCursor.SelectionType.Document)
    before[10].segments[0].text.setTextCursor(cursor)
    messages[4] = replace(messages[4], content="Rewritten by another program.")
    messages += rows(21, 22)
    view.apply_refresh(page([replace(message) for message in messages]))
    settle()
    assert widget_of(view, 5).plain() == "Rewritten by another program."
    assert all(widget_of(view, n) is before[n] for n in range(1, 21) if n != 5)
    assert before[10].segments[0].text.textCursor().hasSelection()
    assert texts(view)[-1] == "Message 22 says a few words."


def test_rows_of_others_do_not_move_what_is_read(view, show, rows, page, settle) -> None:
    show(rows(1, 60))
    scroll_to(view, 0.5)
    place = top_of(view, 30)
    for last in range(61, 161):
        view.apply_refresh(page(rows(1, last)))
        settle()
    assert top_of(view, 30) == place
    assert view.jump.isVisible()


def test_at_the_end_new_rows_are_followed(view, show, rows, page, settle) -> None:
    show(rows(1, 60))
    view.apply_refresh(page(rows(1, 64)))
    settle()
    bar = view.area.verticalScrollBar()
    assert bar.value() == bar.maximum()


def test_an_undo_takes_rows_away(view, show, rows, page, settle) -> None:
    show(rows(1, 30))
    view.apply_refresh(page(rows(1, 28)))
    settle()
    assert texts(view)[-1] == "Message 28 says a few words."
    view.apply_refresh(page([]))
    settle()
    assert texts(view) == []


def test_summarised_messages_are_grey_under_a_line(view, show, row) -> None:
    gone = {"compacted": True, "active": False}
    show([row(1, **gone), row(2, "assistant", **gone), row(3, session_id="tip")])
    words = [
        item.widget.words
        for item in view.area.column.items
        if isinstance(item.widget, SeparatorWidget)
    ]
    assert words[1:] == ["Summarized earlier", "Continued after the context was compressed"]
    grey = widget_of(view, 1).segments[0].text
    cursor = QTextCursor(grey.document())
    cursor.movePosition(QTextCursor.MoveOperation.End)
    assert cursor.charFormat().foreground().color().name() == view._theme.palette.secondary_text


def test_names_and_times_are_told_to_screen_readers(view, show, row) -> None:
    show([row(1), row(2, "assistant")])
    mine, theirs = (widget_of(view, n).segments[0].text for n in (1, 2))
    assert mine.accessibleName().startswith("You, ")
    assert theirs.accessibleName().startswith("Hermes, ")
    assert "2026" in theirs.accessibleDescription()


def test_keys_scroll_also_when_a_text_has_the_focus(view, show, rows, qtbot) -> None:
    show(rows(1, 60))
    bar = view.area.verticalScrollBar()
    for target in (view.area, widget_of(view, 58).segments[0].text):
        qtbot.keyClick(target, Qt.Key.Key_End)
        assert bar.value() == bar.maximum()
        qtbot.keyClick(target, Qt.Key.Key_PageUp)
        assert bar.value() < bar.maximum()
        here = bar.value()
        qtbot.keyClick(target, Qt.Key.Key_Up)
        assert bar.value() < here
        qtbot.keyClick(target, Qt.Key.Key_Down)
        assert bar.value() == here
        qtbot.keyClick(target, Qt.Key.Key_Home)
        assert bar.value() == 0


def test_copying_the_last_reply_gives_its_markdown(view, show, row) -> None:
    show([row(1), row(2, "assistant", "Some **bold** words."), row(3)])
    assert view.copy_last_reply()
    assert QGuiApplication.clipboard().text() == "Some **bold** words."


def test_nothing_to_copy(view, show, row) -> None:
    show([row(1)])
    assert not view.copy_last_reply()


def test_the_menu_copies_text_and_markdown(view, show, row) -> None:
    show([row(1, "assistant", "Some **bold** words.")])
    widget = widget_of(view, 1)
    menu = view._actions.open_menu(
        widget, view.mapToGlobal(view.rect().center()), widget.segments[0].text
    )
    copy, plain, markdown, line, undo = menu.actions()
    assert not copy.isEnabled()
    assert line.isSeparator()
    assert undo.text() == "Undo this turn…"
    plain.trigger()
    assert QGuiApplication.clipboard().text() == "Some bold words."
    markdown.trigger()
    assert QGuiApplication.clipboard().text() == "Some **bold** words."
    menu.close()


def test_another_theme_redraws_everything(view, show, rows, theme: Theme, qtbot) -> None:
    show(rows(1, 40))
    theme.set_scheme("dark")
    qtbot.waitUntil(
        lambda: all(
            getattr(item.widget, "look", None) is not None
            and item.widget.look.palette == theme.palette
            for item in view.area.column.items
        ),
        timeout=60_000,
    )
    cursor = QTextCursor(widget_of(view, 3).segments[0].text.document())
    cursor.movePosition(QTextCursor.MoveOperation.End)
    assert cursor.charFormat().foreground().color().name() == theme.palette.text
    bar = view.area.verticalScrollBar()
    assert bar.value() == bar.maximum()


def test_a_narrower_window_lays_out_again(view, show, row, qtbot) -> None:
    show([row(n, "assistant", "word " * 200) for n in range(1, 60)])
    before = view.area.column.items[-1].height
    view.resize(420, 640)
    width = view.area.column.column_width
    qtbot.waitUntil(
        lambda: all(i.fitted_width == width for i in view.area.column.items), timeout=60_000
    )
    items = view.area.column.items
    assert items[-1].height > before
    assert all(below.y >= above.bottom for above, below in pairwise(items))


def test_clearing(view, show, rows) -> None:
    show(rows(1, 5))
    view.clear()
    assert view.area.column.items == []


def test_a_page_that_is_replaced_at_once_shows_only_the_second(view, page, rows, settle) -> None:
    view.set_page(page(rows(1, 300)))
    view.set_page(page(rows(901, 903)))
    settle()
    assert texts(view) == [f"Message {n} says a few words." for n in range(901, 904)]


def test_a_conversation_that_grew_while_away_is_shown_whole(view, show, rows) -> None:
    """Rows that stand in the column already are no reason to leave them out of the next page."""
    show(rows(1, 2))
    show(rows(1, 60))
    assert [message.entry.message.id for message in view.messages] == list(range(1, 61))


def test_the_way_to_the_latest_never_stands_above_a_low_transcript(view, show, rows, qtbot) -> None:
    show(rows(1, 60))
    view.area.verticalScrollBar().setValue(0)
    assert view.jump.isVisible()
    view.resize(860, 50)
    qtbot.waitUntil(lambda: view.area.height() < 100, timeout=60_000)
    assert not view.jump.isVisible()
    assert view.jump.geometry().top() >= 0
    view.resize(860, 640)
    qtbot.waitUntil(view.jump.isVisible, timeout=60_000)
