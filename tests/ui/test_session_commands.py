"""Archive, delete, undo and search in the whole window, on a real history."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QPushButton

from hermes_desktop.core.events import Notice, TurnStarted
from hermes_desktop.services.assembly.demo_home import create_demo_home
from hermes_desktop.state import SessionDB
from hermes_desktop.ui.sessions.delete_question import DeleteDialog
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.window_stage import WindowStage

SCREENS = Path(__file__).parents[2] / ".ci" / "out" / "screens"
pytestmark = pytest.mark.asyncio


class Commands(WindowStage):
    """The window on the history of the demonstration."""

    @property
    def pane(self):
        return self.window.pane

    @property
    def model(self):
        return self.pane.view.model()

    async def listed(self) -> None:
        await self.until(lambda: self.model.session_count > 20)

    def sessions(self):
        rows = (self.model.summary_at(self.model.index(r, 0)) for r in range(self.model.rowCount()))
        return [row for row in rows if row is not None]

    def lists(self, root_id: str) -> bool:
        return self.model.row_of_session(root_id) >= 0

    def select(self, *places: int) -> None:
        """Select several sessions, as Ctrl and clicks do."""
        view = self.pane.view
        modifier = Qt.KeyboardModifier.NoModifier
        for place in places:
            row = self.model.row_of_session(self.sessions()[place].id)
            where = view.visualRect(self.model.index(row, 0)).center()
            QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, modifier, where)
            modifier = Qt.KeyboardModifier.ControlModifier

    def question(self) -> DeleteDialog | None:
        shown = (w for w in QApplication.topLevelWidgets() if isinstance(w, DeleteDialog))
        return next((w for w in shown if w.isVisible()), None)

    def menus(self) -> list[QMenu]:
        return [w for w in QApplication.topLevelWidgets() if isinstance(w, QMenu) and w.isVisible()]

    async def confirm(self) -> None:
        await self.until(self.question)
        self.question().delete_button.click()

    async def withdrawn(self) -> None:
        """Wait until the question is gone and its command over."""
        await self.until(lambda: self.question() is None)
        await asyncio.sleep(0.05)

    async def told(self, words: str) -> None:
        await self.until(lambda: (n := self.window.notices.current) and words in n.title)

    def button(self, words: str) -> QPushButton:
        buttons = self.window.notices.findChildren(QPushButton)
        return next(b for b in buttons if b.text() == words and b.isVisible())

    def save(self, name: str, widget=None) -> None:
        SCREENS.mkdir(parents=True, exist_ok=True)
        file = SCREENS / f"sessions-{name}-{self.theme.scheme}.png"
        assert (widget or self.window).grab().save(str(file))


@pytest.fixture
def stage(qapp, theme: Theme, tmp_path: Path) -> Iterator[Commands]:
    folder = tmp_path / "home"
    folder.mkdir()
    create_demo_home(folder, now=time.time() - 3_600)
    return Commands(folder, theme)


async def test_delete_asks_deletes_and_the_notice_brings_it_back(stage) -> None:
    async with stage:
        await stage.listed()
        session = stage.sessions()[2]
        await stage.open(session.id)
        stage.window._actions["delete"].trigger()
        await stage.until(stage.question)
        words = {label.text() for label in stage.question().findChildren(QLabel)}
        assert any(f"Delete “{session.label[:20]}" in each for each in words)
        assert any("30 days" in each for each in words)
        assert stage.question().delete_button.text() == "Delete 1 session"
        stage.question().reject()
        await stage.withdrawn()
        assert stage.lists(session.root_id)
        stage.window._actions["delete"].trigger()
        await stage.confirm()
        await stage.told("Deleted “")
        await stage.until(lambda: not stage.lists(session.root_id))
        assert stage.window.page.current_session_id is None
        stage.button("Undo").click()
        await stage.told("Restored “")
        await stage.until(lambda: stage.lists(session.root_id))
        await stage.until(lambda: stage.window.page.current_session_id == session.id)


async def test_a_long_delete_says_how_far_it_is(stage) -> None:
    db = SessionDB(stage.home / "state.db")
    db.create_session("long", "cli")
    db.replace_messages(
        "long",
        [{"role": "user", "content": f"word {n}", "timestamp": 1e9 + n} for n in range(3_000)],
    )
    db.end_session("long", "cli_close")
    db.close()
    told: list[str] = []
    async with stage:
        await stage.listed()
        stage.services.bus.subscribe(Notice, lambda notice: told.append(notice.title))
        await stage.open("long")
        stage.window._actions["delete"].trigger()
        await stage.confirm()
        await stage.told("Deleted “")
        await stage.until(lambda: not stage.lists("long"))
    percents = [words for words in told if words.startswith("Moving to the trash: ")]
    assert len(percents) > 1
    assert told[-1].startswith("Deleted “")


async def test_several_go_at_once_and_ctrl_z_brings_them_back(stage) -> None:
    async with stage:
        await stage.listed()
        stage.select(1, 3, 4)
        wanted = [stage.sessions()[n] for n in (1, 3, 4)]
        assert list(stage.pane.selected_sessions) == wanted
        db = SessionDB(stage.home / "state.db")
        db.append_message(stage.sessions()[9].id, "user", "A foreign word")
        db.close()
        await stage.until(lambda: stage.sessions()[0].id not in {w.id for w in wanted})
        assert {each.id for each in stage.pane.selected_sessions} == {each.id for each in wanted}
        stage.window._actions["delete"].trigger()
        await stage.until(stage.question)
        assert stage.question().delete_button.text() == "Delete 3 sessions"
        await stage.confirm()
        await stage.told("Deleted 3 sessions.")
        await stage.until(lambda: not any(stage.lists(each.root_id) for each in wanted))
        stage.window._actions["undo"].trigger()
        await stage.told("Restored 3 sessions.")
        await stage.until(lambda: all(stage.lists(each.root_id) for each in wanted))
        stage.window._actions["undo"].trigger()
        await stage.told("There is nothing to undo.")


async def test_archive_hides_at_once_and_the_archive_shows_it(stage) -> None:
    async with stage:
        await stage.listed()
        session = stage.sessions()[3]
        await stage.open(session.id)
        before = stage.model.session_count
        stage.window._actions["archive"].trigger()
        await stage.told("Archived “")
        await stage.until(lambda: not stage.lists(session.root_id))
        await stage.until(lambda: stage.window.page.header.facts.text().startswith("Archived · "))
        stage.window._actions["undo"].trigger()
        await stage.told("back in the list")
        await stage.until(lambda: stage.model.session_count == before)
        stage.window._actions["archive"].trigger()
        await stage.until(lambda: not stage.lists(session.root_id))
        menu = stage.pane._sources.fill_menu()
        next(a for a in menu.actions() if a.text().startswith("Archived (")).trigger()
        await stage.until(lambda: stage.lists(session.root_id))
        assert all(each.archived for each in stage.sessions())
        row = stage.model.row_of_session(session.root_id)
        stage.pane.view.open_menu_for(stage.model.index(row, 0))
        entry = next(a for a in stage.menus()[0].actions() if a.text() == "Unarchive")
        stage.pane.view._menu.close()
        entry.trigger()
        await stage.told("Unarchived “")
        await stage.until(lambda: not stage.lists(session.root_id))


async def test_a_running_turn_is_left_alone_and_named(stage) -> None:
    async with stage:
        await stage.listed()
        session = stage.sessions()[2]
        await stage.open(session.id)
        event = TurnStarted("t", "key", session.id, "Which train arrives before nine?")
        stage.services.bus.publish(event)
        for action in ("archive", "delete"):
            stage.window._actions[action].trigger()
            await stage.told("a turn is running in it")
            assert "Which train arrives before nine?" in stage.window.notices.current.detail
            assert stage.question() is None
            stage.window.notices.close_current()
        assert stage.lists(session.root_id)


async def test_the_menu_of_a_row_and_that_of_the_head(stage) -> None:
    async with stage:
        await stage.listed()
        first, second = stage.sessions()[:2]
        await stage.open(first.id)
        view = stage.pane.view
        index = stage.model.index(stage.model.row_of_session(second.id), 0)
        QTest.mouseClick(
            view.viewport(), Qt.MouseButton.RightButton, pos=view.visualRect(index).center()
        )
        view.open_menu_for(index)
        menu = stage.menus()[0]
        keys = {a.text(): a.shortcut().toString() for a in menu.actions() if a.text()}
        assert keys == {
            "Rename": "F2", "Archive": "Ctrl+E", "Pin": "", "Delete…": "Del", "Copy ID": "",
        }  # fmt: skip
        next(a for a in menu.actions() if a.text() == "Copy ID").trigger()
        view._menu.close()
        assert QApplication.clipboard().text() == second.id
        assert stage.window.page.current_session_id == first.id
        stage.window.page.header.more.click()
        entry = next(a for a in stage.menus()[0].actions() if a.text() == "Rename")
        stage.menus()[0].close()
        entry.trigger()
        await stage.until(stage.window.page.header.edit.isVisible)


async def test_pinning_marks_the_row_and_says_who_does_not_know_it(stage) -> None:
    async with stage:
        await stage.listed()
        root_id = stage.sessions()[1].root_id

        def row():
            return stage.model.index(stage.model.row_of_session(root_id), 0)

        def act(words: str) -> None:
            stage.pane.view.setCurrentIndex(row())
            stage.pane.view.open_menu_for(row())
            next(a for a in stage.menus()[0].actions() if a.text() == words).trigger()
            stage.pane.view._menu.close()

        def is_pinned() -> bool:
            spoken = row().data(Qt.ItemDataRole.AccessibleTextRole)
            return stage.model.summary_at(row()).pinned and ", pinned" in spoken

        plain = stage.pane.view.grab().toImage()
        act("Pin")
        await stage.told("Pinned “")
        assert "does not know it" in stage.window.notices.current.detail
        await stage.until(is_pinned)
        assert stage.pane.view.grab().toImage() != plain
        act("Unpin")
        await stage.told("Unpinned “")
        await stage.until(lambda: not stage.model.summary_at(row()).pinned)
        stage.button("Undo").click()
        await stage.until(is_pinned)
        with contextlib.closing(SessionDB(stage.home / "state.db")) as other:
            other.set_session_pinned(root_id, pinned=False)  # another process
        await stage.until(lambda: not stage.model.summary_at(row()).pinned)


async def test_the_menu_of_several_selected_rows(stage) -> None:
    async with stage:
        await stage.listed()
        stage.select(0, 1)
        view = stage.pane.view
        view.open_menu_for(view.currentIndex())
        texts = [a.text() for a in stage.menus()[0].actions() if a.text()]
        assert texts == ["Archive", "Pin", "Delete…", "Copy IDs"]
        view._menu.close()
        assert stage.pane.step_back()
        assert len(stage.pane.selected_sessions) <= 1


async def test_shift_and_arrows_select_over_headings_without_opening(stage) -> None:
    async with stage:
        await stage.listed()
        await stage.open(stage.sessions()[0].id)
        view = stage.pane.view
        for _ in range(9):
            QTest.keyClick(view, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
        assert len(view.selected_sessions) == 10
        await asyncio.sleep(0.15)  # longer than a selection takes to open its session
        assert stage.window.page.current_session_id == stage.sessions()[0].id


async def test_a_hit_opens_its_message_and_the_button_leads_to_the_latest(stage) -> None:
    db = SessionDB(stage.home / "state.db")
    db.create_session("long", "telegram")
    db.set_session_title("long", "A very long talk")
    begin = time.time() - 90_000
    for n in range(900):
        text = f"message {n}" + (" about the walrus hypothesis" if n == 300 else "")
        db.append_message("long", ("user", "assistant")[n % 2], text, timestamp=begin + n)
    db.close()
    async with stage:
        await stage.listed()
        stage.window._actions["focus_filter"].trigger()
        field = stage.pane._filter
        QTest.keyClicks(field, "walrus hypo")
        await stage.until(lambda: stage.pane.hits.state == "found")
        QTest.keyClick(field, Qt.Key.Key_Down)
        QTest.keyClick(stage.pane.hits.list, Qt.Key.Key_Return)
        view = stage.window.page.view
        await stage.until(view.landing.mark.isVisible)
        assert stage.window.page.current_session_id == "long"
        marked = view.landing.mark.geometry()
        item = next(
            i for i in view.area.column.items if "walrus" in getattr(i.widget, "source", "")
        )
        assert marked.contains(item.widget.geometry())
        bar = view.area.verticalScrollBar()
        assert bar.value() <= item.y <= bar.value() + view.area.viewport().height()
        assert view.jump.isVisible()
        view.jump.click()
        await stage.until(lambda: "message 899" in stage.shown_text())
        await stage.until(lambda: view.area.at_end and not view.jump.isVisible())
        stage.window._actions["focus_filter"].trigger()
        stage.window._actions["escape"].trigger()
        assert field.text() == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pictures(stage, scheme: str) -> None:
    """For people to look at (.ci/out/screens)."""
    stage.theme.set_scheme(scheme)
    async with stage:
        await stage.listed()
        stage.select(1, 2, 4)
        stage.save("selected")
        view = stage.pane.view
        view.open_menu_for(view.currentIndex())
        stage.save("menu-several", stage.menus()[0])
        view._menu.close()
        stage.window._actions["delete"].trigger()
        await stage.until(stage.question)
        stage.save("delete-several", stage.question())
        stage.question().reject()
        await stage.withdrawn()
        chain = next((s for s in stage.sessions() if s.id != s.root_id), stage.sessions()[0])
        await stage.open(chain.id)
        view.open_menu_for(view.currentIndex())
        stage.save("menu", stage.menus()[0])
        view._menu.close()
        stage.window._actions["delete"].trigger()
        await stage.until(stage.question)
        stage.save("delete", stage.question())
        await stage.confirm()
        await stage.told("Deleted “")
        await stage.until(lambda: not stage.lists(chain.root_id))
        stage.save("undo")
        stage.window._actions["undo"].trigger()
        await stage.told("Restored “")
        for place in (3, 5, 8):
            gone = stage.sessions()[place].root_id
            stage.pane.view.select_session(gone)
            stage.window._actions["archive"].trigger()
            await stage.until(lambda gone=gone: not stage.lists(gone))
        menu = stage.pane._sources.fill_menu()
        stage.save("sources", menu)
        next(a for a in menu.actions() if a.text().startswith("Archived (")).trigger()
        await stage.until(lambda: len(stage.sessions()) == 4)
        stage.save("archived")
        stage.pane.clear_filter()
        await stage.listed()
        stage.window.notices.close_current()
        stage.window._actions["focus_filter"].trigger()
        QTest.keyClicks(stage.pane._filter, "water")
        await stage.until(lambda: stage.pane.hits.state == "found")
        stage.save("search")
        stage.pane.hits.best.click()
        await asyncio.sleep(0.5)  # the pause and the search
        stage.save("search-best")
        stage.pane.hits.focus_first()
        QTest.keyClick(stage.pane.hits.list, Qt.Key.Key_Return)
        await stage.until(stage.window.page.view.landing.mark.isVisible)
        stage.save("search-opened")
        stage.pane._filter.setText("zebra crossing")
        await stage.until(lambda: stage.pane.hits.state == "nothing")
        stage.save("search-nothing")
