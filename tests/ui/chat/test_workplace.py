"""The working folder in the header, and how commands are held."""

import json
import os
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit

from hermes_desktop.agent.undo.turn_record import turn_records
from hermes_desktop.ui.chat.header.workplace_control import LinksQuestion
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes import model_server as fake
from tests.fakes.chat_stage import ChatStage

pytestmark = pytest.mark.asyncio


@pytest.fixture
def user_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


@pytest.fixture
def stage(qapp: QApplication, theme: Theme, user_home: Path) -> ChatStage:
    home = user_home / ".hermes"
    home.mkdir()
    return ChatStage(home, theme)


def settings(stage: ChatStage, **sections: object) -> None:
    """Write settings besides the model."""
    stage.configure()
    config = json.loads(stage.paths.config_yaml.read_text())
    stage.paths.config_yaml.write_text(json.dumps(config | sections))
    stage.configured = False


def writes(stage: ChatStage, name: str) -> None:
    """Let the model write a file, and then answer."""
    stage.server.script(
        fake.tool_call("write_file", path=name, content="written\n"), fake.text("Done.")
    )


async def place(stage: ChatStage, label: str) -> None:
    await stage.until(lambda: stage.page.header.folder.text() == label)


def choices(stage: ChatStage) -> list[str]:
    return [each.text() for each in stage.page.header.folder.menu().actions() if each.text()]


def choose(stage: ChatStage, text: str) -> None:
    menu = stage.page.header.folder.menu()
    next(each for each in menu.actions() if each.text() == text).trigger()


async def pick(stage: ChatStage, folder: Path) -> None:
    """Choose a folder in the dialog."""
    choose(stage, "Change folder…")
    dialog = await stage.dialog()
    assert isinstance(dialog, QFileDialog)
    dialog.findChild(QLineEdit, "fileNameEdit").clearFocus()  # a focused field keeps its text
    dialog.setDirectory(str(folder.parent))
    dialog.selectFile(str(folder))
    dialog.accept()


def stored(stage: ChatStage) -> str | None:
    session_id = stage.page.current_session_id
    assert session_id is not None
    with stage.another_program() as db:
        row = db.get_session(session_id)
    assert row is not None
    return row["cwd"]


async def test_a_new_chat_works_in_a_folder_of_its_own(stage: ChatStage, user_home: Path) -> None:
    usual = user_home / "Documents" / "Hermes"
    async with stage:
        stage.page.new_chat()
        await place(stage, "Hermes")
        assert stage.page.header.folder.accessibleName() == f"Working folder: {usual}"
        await stage.until(lambda: "~/Documents/Hermes" in stage.page.empty.caption.text())
        assert not usual.exists()
        assert (await stage.say_and_wait("Hello")).outcome == "done"
        assert not usual.exists()
        writes(stage, "a.txt")
        assert (await stage.say_and_wait("Write")).outcome == "done"
        assert (usual / "a.txt").read_text() == "written\n"
        assert usual.stat().st_mode & 0o777 == 0o700
        assert stored(stage) == str(usual)
    assert sorted(each.name for each in user_home.iterdir()) == [".hermes", "Documents"]


async def test_a_picked_folder_is_kept_for_later_chats(stage: ChatStage, user_home: Path) -> None:
    folder = user_home / "projects" / "trip"
    folder.mkdir(parents=True)
    async with stage:
        stage.page.new_chat()
        await place(stage, "Hermes")
        await pick(stage, folder)
        await place(stage, "trip")
        writes(stage, "a.txt")
        await stage.say_and_wait("Write")
        assert (folder / "a.txt").exists()
        assert stored(stage) == str(folder)
        stage.page.new_chat()
        await place(stage, "trip")
        choose(stage, "~/Documents/Hermes")
        await place(stage, "Hermes")
        assert (user_home / "Documents" / "Hermes").is_dir()


async def test_the_settings_come_first(stage: ChatStage, user_home: Path) -> None:
    folder = user_home / "set"
    folder.mkdir()
    async with stage:
        settings(stage, terminal={"cwd": str(folder)})
        stage.services.window_state.keep_folder(str(user_home / "picked"))
        stage.page.new_chat()
        await place(stage, "set")
        writes(stage, "a.txt")
        await stage.say_and_wait("Write")
        assert (folder / "a.txt").exists()


