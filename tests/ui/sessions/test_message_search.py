"""Searching the messages from the filter: a pause, a stream of hits, keys, and the way back."""

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton

from hermes_desktop.core.errors import BusyError
from hermes_desktop.core.events import Notice
from hermes_desktop.ui.sessions.hit_model import hit_words
from hermes_desktop.ui.sessions.message_search import FIRST_HITS
from hermes_desktop.ui.sessions.session_pane import SessionPane
from tests.fakes.session_pages import MemoryCatalog, MemoryFinder, StandingClock, hit, summary
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio


@pytest.fixture
def catalog() -> MemoryCatalog:
    return MemoryCatalog([summary(n) for n in range(60)])


@pytest.fixture
def finder() -> MemoryFinder:
    finder = MemoryFinder()
    finder.hits = [hit(n) for n in range(35)]
    return finder


@pytest.fixture
def pane(qtbot, catalog, finder, slots, bridge, theme):
    pane = SessionPane(catalog, finder, slots, bridge, theme, StandingClock())
    qtbot.addWidget(pane, before_close_func=SessionPane.close_feeds)
    pane.resize(320, 640)
    pane.show()
    return pane


def words(pane) -> set[str]:
    return {label.text() for label in pane.findChildren(QLabel) if label.isVisible()}


async def test_one_character_searches_titles_only(qtbot, pane, finder) -> None:
    qtbot.keyClicks(pane._filter, "7")
    await asyncio.sleep(0.4)
    assert finder.queries == []
    assert not pane.hits.isVisible()


async def test_a_pause_in_the_typing_starts_one_search(qtbot, pane, finder) -> None:
    qtbot.keyClicks(pane._filter, "session 5")
    await until(lambda: pane.hits.state == "found")
    assert [query.text for query in finder.queries] == ["session 5"]
    assert finder.queries[0].order == "newest"
    assert finder.queries[0].prefix
    await until(lambda: len(pane.hits.model.hits) == 35)
    assert pane.hits.isVisible()
    assert pane.view.isVisible()
    assert pane.view.model().session_count == 11
    assert pane.hits.height() >= pane.height() // 3


async def test_hits_come_as_a_stream_and_more_typing_ends_it(qtbot, pane, finder) -> None:
    finder.go.clear()
    qtbot.keyClicks(pane._filter, "walrus")
    await until(lambda: finder.queries)
    await until(pane.hits.line.isVisible)
    before = finder.cancelled
    qtbot.keyClicks(pane._filter, "es")
    assert finder.cancelled > before
    assert not pane.hits.line.isVisible()
    finder.go.set()
    await until(lambda: len(finder.queries) == 2)
    await until(lambda: len(pane.hits.model.hits) == 35)
    assert finder.queries[1].text == "walruses"


async def test_keys_lead_through_titles_and_hits_and_back(qtbot, pane, finder) -> None:
    chosen: list = []
    pane.hit_chosen.connect(chosen.append)
    pane.focus_filter()
    qtbot.keyClicks(pane._filter, "session 5")
    await until(lambda: len(pane.hits.model.hits) == 35)
    qtbot.keyClick(pane._filter, Qt.Key.Key_Down)
    assert pane.view.hasFocus()
    assert pane.view.selected_session.title == "Session 5"
    qtbot.keyClick(pane.view, Qt.Key.Key_Up)
    assert pane._filter.hasFocus()
    pane.view.focus_last()
    qtbot.keyClick(pane.view, Qt.Key.Key_Down)
    assert pane.hits.list.hasFocus()
    qtbot.keyClick(pane.hits.list, Qt.Key.Key_Down)
    qtbot.keyClick(pane.hits.list, Qt.Key.Key_Return)
    assert [each.title for each in chosen] == ["Session 1"]
    qtbot.keyClick(pane.hits.list, Qt.Key.Key_Up)
    qtbot.keyClick(pane.hits.list, Qt.Key.Key_Up)
    assert pane.view.hasFocus()
    pane.hits.focus_first()
    assert pane.step_back()
    assert pane._filter.hasFocus()
    assert pane.step_back()
    assert pane._filter.text() == ""
    assert not pane.hits.isVisible()
    assert not pane.step_back()


