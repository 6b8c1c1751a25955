"""Filter, sources, the fold, empty states; pages asked for no more often than needed."""

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton

from hermes_desktop.core.errors import StateUnavailableError
from hermes_desktop.core.events import Notice, SessionsChanged, TurnFinished, TurnStarted
from hermes_desktop.ui.sessions.session_list_model import RUNNING_ROLE
from hermes_desktop.ui.sessions.session_pane import SessionPane
from tests.fakes.session_pages import NOON, MemoryCatalog, MemoryFinder, StandingClock, summary
from tests.support.waiting import until


@pytest.fixture
def catalog() -> MemoryCatalog:
    rows = [summary(n) for n in range(60)]
    rows += [summary(n, title=None, preview="", message_count=0) for n in range(100, 112)]
    return MemoryCatalog(rows)


@pytest.fixture
def finder() -> MemoryFinder:
    return MemoryFinder()


@pytest.fixture
def pane(qtbot, catalog, finder, slots, bridge, theme):
    pane = SessionPane(catalog, finder, slots, bridge, theme, StandingClock())
    qtbot.addWidget(pane, before_close_func=SessionPane.close_feeds)
    pane.resize(320, 640)
    pane.show()
    return pane


async def shown(pane: SessionPane, catalog: MemoryCatalog) -> list[str]:
    """Titles in the list, once every question that was asked is answered."""
    await asyncio.sleep(0.15)
    model = pane.view.model()
    rows = (model.summary_at(model.index(row, 0)) for row in range(model.rowCount()))
    return [row.title for row in rows if row is not None]


@pytest.mark.asyncio
async def test_lists_what_was_said_and_folds_what_was_not(pane, catalog) -> None:
    pane.reload()
    assert len(await shown(pane, catalog)) == 60
    assert pane.fold.line.text() == "12 sessions without messages"
    assert all(not query.empty for query in catalog.queries)
    pane.fold.line.click()
    await until(lambda: pane.fold.view.model().rowCount() == 12)
    assert pane.fold.view.isVisible()
    pane.fold.line.click()
    assert not pane.fold.view.isVisible()


@pytest.mark.asyncio
async def test_typing_asks_once_after_a_pause(qtbot, pane, catalog) -> None:
    pane.reload()
    await shown(pane, catalog)
    catalog.queries.clear()
    qtbot.keyClicks(pane._filter, "session 5")
    titles = await shown(pane, catalog)
    assert len(catalog.queries) == 1
    assert set(titles) == {"Session 5", *(f"Session {n}" for n in range(50, 60))}
    pane.clear_filter()
    assert len(await shown(pane, catalog)) == 60


@pytest.mark.asyncio
async def test_nothing_found_offers_the_way_back(qtbot, pane, catalog, finder) -> None:
    pane.reload()
    await shown(pane, catalog)
    finder.go.clear()
    pane._filter.setText("no such thing")

    def words() -> set[str]:
        return {label.text() for label in pane.findChildren(QLabel) if label.isVisible()}

    await until(lambda: "No titles match." in words())
    finder.go.set()
    await until(lambda: "No results." in words())
    assert "No title or message contains “no such thing”." in words()
    button = next(b for b in pane.findChildren(QPushButton) if b.isVisible())
    assert button.text() == "Clear search"
    button.click()
    await until(pane.view.isVisible)
    assert pane._filter.text() == ""


@pytest.mark.asyncio
async def test_an_empty_home_offers_a_new_chat(qtbot, pane, catalog) -> None:
    catalog.rows.clear()
    pane.reload()
    await until(lambda: not pane.view.isVisible())
    button = next(b for b in pane.findChildren(QPushButton) if b.isVisible())
    with qtbot.waitSignal(pane.new_chat_wanted, timeout=60_000):
        button.click()


@pytest.mark.asyncio
async def test_choosing_in_one_list_frees_the_other(qtbot, pane, catalog) -> None:
    pane.reload()
    await shown(pane, catalog)
    chosen: list = []
    pane.session_chosen.connect(chosen.append)
    qtbot.keyClick(pane.view, Qt.Key.Key_Down)
    await until(lambda: len(chosen) == 1)
    pane.fold.toggle()
    await until(lambda: pane.fold.view.model().rowCount() == 12)
    qtbot.keyClick(pane.fold.view, Qt.Key.Key_Down)
    await until(lambda: len(chosen) == 2)
    assert pane.view.selected_session is None
    assert pane.selected_session == chosen[1]
    assert chosen[1].is_empty


@pytest.mark.asyncio
async def test_focus_alone_opens_nothing(qtbot, pane, catalog) -> None:
    pane.reload()
    await shown(pane, catalog)
    chosen: list = []
    pane.session_chosen.connect(chosen.append)
    pane.fold.toggle()
    fold = pane.fold.view
    await until(lambda: fold.model().rowCount() == 12)
    fold.setFocus(Qt.FocusReason.TabFocusReason)
    await asyncio.sleep(0.15)
    assert chosen == []
    assert pane.selected_session is None
    qtbot.keyClick(fold, Qt.Key.Key_Down)
    await until(lambda: chosen == [fold.model().summary_at(fold.model().index(0, 0))])
    assert fold.selectionModel().isSelected(fold.model().index(0, 0))