async def test_a_change_counts_from_the_next_message_on(stage: ChatStage, user_home: Path) -> None:
    first, second = user_home / "first", user_home / "second"
    first.mkdir()
    (second / ".git").mkdir(parents=True)
    (second / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    stage.make_session("s", "Hi", "Hello", cwd=str(first))
    async with stage:
        await stage.show("s")
        await place(stage, "first")
        writes(stage, "a.txt")
        await stage.say_and_wait("Write")
        await pick(stage, second)
        await place(stage, "second")
        assert stored(stage) == str(second)
        writes(stage, "b.txt")
        await stage.say_and_wait("Write again")
        assert [each.name for each in first.iterdir()] == ["a.txt"]
        assert (second / "b.txt").exists()
        records = turn_records(stage.paths.desktop_dir / "undo" / "turns").all()
        assert {each.folder for each in records} == {first, second}
        with stage.another_program() as db:
            row = db.get_session("s")
        assert (row["git_branch"], row["git_repo_root"]) == ("main", str(second))
        choose(stage, "Open folder")
        await stage.until(lambda: stage.opened)
        assert stage.opened == [second.as_uri()]
        assert choices(stage)[0] == "~/second"


async def test_recent_folders_are_read_when_the_menu_opens(
    stage: ChatStage, user_home: Path
) -> None:
    for number, name in enumerate(("old", "new", "shown", "gone")):
        (user_home / name).mkdir()
        stage.make_session(name, "Hi", "Hello", cwd=str(user_home / name), age_s=1e5 - number)
    (user_home / "gone").rmdir()
    async with stage:
        read: list[int] = []
        recent_folders = stage.services.db.recent_folders

        def counted(limit: int) -> list[str]:
            read.append(threading.get_ident())
            return recent_folders(limit)

        stage.services.db.recent_folders = counted
        await stage.show("shown")
        await place(stage, "shown")
        await stage.page.workplace.look()
        fixed = ["~/shown", "Change folder…", "Open folder", "~/Documents/Hermes"]
        assert (choices(stage), read) == (fixed, [])
        menu = stage.page.header.folder.menu()
        menu.popup(QPoint())
        first = menu.actions()[0]
        await stage.until(lambda: choices(stage) == [*fixed, "~/new", "~/old"])
        assert menu.actions()[0] is first  # what was there before is not touched
        assert threading.get_ident() not in read
        choose(stage, "~/old")
        menu.close()
        await place(stage, "old")
        assert choices(stage)[3:] == ["~/Documents/Hermes", "~/shown", "~/new"]


async def test_the_model_is_told_of_a_change_once(stage: ChatStage, user_home: Path) -> None:
    first, second = user_home / "first", user_home / "second"
    first.mkdir()
    second.mkdir()
    async with stage:
        stage.page.new_chat()
        await place(stage, "Hermes")
        await pick(stage, first)
        await place(stage, "first")
        await stage.say_and_wait("One")
        await pick(stage, second)
        await place(stage, "second")
        await stage.say_and_wait("Two")
        await stage.say_and_wait("Three")
    said = [each.messages for each in stage.server.requests if each.messages[0]["role"] == "system"]
    told = [
        [
            each["content"]
            for each in messages
            if each["role"] == "user" and "is now" in str(each["content"])
        ]
        for messages in said
    ]
    news = f"[The working folder is now {second}]\n\nTwo"
    assert told == [[], [news], [news]]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (".", "is your home"),
        ("..", "contains your home"),
        ("/", "contains your home"),
        (".hermes", "files of Hermes"),
        (".ssh", "keys"),
    ],
)
async def test_some_folders_are_refused_with_a_reason(
    stage: ChatStage, user_home: Path, name: str, words: str
) -> None:
    (user_home / ".ssh").mkdir()
    stage.make_session("s", "Hi", "Hello", cwd=str(user_home / "gone"))
    async with stage:
        await stage.show("s")
        await place(stage, "gone")
        stage.page.header.folder.picked.emit(os.path.normpath(user_home / name))
        await stage.until(lambda: stage.notices)
        assert words in stage.notices[-1].detail
        assert stored(stage) == str(user_home / "gone")


