"""The folder in which tools work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.agent.sandbox.own_places import Homes
from hermes_desktop.agent.tools.base import ToolError
from hermes_desktop.agent.tools.tool_assembly import ToolParts, build_tools
from hermes_desktop.agent.tools.work_folder import (
    WorkFolder,
    chat_folder,
    default_folder,
    shell_folder,
    why_not,
)
from tests.fakes.tool_stage import ToolStage, call


@pytest.fixture
def homes(tmp_path: Path) -> Homes:
    user = tmp_path / "user"
    (user / ".hermes").mkdir(parents=True)
    return Homes(user, user / ".hermes")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ToolStage]:
    stage = ToolStage(tmp_path)
    yield stage
    stage.close()


# Which one


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("", "Documents"),
        ('XDG_DOCUMENTS_DIR="$HOME/Dokumente"\n', "Dokumente"),
        ('# XDG_DOCUMENTS_DIR="$HOME/Old"\nXDG_MUSIC_DIR="$HOME/Music"\n', "Documents"),
        ('XDG_DOCUMENTS_DIR="$HOME/"\n', ""),
        ('XDG_DOCUMENTS_DIR="relative"\n', "Documents"),
    ],
)
def test_the_default_is_in_the_documents_folder(homes: Homes, text: str, folder: str) -> None:
    (homes.user / ".config").mkdir()
    (homes.user / ".config" / "user-dirs.dirs").write_text(text)
    assert default_folder(homes.user, {}) == homes.user / folder / "Hermes"


def test_the_desktop_settings_may_be_elsewhere(homes: Homes, tmp_path: Path) -> None:
    (tmp_path / "user-dirs.dirs").write_text('XDG_DOCUMENTS_DIR="/data/papers"\n')
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert default_folder(homes.user, environ) == Path("/data/papers/Hermes")


def test_chats_work_in_the_default_unless_another_is_set(homes: Homes, tmp_path: Path) -> None:
    usual = WorkFolder(homes.user / "Documents" / "Hermes", is_default=True)
    named = tmp_path / "named"
    for cwd in ("", ".", "auto", "cwd", "~", "~/", str(homes.user), "/", "relative", 5, None):
        assert chat_folder({"terminal": {"cwd": cwd}}, homes, {}) == usual
    config = {"terminal": {"cwd": f" {named} "}}
    assert chat_folder(config, homes, {}) == WorkFolder(named)
    in_home = {"terminal": {"cwd": "~/projects"}}
    assert chat_folder(in_home, homes, {}) == WorkFolder(homes.user / "projects")
    stored = tmp_path / "stored"
    assert chat_folder(config, homes, {}, stored=stored) == WorkFolder(stored)
    assert chat_folder({}, homes, {}, stored=usual.path) == usual


def test_a_stored_home_is_left(homes: Homes, tmp_path: Path) -> None:
    usual = WorkFolder(homes.user / "Documents" / "Hermes", is_default=True)
    link = tmp_path / "link"
    link.symlink_to(homes.user)
    for stored in (homes.user, homes.user.parent, Path("/"), link, Path("C:\\x")):
        assert chat_folder({}, homes, {}, stored=stored) == usual


def test_an_imported_session_has_none_until_one_is_chosen(homes: Homes, tmp_path: Path) -> None:
    found = chat_folder({"terminal": {"cwd": "/srv"}}, homes, {}, imported="/old")
    assert found.unconfirmed == "/old"
    chosen = chat_folder({}, homes, {}, stored=tmp_path / "chosen", imported="/old")
    assert chosen == WorkFolder(tmp_path / "chosen")


def test_a_shell_keeps_its_folder(
    homes: Homes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(homes.user)
    assert shell_folder({}, homes) == WorkFolder(homes.user)
    assert shell_folder({"terminal": {"cwd": "~/x"}}, homes) == WorkFolder(homes.user / "x")
    assert shell_folder({}, homes, stored=tmp_path) == WorkFolder(tmp_path)


# Which ones never


def test_what_is_no_folder_for_work(homes: Homes) -> None:
    for name in (".ssh", ".config", "projects", "projects/trip"):
        (homes.user / name).mkdir()
    (homes.user / "file").write_text("x")
    assert why_not(homes.user / "projects" / "trip", homes) == ""
    for folder, words in (
        (homes.user, "is your home"),
        (homes.user.parent, "contains your home"),
        (Path("/"), "contains your home"),
        (homes.hermes, "files of Hermes"),
        (homes.user / ".ssh", "keys"),
        (homes.user / ".config", "settings of programs"),
        (Path("/etc"), "system"),
        (homes.user / "gone", "does not exist"),
        (homes.user / "file", "not a folder"),
    ):
        assert words in why_not(folder, homes)
    (homes.user / "projects" / "link").symlink_to(homes.user)
    assert "home" in why_not(homes.user / "projects" / "link", homes)


def test_a_link_to_itself_is_no_folder_for_work_and_no_error(homes: Homes) -> None:
    loop = homes.user / "loop"
    loop.symlink_to(loop)
    assert "does not exist" in why_not(loop, homes)


# Before a tool works


def test_the_default_is_created_for_its_owner_alone(tmp_path: Path) -> None:
    folder = WorkFolder(tmp_path / "Documents" / "Hermes", is_default=True)
    folder.require()
    folder.require()
    assert folder.path.stat().st_mode & 0o777 == 0o700


def test_why_there_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "Documents").write_text("no folder")
    for folder, words in (
        (WorkFolder(tmp_path / "Documents" / "Hermes", is_default=True), "cannot be created"),
        (WorkFolder(tmp_path / "gone"), "is gone"),
        (WorkFolder(tmp_path, unconfirmed="/old"), "was imported"),
    ):
        with pytest.raises(ToolError, match=words) as raised:
            folder.require()
        assert "sessions folder" in str(raised.value)


def parts_of(stage: ToolStage) -> ToolParts:
    return ToolParts(
        home=stage.home,
        user_home=stage.user_home,
        store=stage.db,
        clock=stage.clock,
        environ=stage.environ,
        clean=stage.redactor.clean,
        queue=stage.queue,
        memory=stage.memory,
        processes=stage.processes,
    )


def test_building_tools_creates_nothing(stage: ToolStage) -> None:
    box = build_tools(parts_of(stage), {}, platform="desktop", session_key="k", cwd=None)
    assert box is not None
    assert box.folder == stage.user_home / "Documents" / "Hermes"
    assert str(box.folder) in box.prompt_part()
    assert not box.folder.exists()


def test_a_tool_without_a_folder_changes_nothing(stage: ToolStage) -> None:
    stage.cwd.rmdir()
    written, ran, listed = stage.result(
        call("write_file", "1", path="a.txt", content="x"),
        call("terminal", "2", command="echo x > b.txt"),
        call("process", "3", action="list"),
    )
    assert "is gone" in written["error"]
    assert "is gone" in ran["error"]
    assert listed["processes"] == []
    assert not stage.cwd.exists()
    assert {each.name for each in stage.user_home.iterdir()} == {".hermes"}
