"""An export or a picture never replaces a file that a Hermes home consists of."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.core.files.home_files import refuse_home_file
from hermes_desktop.core.paths import HermesPaths


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    for name in ("desktop/snapshots/one", "sessions", "session-exports", "profiles/work"):
        (folder / name).mkdir(parents=True)
    with closing(sqlite3.connect(folder / "state.db")) as conn:
        conn.execute("CREATE TABLE sessions (id TEXT)")
    for name in ("config.yaml", ".env", "auth.json", "SOUL.md", "gateway.pid"):
        (folder / name).write_text("ours")
    for name in ("desktop/desktop.db", "sessions/sessions.json", "profiles/work/config.yaml"):
        (folder / name).write_text("ours")
    return folder


@pytest.mark.parametrize(
    "name",
    [
        "state.db",
        "state.db-wal",
        "state.db-shm",
        "STATE.DB",
        "config.yaml",
        ".env",
        "auth.json",
        "SOUL.md",
        "memory.md",
        "gateway.pid",
        "gateway_state.json",
        "desktop/desktop.db",
        "desktop/new.jsonl",
        "desktop/snapshots/one/new.jsonl",
        "sessions/sessions.json",
        "profiles/work/config.yaml",
        "profiles/work/state.db",
        "skills/new/SKILL.md",
    ],
)
def test_a_file_of_a_home_is_refused(home: Path, name: str) -> None:
    with pytest.raises(RefusedError, match="belongs to Hermes"):
        refuse_home_file(home / name, HermesPaths(home, home))


@pytest.mark.parametrize("name", ["config.yaml", "state.db", "desktop/desktop.db"])
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_another_name_of_it_is_refused(home: Path, name: str, link: object) -> None:
    other = home.parent / "export.jsonl"
    assert callable(link)
    link(home / name, other)

    with pytest.raises(RefusedError):
        refuse_home_file(other, HermesPaths(home, home))


def test_another_way_to_it_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home.parent / "way").symlink_to(home)
    monkeypatch.chdir(home / "sessions")

    for path in (home.parent / "way" / ".env", Path("../.env"), Path("sessions.json")):
        with pytest.raises(RefusedError):
            refuse_home_file(path, HermesPaths(home, home))


def test_the_homes_of_other_profiles_and_of_others_are_protected(home: Path) -> None:
    work, elsewhere = home / "profiles" / "work", home.parent / "unknown"
    elsewhere.mkdir()

    with pytest.raises(RefusedError):
        refuse_home_file(home / "auth.json", HermesPaths(work, home, "work"))
    with pytest.raises(RefusedError):
        refuse_home_file(home / "auth.json", HermesPaths(elsewhere, elsewhere))


def test_a_database_anywhere_is_refused(home: Path) -> None:
    copy = home.parent / "copy.jsonl"
    copy.write_bytes((home / "state.db").read_bytes())
    (home / "session-exports" / "s.md").write_bytes(copy.read_bytes())

    for path in (copy, home / "session-exports" / "s.md"):
        with pytest.raises(RefusedError):
            refuse_home_file(path, HermesPaths(home, home))


def test_an_ordinary_export_may_be_written(home: Path) -> None:
    old = [home / "session-exports" / "s1.md", home / "all.jsonl", home.parent / "notes.txt"]
    for path in old:
        path.write_text("an export")
    os.mkfifo(home.parent / "pipe")
    new = [home / "picture.png", home / "session-exports" / "deep" / "x.md", home.parent / "pipe"]

    for path in (*old, *new, Path(os.devnull)):
        refuse_home_file(path, HermesPaths(home, home))
