"""The list keeps selection and scroll position while its rows change."""

import random
from dataclasses import replace

import pytest
from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from hermes_desktop.ui.sessions.session_delegate import heading_height, row_height
from hermes_desktop.ui.sessions.session_list_model import (
    RUNNING_ROLE,
    WAITING_ROLE,
    SessionListModel,
)
from hermes_desktop.ui.sessions.session_list_view import SessionListView
from hermes_desktop.ui.words.day_words import words_for
from tests.fakes.session_pages import NOON, summary

WORDS = words_for(NOON)


def newest_first(rows):
    return sorted(rows, key=lambda row: -row.last_active)


@pytest.fixture
def model(qapp) -> SessionListModel:
    model = SessionListModel()
    tester = QAbstractItemModelTester(
        model, QAbstractItemModelTester.FailureReportingMode.Fatal, model
    )
    assert isinstance(tester.model(), QAbstractItemModel)
    return model


@pytest.fixture
def view(qtbot, model, theme) -> SessionListView:
    view = SessionListView(model, theme, name="Sessions")
    qtbot.addWidget(view)
    view.resize(320, 600)
    view.show()
    return view


def test_selection_and_scroll_stay_over_a_hundred_foreign_changes(qtbot, view, model) -> None:
    chance = random.Random(7)
    rows = [summary(n) for n in range(300)]
    view.show_rows(rows, WORDS, total=300)
    kept = rows[150]
    view.select_session(kept.id)
    view.scrollTo(view.currentIndex())
    chosen: list = []
    view.chosen.connect(chosen.append)
    before = view.visualRect(view.currentIndex()).top()
    for step in range(100):
        place = chance.randrange(len(rows))
        if rows[place].id == kept.id:
            continue
        kind = chance.choice(["active", "new", "gone", "title"])
        if kind == "active":
            rows[place] = replace(rows[place], last_active=NOON + step, message_count=99)
        elif kind == "new":
            rows.append(summary(1000 + step, last_active=NOON + step))
        elif kind == "gone":
            del rows[place]
        else:
            rows[place] = replace(rows[place], title=f"Renamed in step {step}")
        rows = newest_first(rows)
        view.show_rows(rows, WORDS, total=len(rows))
        assert view.selected_session == kept
        assert view.visualRect(view.currentIndex()).top() == before
    qtbot.wait(100)
    assert chosen == []


def test_at_the_top_new_activity_is_seen_at_once(view, model) -> None:
    rows = [summary(n) for n in range(100)]
    view.show_rows(rows, WORDS, total=100)
    rows = newest_first([replace(rows[60], last_active=NOON + 5), *rows[:60], *rows[61:]])
    view.show_rows(rows, WORDS, total=100)
    assert view.verticalScrollBar().value() == 0
    assert model.summary_at(model.index(1, 0)).title == "Session 60"


def test_a_removed_selection_selects_nothing_else(qtbot, view, model) -> None:
    rows = [summary(n) for n in range(10)]
    view.show_rows(rows, WORDS, total=10)
    view.select_session(rows[4].id)
    told: list = []
    view.chosen.connect(told.append)
    view.show_rows([row for row in rows if row != rows[4]], WORDS, total=9)
    qtbot.wait(100)
    assert view.selected_session is None
    assert told == []


def test_a_chain_that_moves_on_stays_selected(view, model) -> None:
    rows = [summary(n) for n in range(10)]
    view.show_rows(rows, WORDS, total=10)
    view.select_session(rows[4].id)
    tip = replace(rows[4], id="20261128_999999_newtip")
    view.show_rows([*rows[:4], tip, *rows[5:]], WORDS, total=10)
    assert view.selected_session == tip


def test_heights_follow_the_kind_of_line(view, model) -> None:
    rows = [summary(n) for n in range(0, 400, 7)]
    for shown in (rows, rows[5:30], newest_first([*rows[30:], *rows[:5]]), rows):
        view.show_rows(shown, WORDS, total=len(shown))
        for row in range(model.rowCount()):
            high = heading_height if model.is_heading(row) else row_height
            assert view.rowHeight(row) == high(view.font())