async def test_without_titles_the_hits_have_the_room(qtbot, pane, finder) -> None:
    chosen: list = []
    pane.hit_chosen.connect(chosen.append)
    qtbot.keyClicks(pane._filter, "walrus")
    await until(lambda: len(pane.hits.model.hits) == 35)
    assert "No titles match." in words(pane)
    assert not pane.view.isVisible()
    qtbot.keyClick(pane._filter, Qt.Key.Key_Return)
    assert pane.hits.list.hasFocus()
    where = pane.hits.list.visualRect(pane.hits.model.index(2, 0)).center()
    qtbot.mouseClick(pane.hits.list.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert [each.title for each in chosen] == ["Session 2"]


async def test_enter_does_not_wait_for_the_pause(qtbot, pane, finder) -> None:
    qtbot.keyClicks(pane._filter, "walrus")
    qtbot.keyClick(pane._filter, Qt.Key.Key_Return)
    await asyncio.sleep(0)
    assert len(finder.queries) == 1


async def test_nothing_anywhere_says_so_and_offers_the_way_back(qtbot, pane, finder) -> None:
    finder.hits.clear()
    qtbot.keyClicks(pane._filter, "zebra")
    await until(lambda: "No results." in words(pane))
    assert "No title or message contains “zebra”." in words(pane)
    assert not pane.hits.isVisible()
    button = next(b for b in pane.findChildren(QPushButton) if b.isVisible())
    assert button.text() == "Clear search"
    button.click()
    await until(pane.view.isVisible)
    assert pane.view.model().rowCount() > 20


async def test_titles_alone_keep_the_room(qtbot, pane, finder) -> None:
    finder.hits.clear()
    qtbot.keyClicks(pane._filter, "session 5")
    await until(lambda: pane.hits.state == "nothing")
    assert "No messages match." in words(pane)
    await until(lambda: pane.view.height() > pane.height() // 2)


async def test_best_match_and_source_ask_again(qtbot, pane, finder) -> None:
    qtbot.keyClicks(pane._filter, "walrus")
    await until(lambda: pane.hits.state == "found")
    pane.hits.best.click()
    await until(lambda: len(finder.queries) == 2)
    assert finder.queries[1].order == "best"
    menu = pane._sources.fill_menu()
    next(a for a in menu.actions() if a.text().startswith("Telegram")).trigger()
    await until(lambda: len(finder.queries) == 3)
    assert tuple(finder.queries[2].sources) == ("telegram",)


async def test_messages_are_found_where_the_list_looks(qtbot, pane, finder) -> None:
    qtbot.keyClicks(pane._filter, "walrus")
    await until(lambda: pane.hits.state == "found")
    menu = pane._sources.fill_menu()
    next(a for a in menu.actions() if a.text().startswith("Archived")).trigger()
    await until(lambda: len(finder.queries) == 2)
    menu = pane._sources.fill_menu()
    next(a for a in menu.actions() if a.text().startswith("All sources")).trigger()
    await until(lambda: len(finder.queries) == 3)
    assert [query.archived for query in finder.queries] == [False, True, False]
    assert [query.sources for query in finder.queries] == [None, None, None]


async def test_more_hits_come_behind_those_that_are_there(qtbot, pane, finder) -> None:
    finder.hits = [hit(n) for n in range(130)]
    qtbot.keyClicks(pane._filter, "walrus")
    await until(pane.hits.more.isVisible)
    assert len(pane.hits.model.hits) == FIRST_HITS
    bar = pane.hits.list.verticalScrollBar()
    bar.setValue(bar.maximum())
    place = bar.value()
    pane.hits.more.click()
    await until(lambda: len(pane.hits.model.hits) == 130)
    assert [each.message_id for each in pane.hits.model.hits] == [h.message_id for h in finder.hits]
    assert abs(bar.value() - place) <= pane.hits.more.height()
    await until(lambda: not pane.hits.more.isVisible())


async def test_a_failure_is_told_and_typing_goes_on(qtbot, pane, finder, bus) -> None:
    notices: list[Notice] = []
    bus.subscribe(Notice, notices.append)
    finder.error = BusyError("Another program keeps the history locked.", "", "Try again.")
    qtbot.keyClicks(pane._filter, "walrus")
    await until(lambda: pane.hits.state == "failed")
    assert [n.title for n in notices] == ["Another program keeps the history locked."]
    finder.error = None
    qtbot.keyClicks(pane._filter, "es")
    await until(lambda: pane.hits.state == "found")


async def test_archived_sessions_have_a_place_in_the_menu(pane, catalog) -> None:
    catalog.change(catalog.rows[3].id, archived=True)
    pane.reload()
    await until(lambda: pane.view.model().session_count == 59)
    menu = pane._sources.fill_menu()
    entry = next(a for a in menu.actions() if a.text() == "Archived (1)")
    entry.trigger()
    await until(lambda: pane.view.model().session_count == 1)
    assert catalog.queries[-1].archived
    catalog.change(catalog.rows[3].id, archived=False)
    pane.reload()
    await until(lambda: "No archived sessions." in words(pane))
    button = next(b for b in pane.findChildren(QPushButton) if b.isVisible())
    button.click()
    await until(lambda: pane.view.model().session_count == 60)


async def test_a_hit_is_shown_near_the_beginning_of_its_words() -> None:
    text = "...one two three four five six seven eight nine ten eleven walrus and walruses..."
    start = text.index("walrus")
    shown = hit_words(hit(0, snippet=text, marks=((start, start + 6), (start + 11, start + 19))))
    assert shown.text.startswith("You: …")
    assert [shown.text[a:b] for a, b in shown.marks] == ["walrus", "walruses"]
    assert shown.marks[0][0] < 45
    plain = hit_words(hit(1, snippet="walrus", marks=((0, 6),)))
    assert plain.text == "Hermes: walrus"
    assert hit_words(hit(1, role="tool", tool_name="terminal")).text.startswith("terminal: ")


async def test_signs_of_markdown_are_left_out_and_the_marks_move_along() -> None:
    text = "**Boil** the `water` | cold | |---|:-| # | *walrus* water"
    places = [text.index("water"), text.index("walrus"), text.rindex("water")]
    marks = tuple((p, p + n) for p, n in zip(places, (5, 6, 5), strict=True))
    shown = hit_words(hit(0, snippet=text, marks=marks))
    assert shown.text == "You: Boil the water cold walrus water"
    assert [shown.text[a:b] for a, b in shown.marks] == ["water", "walrus", "water"]