@pytest.mark.asyncio
async def test_closing_the_fold_keeps_the_focus_at_its_line(qtbot, pane, catalog) -> None:
    pane.reload()
    await shown(pane, catalog)
    pane.fold.toggle()
    await until(lambda: pane.fold.view.model().rowCount() == 12)
    pane.activateWindow()
    pane.fold.view.setFocus()
    await until(pane.fold.view.hasFocus)
    pane.fold.toggle()
    assert pane.fold.line.hasFocus()


@pytest.mark.asyncio
async def test_a_filter_that_hides_the_open_session_only_hides_it(pane, catalog) -> None:
    pane.reload()
    await shown(pane, catalog)
    pane.show_as_open(catalog.rows[7].id)
    pane._filter.setText("session 8")
    await shown(pane, catalog)
    assert pane.view.selected_session is None
    pane.clear_filter()
    await shown(pane, catalog)
    assert pane.view.selected_session == catalog.rows[7]


@pytest.mark.asyncio
async def test_many_changes_are_read_at_most_four_times_a_second(pane, catalog, bus) -> None:
    pane.reload()
    await shown(pane, catalog)
    await asyncio.sleep(0.3)
    catalog.queries.clear()
    began = asyncio.get_running_loop().time()
    for number in range(100):
        catalog.change(catalog.rows[3].id, message_count=number)
        bus.publish(SessionsChanged(frozenset({catalog.rows[3].id})))
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.3)
    passed = asyncio.get_running_loop().time() - began
    assert 2 <= len(catalog.queries) <= passed * 4 + 1
    index = pane.view.model().index(pane.view.model().row_of_session(catalog.rows[3].id), 0)
    assert pane.view.model().summary_at(index).message_count == 99


@pytest.mark.asyncio
async def test_rows_stay_while_a_menu_stands_over_them(pane, catalog, bus, qtbot) -> None:
    pane.reload()
    await shown(pane, catalog)
    pane.menu_filling.connect(lambda menu, *_: menu.addAction("Archive"))
    pane.view.open_menu_for(pane.view.model().index(1, 0))
    assert pane.view.menu_open
    catalog.change(catalog.rows[40].id, last_active=NOON + 10)
    bus.publish(SessionsChanged(reload_all=True))
    await asyncio.sleep(0.4)
    assert pane.view.model().row_of_session(catalog.rows[40].id) > 2
    pane.view._menu.close()
    await until(lambda: pane.view.model().row_of_session(catalog.rows[40].id) == 1)


@pytest.mark.asyncio
async def test_a_failed_reading_keeps_the_rows_and_tells_once(pane, catalog, bus) -> None:
    notices: list[Notice] = []
    bus.subscribe(Notice, notices.append)
    pane.reload()
    await shown(pane, catalog)
    catalog.error = StateUnavailableError("The history cannot be read.", "why", "do this")
    pane.reload()
    assert len(await shown(pane, catalog)) == 60
    assert [notice.title for notice in notices] == ["The history cannot be read."]


@pytest.mark.asyncio
async def test_running_turns_show_a_dot(pane, catalog, bus) -> None:
    pane.reload()
    await shown(pane, catalog)
    model, row = pane.view.model(), catalog.rows[2]
    index = model.index(model.row_of_session(row.id), 0)
    bus.publish(TurnStarted("t1", "key", row.id, "hello"))
    assert model.data(index, RUNNING_ROLE) is True
    bus.publish(TurnFinished("t1", "key", row.id, 7, "done"))
    assert model.data(index, RUNNING_ROLE) is False


@pytest.mark.asyncio
async def test_renaming_in_place(qtbot, pane, catalog) -> None:
    pane.reload()
    await shown(pane, catalog)
    pane.show_as_open(catalog.rows[0].id)
    pane.rename_selected()
    editor = pane.view.findChild(QLineEdit)
    assert editor.text() == "Session 0"
    editor.selectAll()
    with qtbot.waitSignal(pane.renamed, timeout=60_000):
        qtbot.keyClicks(editor, "A better title")
        qtbot.keyClick(editor, Qt.Key.Key_Return)
        await asyncio.sleep(0.05)
    assert catalog.rows[0].title == "A better title"


@pytest.mark.asyncio
async def test_sources_narrow_the_list(pane, catalog) -> None:
    pane.reload()
    await shown(pane, catalog)
    menu = pane._sources.fill_menu()
    texts = [action.text() for action in menu.actions() if action.text()]
    assert texts[0] == "All sources (72)"
    telegram = next(action for action in menu.actions() if action.text().startswith("Telegram"))
    telegram.trigger()
    titles = await shown(pane, catalog)
    assert len(titles) == 12
    assert catalog.queries[-1].source == "telegram"


@pytest.mark.asyncio
async def test_more_rows_come_while_scrolling(pane, catalog) -> None:
    catalog.rows = [summary(n) for n in range(500)]
    pane.reload()
    await until(lambda: pane.view.model().session_count == 200)
    pane.view.scrollToBottom()
    await until(lambda: pane.view.model().session_count == 400)