def test_heights_follow_the_font(view, model) -> None:
    view.show_rows([summary(1), summary(2)], WORDS, total=2)
    small = view.rowHeight(1)
    font = view.font()
    font.setPointSizeF(16)
    view.setFont(font)
    assert small == 56
    assert view.rowHeight(1) >= 2 * view.fontMetrics().height() + 16
    assert view.rowHeight(0) > view.fontMetrics().height()


def test_headings_cannot_be_chosen_and_keys_step_over_them(qtbot, view, model) -> None:
    rows = [summary(1), summary(2), summary(20), summary(21)]
    view.show_rows(rows, WORDS, total=4)
    assert model.flags(model.index(0, 0)) == Qt.ItemFlag.NoItemFlags
    seen = []
    for _ in range(5):
        qtbot.keyClick(view, Qt.Key.Key_Down)
        seen.append(view.selected_session.title)
    assert seen == ["Session 1", "Session 2", "Session 20", "Session 21", "Session 21"]
    qtbot.keyClick(view, Qt.Key.Key_Home)
    assert view.selected_session.title == "Session 1"
    qtbot.keyClick(view, Qt.Key.Key_End)
    assert view.selected_session.title == "Session 21"


def test_a_held_arrow_key_opens_only_where_it_rests(qtbot, view, model) -> None:
    view.show_rows([summary(n) for n in range(30)], WORDS, total=30)
    opened: list = []
    view.chosen.connect(opened.append)
    for _ in range(8):
        qtbot.keyClick(view, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: len(opened) == 1, timeout=60_000)
    assert opened[0].title == "Session 7"


def test_typing_goes_to_the_filter_and_shortcuts_do_not(qtbot, view, model) -> None:
    view.show_rows([summary(n) for n in range(5)], WORDS, total=5)
    typed: list[str] = []
    view.typed.connect(typed.append)
    qtbot.keyClicks(view, "tr")
    qtbot.keyClick(view, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert typed == ["t", "r"]


def test_screen_readers_hear_the_whole_row(model) -> None:
    model.show_rows([summary(1, source="telegram", message_count=1)], WORDS, total=1)
    index = model.index(1, 0)
    model.show_running(frozenset({model.summary_at(index).id}))
    text = model.data(index, Qt.ItemDataRole.AccessibleTextRole)
    assert text.startswith("Telegram, Session 1, 1 message, today ")
    assert text.endswith("a reply is being written")
    assert model.data(index, RUNNING_ROLE) is True


def test_a_session_that_waits_for_the_user_says_so_and_not_that_it_is_written(model) -> None:
    model.show_rows([summary(1), summary(2)], WORDS, total=2)
    index = model.index(1, 0)
    ids = frozenset({model.summary_at(index).id})
    model.show_running(ids)
    model.show_waiting(ids)
    text = model.data(index, Qt.ItemDataRole.AccessibleTextRole)
    assert text.endswith("waiting for your answer")
    assert "written" not in text
    assert [model.data(model.index(row, 0), WAITING_ROLE) for row in (1, 2)] == [True, False]
    model.show_waiting(frozenset())
    assert model.data(index, Qt.ItemDataRole.AccessibleTextRole).endswith("being written")


def test_more_is_asked_for_once_per_answer(qapp) -> None:
    model = SessionListModel()  # the tester of the fixture would ask, too
    rows = [summary(n) for n in range(20)]
    asked: list[bool] = []
    model.more_wanted.connect(lambda: asked.append(True))
    model.show_rows(rows[:10], WORDS, total=20)
    root = QModelIndex()
    assert model.canFetchMore(root)
    model.fetchMore(root)
    model.fetchMore(root)
    assert len(asked) == 1
    model.show_rows(rows, WORDS, total=20)
    assert not model.canFetchMore(root)


def test_a_typed_title_is_asked_for_and_not_shown_before_it_is_stored(model) -> None:
    wanted: list[tuple[str, str]] = []
    model.rename_wanted.connect(lambda *args: wanted.append(args))
    row = summary(1)
    model.show_rows([row], WORDS, total=1)
    index = model.index(1, 0)
    assert not model.setData(index, "  Other  ")
    assert not model.setData(index, row.title)
    assert wanted == [(row.id, "Other")]
    assert model.data(index) == row.title


def test_titles_that_would_turn_the_line_around_do_not(model) -> None:
    model.show_rows([summary(1, title="abc\u202edef\nghi")], WORDS, total=1)
    assert model.data(model.index(1, 0)) == "abcdef ghi"