async def test_a_removed_folder_is_named_and_nothing_is_written(
    stage: ChatStage, user_home: Path
) -> None:
    stage.make_session("s", "Hi", "Hello", cwd=str(user_home / "gone"))
    async with stage:
        await stage.show("s")
        await place(stage, "gone")
        await stage.until(lambda: "is gone" in stage.page.composer.note.text())
        writes(stage, "a.txt")
        await stage.say_and_wait("Write")
        results = [m for m in stage.server.requests[-1].messages if m["role"] == "tool"]
        assert "is gone" in results[-1]["content"]
        (user_home / "gone").mkdir()
        writes(stage, "a.txt")
        await stage.say_and_wait("Again")
        assert (user_home / "gone" / "a.txt").exists()
    assert sorted(each.name for each in user_home.iterdir()) == [".hermes", "gone"]


async def test_an_imported_session_waits_for_a_choice(stage: ChatStage, user_home: Path) -> None:
    old = user_home / "old"
    old.mkdir()
    stage.make_session("s", "Hi", "Hello", model_config={"_imported_cwd": str(old)})
    async with stage:
        await stage.show("s")
        await place(stage, "Choose a folder…")
        assert "was imported" in stage.page.composer.note.text()
        writes(stage, "a.txt")
        await stage.say_and_wait("Write")
        assert not list(old.iterdir())
        choose(stage, "Use this folder")
        await place(stage, "old")
        assert stage.page.composer.note.text() == ""
        writes(stage, "a.txt")
        await stage.say_and_wait("Again")
        assert (old / "a.txt").exists()
        assert stored(stage) == str(old)
    assert not (user_home / "Documents").exists()


async def test_a_stored_home_is_left(stage: ChatStage, user_home: Path) -> None:
    stage.make_session("s", "Hi", "Hello", cwd=str(user_home))
    async with stage:
        await stage.show("s")
        await place(stage, "Hermes")
        assert "your home folder before" in stage.page.header.folder.toolTip()
        writes(stage, "a.txt")
        await stage.say_and_wait("Write")
        assert (user_home / "Documents" / "Hermes" / "a.txt").exists()
        assert not (user_home / "a.txt").exists()


@pytest.mark.parametrize("use", [True, False])
async def test_files_with_names_elsewhere_are_asked_about(
    stage: ChatStage, user_home: Path, use: bool
) -> None:
    folder = user_home / "work"
    folder.mkdir()
    (user_home / "thesis").write_text("x")
    (folder / "copy").hardlink_to(user_home / "thesis")
    stage.make_session("s", "Hi", "Hello", cwd=str(user_home / "before"))
    async with stage:
        await stage.show("s")
        await place(stage, "before")
        stage.page.header.folder.picked.emit(str(folder))
        dialog = await stage.dialog()
        assert isinstance(dialog, LinksQuestion)
        assert "1 file in" in dialog.informativeText()
        assert "(copy)" in dialog.informativeText()
        dialog.use_button.click() if use else dialog.reject()
        await place(stage, "work" if use else "before")
        await stage.until(lambda: stored(stage) == str(folder if use else user_home / "before"))


async def test_approvals_that_are_off_are_shown(stage: ChatStage) -> None:
    off: list[bool] = []
    settings(stage, approvals={"sandboxed_commands": "off"})
    async with stage:
        stage.page.workplace.approvals_off.connect(off.append)
        stage.page.new_chat()
        hold = stage.page.header.hold
        await stage.until(lambda: hold.text() == "No sandbox")
        await stage.say_and_wait("Hello")
        await stage.say_and_wait("/yolo")
        await stage.until(lambda: hold.text() == "YOLO")
        assert off[-1] is False
        assert "asks nothing here" in hold.toolTip()
        stage.page.new_chat()
        await stage.until(lambda: hold.text() == "No sandbox")
        settings(stage, approvals={"mode": "off", "sandboxed_commands": "off"})
        stage.page.new_chat()
        await stage.until(lambda: hold.text() == "Approvals off")
        assert off[-1] is True
