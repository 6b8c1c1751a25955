"""The window with its real parts, on the history of the demonstration."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDialog, QMainWindow, QMessageBox, QSplitter, QWidget

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import GatewayStatusChanged, Notice, OtherGateway, PlatformHealth
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.services.assembly.demo_home import create_demo_home
from hermes_desktop.state import SessionDB
from hermes_desktop.ui.chat.chat_page import ChatPage
from hermes_desktop.ui.shell.guide_dialog import GuideDialog
from hermes_desktop.ui.shell.key_map import KeysDialog
from hermes_desktop.ui.shell.main_window import FIRST_SIZE, MainWindow
from hermes_desktop.ui.shell.window_memory import WindowSettings
from hermes_desktop.ui.shell.window_parts import SplitView
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme
from tests.support.waiting import until

SCREENS = Path(__file__).parents[2] / ".ci" / "out" / "screens"


class Stage:
    """A window that runs, and the switch of its tray."""

    def __init__(self, folder: Path, theme: Theme) -> None:
        self.paths = create_demo_home(folder, now=time.time())
        self.theme = theme
        self.tray_there = True
        self.quits = 0

    async def __aenter__(self) -> Self:
        self.services = build_services(
            self.paths, redactor=SecretRedactor(), offline=True, environ={}, hosts=False
        )
        self.bus = self.services.bus
        slots = AsyncSlots(self.services.tasks, self.bus)
        self.bridge = EventBridge(self.bus)
        parts = {"services": self.services, "slots": slots, "bridge": self.bridge}
        self.window = MainWindow(
            **parts,
            theme=self.theme,
            page=ChatPage(**parts, theme=self.theme),
            tray_available=lambda: self.tray_there,
            clock=SystemClock(),
            demo=True,
        )
        self.window.resize(FIRST_SIZE)
        self.window.quit_wanted.connect(self._count)
        await self.services.start()
        self.window.show()
        self.window.begin()
        await self.until(lambda: self.model.rowCount() > 20)
        return self

    async def __aexit__(self, *_) -> None:
        self.window.prepare_to_end()
        await self.services.close(drain_s=0.0)
        self.window.close()
        self.window.deleteLater()
        self.bridge.close()

    @property
    def model(self):
        return self.window.pane.view.model()

    def session(self, number: int):
        """The number-th session of the list, from 0."""
        rows = (self.model.summary_at(self.model.index(r, 0)) for r in range(self.model.rowCount()))
        return [row for row in rows if row is not None][number]

    async def until(self, condition: Callable[[], object]) -> None:
        await until(condition)

    def open_dialogs(self) -> list[QDialog]:
        return [
            w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog) and w.isVisible()
        ]

    def press(self, action: str) -> None:
        """What the key of an action does."""
        self.window._actions[action].trigger()

    def _count(self) -> None:
        self.quits += 1


@pytest.fixture
def stage(qapp, theme, tmp_path) -> Stage:
    folder = tmp_path / "home"
    folder.mkdir()
    return Stage(folder, theme)


@pytest.mark.asyncio
async def test_shows_the_history_and_what_is_true_at_the_foot(stage) -> None:
    async with stage:
        window = stage.window
        await stage.until(lambda: "Gateway stopped" in window._status.text)
        await stage.until(lambda: "·" in window._status.text)
        total = (await stage.services.catalog.page(window.pane.query)).total
        assert stage.model.session_count == total
        stage.bus.publish(GatewayStatusChanged("working", running_turns=2))
        assert "Working on 2 replies" in window._status.text


@pytest.mark.asyncio
async def test_selecting_shows_and_a_foreign_change_moves_nothing(qtbot, stage) -> None:
    async with stage:
        window, view = stage.window, stage.window.pane.view
        session = stage.session(6)
        row = stage.model.row_of_session(session.id)
        rect = view.visualRect(stage.model.index(row, 0))
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
        await stage.until(lambda: window.page.current_session_id == session.id)
        assert session.label[:20] in window.windowTitle()
        other = stage.session(20)
        with_another_program = SessionDB(stage.paths.state_db)
        with_another_program.append_message(other.id, "user", "A foreign word")
        with_another_program.close()
        await stage.until(lambda: stage.session(0).root_id == other.root_id)
        assert view.selected_session.root_id == session.root_id
        assert window.page.current_session_id == session.id


@pytest.mark.asyncio
async def test_the_rail_and_its_keys_lead_to_the_platforms_and_back(qtbot, stage) -> None:
    async with stage:
        window, page = stage.window, stage.window.gateway.page
        stage.press("show_platforms")
        assert page.isVisible()
        assert not window.page.isVisible()
        stage.press("escape")
        assert window.page.isVisible()
        qtbot.mouseClick(window._status.line, Qt.MouseButton.LeftButton)
        assert page.isVisible()
        stage.press("new_chat")
        assert window.page.isVisible()
        stage.press("show_platforms")
        await window.show_session(stage.session(3).id)
        assert not page.isVisible()


@pytest.mark.asyncio
async def test_the_rail_marks_the_page_that_needs_a_person(stage) -> None:
    async with stage:
        button = stage.window._rail.platforms_button
        slack = PlatformHealth("slack", "fatal")
        stage.bus.publish(GatewayStatusChanged("degraded", platforms=(slack,)))
        assert button.needs == "Gateway running, with a problem"
        assert button.accessibleDescription() == button.needs
        stage.window.grab()
        stage.bus.publish(GatewayStatusChanged("running"))
        assert button.needs == ""


@pytest.mark.asyncio
async def test_the_banner_comes_back_with_the_sessions(stage) -> None:
    async with stage:
        banner = stage.window.gateway.banner
        stage.press("show_platforms")
        attached = GatewayStatusChanged("attached", other=OtherGateway("hermes gateway", 4711))
        stage.services.gateway._board.status = attached
        stage.bus.publish(attached)
        assert not banner.isVisible()
        stage.press("focus_list")
        assert banner.isVisible()


@pytest.mark.asyncio
async def test_keys_that_mean_a_session_do_nothing_on_another_page(stage) -> None:
    async with stage:
        session = stage.session(2)
        await stage.window.show_session(session.id)
        stage.press("show_platforms")
        for name in ("delete", "archive", "rename"):
            stage.press(name)
        await asyncio.sleep(0.05)
        assert stage.open_dialogs() == []
        assert stage.session(2).root_id == session.root_id


@pytest.mark.asyncio
async def test_nothing_of_the_gateway_beats_in_a_hidden_window(stage) -> None:
    async with stage:
        window = stage.window
        health = PlatformHealth("telegram", "connected", time.time())
        stage.bus.publish(GatewayStatusChanged("running", platforms=(health,)))
        assert window.gateway.timer.running
        window.hide()
        assert not window.gateway.timer.running


@pytest.mark.asyncio
async def test_closing_hides_where_a_tray_leads_back(stage) -> None:
    async with stage:
        stage.window.close()
        assert not stage.window.isVisible()
        assert stage.open_dialogs() == []
        stage.window.come_forward()
        assert stage.window.isVisible()


@pytest.mark.asyncio
@pytest.mark.parametrize("answer", ["Keep running", "Quit Hermes", "Cancel"])
async def test_closing_without_a_tray_asks(stage, answer) -> None:
    async with stage:
        stage.tray_there = False
        stage.window.close()
        stage.window.close()
        await stage.until(lambda: len(stage.open_dialogs()) == 1)
        box = stage.open_dialogs()[0]
        assert isinstance(box, QMessageBox)
        next(b for b in box.buttons() if b.text().replace("&", "") == answer).click()
        await stage.until(lambda: stage.open_dialogs() == [])
        await asyncio.sleep(0.02)
        assert stage.quits == (1 if answer == "Quit Hermes" else 0)
        assert stage.window.isMinimized() is (answer == "Keep running")
        if answer == "Keep running":
            stage.window.come_forward()
            stage.window.close()
            await asyncio.sleep(0.02)
            assert stage.open_dialogs() == []
            assert stage.window.isMinimized()


@pytest.mark.asyncio
async def test_a_tray_that_vanishes_leaves_no_window_out_of_reach(stage) -> None:
    async with stage:
        stage.window.close()
        stage.tray_there = False
        stage.window.tray_changed(False)
        assert stage.window.isVisible()
        assert stage.window.isMinimized()


@pytest.mark.asyncio
async def test_watching_is_slow_while_nothing_shows(stage) -> None:
    async with stage:
        seen: list[bool] = []
        stage.services.watch.set_visible = seen.append
        stage.window.hide()
        stage.window.show()
        stage.window.showMinimized()
        assert seen[0] is False
        assert seen[-1] is False
        assert True in seen


@pytest.mark.asyncio
async def test_narrow_windows_show_one_side_and_lead_back(stage) -> None:
    async with stage:
        window = stage.window
        session = stage.session(2)
        await window.show_session(session.id)
        window.resize(760, 560)
        await asyncio.sleep(0)
        assert window.page.isVisible()
        assert not window.pane.isVisible()
        window.page.back_requested.emit()
        assert window.pane.isVisible()
        assert not window.page.isVisible()
        window.pane.session_clicked.emit()
        assert window.page.isVisible()
        window.resize(FIRST_SIZE)
        assert window.pane.isVisible()
        assert window.page.isVisible()


@pytest.mark.asyncio
async def test_keys(qtbot, stage) -> None:
    async with stage:
        window = stage.window
        stage.press("focus_filter")
        assert window.pane._filter.hasFocus()
        window.pane._filter.setText("vienna")
        await stage.until(lambda: stage.model.session_count < 20)
        stage.press("escape")
        assert window.pane._filter.text() == ""
        await stage.until(lambda: stage.model.session_count > 20)
        stage.press("focus_list")
        assert window.pane.view.hasFocus()
        await window.show_session(stage.session(1).id)
        stage.press("new_chat")
        assert window.page.current_session_id is None
        assert window.pane.selected_session is None
        stage.press("show_keys")
        dialog = stage.open_dialogs()[0]
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
        assert stage.open_dialogs() == []
        stage.bus.publish(Notice("error", "Something", key="x"))
        stage.press("escape")
        assert window.notices.current is None
        stage.press("quit")
        assert stage.quits == 1
        stage.press("hide_window")
        assert not window.isVisible()


@pytest.mark.asyncio
async def test_f1_leads_to_the_guide_which_stays_open_beside_the_window(qtbot, stage) -> None:
    async with stage:
        stage.press("show_keys")
        await stage.until(stage.open_dialogs)
        (keys,) = stage.open_dialogs()
        assert isinstance(keys, KeysDialog)
        qtbot.mouseClick(keys.guide_button, Qt.MouseButton.LeftButton)
        await stage.until(lambda: [type(each) for each in stage.open_dialogs()] == [GuideDialog])
        (guide,) = stage.open_dialogs()
        assert not guide.isModal()

        stage.window._navigation.show_guide()
        assert stage.open_dialogs() == [guide]
        await stage.until(guide.isActiveWindow)  # the window behind it has a use for the key, too
        qtbot.keyClick(guide, Qt.Key.Key_Escape)
        await stage.until(lambda: not stage.open_dialogs())
        stage.window._navigation.show_guide()
        await stage.until(lambda: stage.open_dialogs() == [guide])
    assert not stage.open_dialogs()


@pytest.mark.asyncio
async def test_escape_stops_a_running_reply(stage) -> None:
    async with stage:
        session = stage.session(3)
        await stage.window.show_session(session.id)
        await stage.services.chat.send("Tell me a long story", session_id=session.id)
        await stage.until(lambda: stage.services.chat.is_running(session.id))
        stage.press("escape")
        await stage.until(lambda: not stage.services.chat.is_running(session.id))


@pytest.mark.asyncio
async def test_the_tray_gets_the_newest_sessions(stage) -> None:
    told: list = []
    async with stage:
        stage.window.recent_changed.connect(told.append)
        stage.press("refresh")
        await stage.until(lambda: bool(told))
        assert [row.id for row in told[-1]] == [stage.session(n).id for n in range(5)]


@pytest.mark.asyncio
async def test_the_place_is_written_at_the_end_and_not_before(stage) -> None:
    async with stage:
        stage.window.resize(1000, 700)
        await asyncio.sleep(0.05)
        assert not stage.paths.desktop_dir.exists()
    assert stage.paths.window_ini.is_file()
    assert stage.paths.desktop_dir.stat().st_mode & 0o777 == 0o700


def test_place_and_splitter_come_back(qtbot, theme, tmp_path) -> None:
    memory = WindowSettings(tmp_path / "desktop" / "window.ini")

    def make() -> tuple[QMainWindow, SplitView]:
        window, splitter = QMainWindow(), SplitView(theme, QWidget(), QWidget(), left_width=100)
        qtbot.addWidget(window)
        window.setCentralWidget(splitter)
        return window, splitter

    first, splitter = make()
    assert not memory.restore(first, splitter)
    first.resize(640, 480)
    first.show()
    splitter.setSizes([200, 439])
    sizes = splitter.sizes()
    memory.save(first, splitter)
    second, other_splitter = make()
    assert memory.restore(second, other_splitter)
    second.show()
    assert second.size() == first.size()
    assert other_splitter.sizes() == sizes


def test_a_broken_ini_is_as_good_as_none(qtbot, tmp_path) -> None:
    path = tmp_path / "window.ini"
    path.write_bytes(b"\x00[window\ngeometry=\xff\xfe@ByteArray(nonsense")
    window = QMainWindow()
    qtbot.addWidget(window)
    assert not WindowSettings(path).restore(window, QSplitter())


@pytest.mark.asyncio
async def test_a_home_that_cannot_be_written_is_no_reason_to_complain(stage) -> None:
    async with stage:
        stage.paths.desktop_dir.write_text("a file where the folder would be")
    assert stage.paths.desktop_dir.is_file()


@pytest.mark.asyncio
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pictures_for_looking_at(stage, scheme) -> None:
    stage.theme.set_scheme(scheme)
    SCREENS.mkdir(parents=True, exist_ok=True)
    async with stage:
        await stage.window.show_session(stage.session(2).id)
        await asyncio.sleep(0.5)
        assert stage.window.grab().save(str(SCREENS / f"window-{scheme}.png"))
        stage.bus.publish(
            Notice(
                "error",
                "The model cannot be reached.",
                "http://127.0.0.1:11434/v1 refused the connection.",
                "Start the server, or name another one in config.yaml.",
                key="x",
            )
        )
        stage.window.pane.fold.toggle()
        stage.window.resize(760, 560)
        stage.window.page.back_requested.emit()
        await asyncio.sleep(0.3)
        assert stage.window.grab().save(str(SCREENS / f"window-narrow-{scheme}.png"))


@pytest.mark.asyncio
async def test_a_reply_stays_on_screen_when_its_rows_have_been_read(stage) -> None:
    async with stage:
        window = stage.window
        session = stage.session(3)
        await window.show_session(session.id)
        await stage.services.chat.send("Thank you", session_id=session.id)
        await stage.until(lambda: not stage.services.chat.is_running(session.id))
        newest = (await stage.services.transcript.open(session.id)).messages[-1]
        view = window.page.view
        await stage.until(lambda: view.window_of_entries.newest_id == newest.id)
        await asyncio.sleep(0.2)
        last = view.area.column.items[-1].widget
        assert last.height() > 20
        assert not last.visibleRegion().isEmpty()
