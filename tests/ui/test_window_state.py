"""What the window says of the session it shows, and what of it survives a restart."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtTest import QTest

from hermes_desktop.core.events import SettingsChanged
from hermes_desktop.services.sessions.workplace import Workplace, Workplaces
from hermes_desktop.services.transfer.session_import import plan_import, run_import
from hermes_desktop.state import SessionDB
from hermes_desktop.state.shared_tables import desktop_database
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.ui.widgets.theme import Theme
from hermes_desktop.ui.words.source_names import _NAMES, source_name
from tests.fakes.model_server import hang, text
from tests.fakes.window_stage import WindowStage

pytestmark = pytest.mark.asyncio


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    db = SessionDB(folder / "state.db")
    for name, title in (("trip", "Trip plan"), ("untitled", None)):
        db.create_session(name, "cli", model="m")
        db.append_message(name, "user", "Which train?")
        db.append_message(name, "assistant", "The 6:12.")
        if title:
            db.set_session_title(name, title)
        db.end_session(name, "cli_close")
    db.close()
    return folder


def _stored(home: Path) -> dict[str, str]:
    store = DesktopDatabase(home / "desktop" / "desktop.db")
    nothing: dict[str, str] = {}
    try:
        return store.read(desktop_database.read_window_state, default=nothing)
    finally:
        store.close()


def _type(stage: WindowStage, words: str) -> None:
    QTest.keyClicks(stage.window.page.composer.field, words)


async def _ready(stage: WindowStage) -> None:
    await stage.until(stage.window.page.composer.field.isEnabled)


async def test_drafts_and_the_session_survive_a_restart(home: Path, theme: Theme) -> None:
    async with WindowStage(home, theme) as stage:
        await _ready(stage)
        _type(stage, "something new")
        await stage.open("trip")
        _type(stage, "and back")
    async with WindowStage(home, theme) as stage:
        page = stage.window.page
        await stage.until(lambda: page.current_session_id == "trip")
        await stage.until(lambda: page.composer.text == "and back")
        await stage.until(lambda: stage.window.windowTitle() == "Trip plan")
        assert stage.window.pane.selected_session.id == "trip"
        await stage.until(page.composer.field.hasFocus)
        stage.window.new_chat()
        assert page.composer.text == "something new"


async def test_a_draft_is_stored_before_the_program_ends(home: Path, theme: Theme) -> None:
    async with WindowStage(home, theme) as stage:
        await stage.open("trip")
        await _ready(stage)
        _type(stage, "half a thought")
        await stage.until(lambda: _stored(home).get("draft:trip") == "half a thought")
        assert _stored(home)["session"] == "trip"
        stage.window.page.composer.clear()
        await stage.until(lambda: "draft:trip" not in _stored(home))


async def test_what_was_sent_does_not_come_back(home: Path, theme: Theme) -> None:
    async with WindowStage(home, theme) as stage:
        await _ready(stage)
        stage.server.script(text("Hello."))
        await stage.type_and_send("hello")
        begun = stage.window.page.current_session_id
    async with WindowStage(home, theme) as stage:
        page = stage.window.page
        await stage.until(lambda: page.current_session_id == begun)
        stage.window.new_chat()
        assert page.composer.text == ""
    assert [name for name in _stored(home) if name.startswith("draft:")] == []


async def test_what_is_sent_while_the_window_opens_stays_on_the_page(
    home: Path, theme: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = asyncio.Event()
    look = Workplaces.look

    async def after_opening(self: Workplaces, *args: Any, **options: Any) -> Workplace:
        await opened.wait()
        return await look(self, *args, **options)

    monkeypatch.setattr(Workplaces, "look", after_opening)
    async with WindowStage(home, theme) as stage:
        stage.server.script(text("Good morning."))
        checked: list[object] = []
        stage.window.page.readiness_changed.connect(checked.append)
        sending = asyncio.ensure_future(stage.type_and_send("Hello so early"))
        await stage.until(lambda: checked)
        opened.set()
        assert (await sending).outcome == "done"
        await stage.until(lambda: "Good morning." in stage.shown_text())
        assert stage.window.page.current_session_id


async def test_a_session_that_is_gone_is_not_missed(home: Path, theme: Theme) -> None:
    async with WindowStage(home, theme) as stage:
        await stage.open("trip")
    db = SessionDB(home / "state.db")
    db.delete_sessions(["trip"])
    db.close()
    async with WindowStage(home, theme) as stage:
        page = stage.window.page
        await stage.until(lambda: page.header.title.text() == "New chat")
        assert page.current_session_id is None


async def test_the_title_follows_what_is_shown(home: Path, theme: Theme) -> None:
    async with WindowStage(home, theme) as stage:
        window = stage.window
        await stage.open("trip")
        assert window.windowTitle() == "Trip plan"
        with_another_program = SessionDB(home / "state.db")
        with_another_program.set_session_title("trip", "Way to Lisbon")
        with_another_program.close()
        await stage.until(lambda: window.windowTitle() == "Way to Lisbon")
        await stage.open("untitled")
        assert window.windowTitle() == "Which train?"
        window.new_chat()
        assert window.windowTitle() == "Hermes"
        await _ready(stage)
        stage.server.script(text("At eight."))
        await stage.type_and_send("When does it leave?")
        await stage.until(lambda: window.windowTitle() == "When does it leave?")


async def test_the_strip_names_the_model_of_the_next_message(home: Path, theme: Theme) -> None:
    async with WindowStage(home, theme) as stage:
        window = stage.window
        await stage.open("trip")
        await stage.until(lambda: window._status.text.endswith("fake-model"))
        await stage.type_and_send("/model other-model")
        await stage.until(lambda: window._status.text.endswith("other-model"))
        await stage.open("untitled")
        await stage.until(lambda: window._status.text.endswith("fake-model"))

        window.show_settings()
        config = home / "config.yaml"
        config.write_text(config.read_text().replace("fake-model", "third-model"))
        stage.services.bus.publish(SettingsChanged(()))
        await stage.until(lambda: window._status.text.endswith("third-model"))


async def test_the_focus_comes_back_to_the_message_field(home: Path, theme: Theme) -> None:
    async with WindowStage(home, theme) as stage:
        composer = stage.window.page.composer
        await stage.open("trip")
        await _ready(stage)
        composer.take_focus()
        stage.server.script(hang())
        _type(stage, "hello")
        composer.send_button.click()
        await stage.until(composer.stop_button.isVisible)
        assert composer.field.hasFocus()
        composer.stop_button.click()
        await stage.until(lambda: stage.finished)
        assert composer.field.hasFocus()

        config = home / "config.yaml"
        sound = config.read_text()
        config.write_text("model: {}\n")
        stage.services.bus.publish(SettingsChanged(()))
        await stage.until(lambda: not composer.field.isEnabled())
        config.write_text(sound)
        stage.services.bus.publish(SettingsChanged(()))
        await stage.until(composer.field.hasFocus)


async def test_every_source_has_a_name_of_its_own() -> None:
    names = [source_name(source) for source in _NAMES]
    assert sorted(names) == sorted(set(names))


async def test_the_folder_of_an_imported_session_is_named_and_not_used(
    home: Path, theme: Theme
) -> None:
    db = SessionDB(home / "state.db")
    messages = [{"role": "user", "content": "Tidy up."}]
    moved = {"id": "moved", "source": "cli", "cwd": "/", "messages": messages}
    run_import(db, plan_import(db, [moved]))
    db.close()
    async with WindowStage(home, theme) as stage:
        await stage.open("moved")
        await stage.until(lambda: "it worked in / before" in stage.window.page.composer.note.text())
        assert "Choose its folder in the header" in stage.window.page.composer.note.text()
        await stage.open("trip")
        await stage.until(lambda: "was imported" not in stage.window.page.composer.note.text())
