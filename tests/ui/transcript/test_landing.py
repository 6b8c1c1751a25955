"""A transcript opened at one message: in view, marked for a moment, with both ends in reach."""

from dataclasses import replace

import pytest

from hermes_desktop.core.events import TurnFinished
from hermes_desktop.ui.transcript.entry_window import MAX_ALIVE


def item_of(view, number: int):
    return view.area.column.item(f"m{number}")


def in_view(view, number: int) -> bool:
    item, bar = item_of(view, number), view.area.verticalScrollBar()
    page = view.area.viewport().height()
    return item is not None and bar.value() <= item.y and item.bottom <= bar.value() + page


def test_comes_to_rest_at_the_message_and_marks_it(view, rows, page, settle) -> None:
    view.set_page(page(rows(1_000, 1_060), has_older=True, has_newer=True), at=1_030)
    settle()
    assert in_view(view, 1_030)
    mark = view.landing.mark
    assert mark.isVisible()
    assert mark.geometry().contains(item_of(view, 1_030).widget.geometry())
    assert view.jump.isVisible()
    view.landing.clear()
    assert not mark.isVisible()


@pytest.mark.parametrize("number", [1, 2, 59, 60])
def test_at_the_edges_it_is_in_view_too(view, rows, page, settle, number: int) -> None:
    view.set_page(page(rows(1, 60)), at=number)
    settle()
    assert in_view(view, number)
    assert view.landing.mark.isVisible()


def test_both_ends_are_asked_for_and_nothing_moves(view, rows, page, settle, qtbot) -> None:
    older: list[int] = []
    newer: list[int] = []
    view.older_wanted.connect(lambda first: older.append(first.id))
    view.newer_wanted.connect(lambda last: newer.append(last.id))
    view.set_page(page(rows(1_000, 1_060), has_older=True, has_newer=True), at=1_030)
    settle()
    bar = view.area.verticalScrollBar()
    bar.setValue(bar.maximum())
    assert newer == [1_060]
    top = item_of(view, 1_058).y - bar.value()
    view.append(page(rows(1_061, 1_120), has_newer=True))
    settle()
    assert item_of(view, 1_058).y - bar.value() == top
    assert not view.window_of_entries.at_end
    bar.setValue(0)
    assert older == [1_000]
    view.prepend(page(rows(940, 999), has_older=True))
    settle()
    assert len(view.area.column.items) <= MAX_ALIVE


def test_a_reading_that_failed_is_asked_for_again(view, rows, page, settle) -> None:
    newer: list[int] = []
    view.newer_wanted.connect(lambda last: newer.append(last.id))
    view.set_page(page(rows(1_000, 1_060), has_newer=True), at=1_000)
    settle()
    bar = view.area.verticalScrollBar()
    bar.setValue(bar.maximum())
    view.newer_failed()
    bar.setValue(0)
    bar.setValue(bar.maximum())
    assert newer == [1_060, 1_060]


def test_the_way_to_the_end_is_asked_for(view, rows, page, settle, qtbot) -> None:
    view.set_page(page(rows(1_000, 1_060), has_newer=True), at=1_030)
    settle()
    with qtbot.waitSignal(view.latest_wanted, timeout=60_000):
        view.jump.click()
    view.set_page(page(rows(2_000, 2_059), has_older=True))
    settle()
    assert view.area.at_end
    assert not view.jump.isVisible()
    assert not view.landing.mark.isVisible()


def test_a_reply_that_begins_meanwhile_waits_at_the_end(view, rows, page, settle) -> None:
    view.set_page(page(rows(1_000, 1_060), has_newer=True), at=1_030)
    settle()
    view.begin_turn("t", "Message 1031 says a few words.")
    view.finish_turn(TurnFinished("t", "k", "s", 5_000, "done", reply="Done."))
    view.apply_refresh(
        page(rows(1_000, 1_060), has_newer=True), stored_before=view.live.stored_ids()
    )
    settle()
    assert in_view(view, 1_030)
    assert [turn.turn_id for turn in view.live.turns] == ["t"]


def test_the_result_of_a_call_is_shown_where_the_call_stands(view, rows, page, settle) -> None:
    messages = rows(1, 40)
    call = {"id": "c", "type": "function", "function": {"name": "terminal", "arguments": "{}"}}
    messages[19] = replace(messages[19], role="assistant", tool_calls=(call,))
    messages[20] = replace(messages[20], role="tool", tool_call_id="c", content="found here")
    view.set_page(page(messages), at=messages[20].id)
    settle()
    assert in_view(view, 20)
    assert view.landing.mark.geometry().contains(item_of(view, 20).widget.geometry())
