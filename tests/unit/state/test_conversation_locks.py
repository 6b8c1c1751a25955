"""Which sessions share a lock, and what happens where files cannot be locked."""

import os
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks


@pytest.fixture
def locks(db: SessionDB, tmp_path: Path) -> ConversationLocks:
    return ConversationLocks(db, tmp_path / "desktop", "a test")


def test_a_conversation_keeps_its_lock_when_it_goes_on_elsewhere(
    db: SessionDB, locks: ConversationLocks
) -> None:
    db.create_session("root", "cli")
    held = locks.attempt("root")
    assert held.try_now()
    db.end_session("root", "compression")
    db.create_session("tip", "cli", parent_session_id="root")
    assert not locks.attempt("tip").try_now()
    assert str(locks.owner("tip")).startswith("a test (process ")
    held.give_back()
    assert locks.owner("tip") is None


def test_a_branch_is_another_conversation(db: SessionDB, locks: ConversationLocks) -> None:
    db.create_session("root", "cli")
    db.create_session("branch", "cli", parent_session_id="root",
                      model_config={"_branched_from": "root"})  # fmt: skip
    held, other = locks.attempt("root"), locks.attempt("branch")
    assert held.try_now()
    assert other.try_now()
    held.give_back()
    other.give_back()


@pytest.mark.parametrize("session_id", ["../../up", "a/b", "ü" * 300, "x.turn", "", "CON"])
def test_any_id_makes_a_file_in_the_folder(
    locks: ConversationLocks, tmp_path: Path, session_id: str
) -> None:
    held = locks.attempt(session_id)
    assert held.try_now()
    (file,) = (tmp_path / "desktop" / "turns").iterdir()
    assert file.suffix == ".turn"
    held.give_back()
    assert not file.exists()


def test_files_of_killed_programs_go_with_the_first_attempt(
    locks: ConversationLocks, tmp_path: Path
) -> None:
    folder = tmp_path / "desktop" / "turns"
    folder.mkdir(parents=True)
    for number in range(50):
        (folder / f"{number}.turn").touch()
    (folder / "new.left").write_text("1")
    (folder / "old.left").write_text("1")
    os.utime(folder / "old.left", (0, 0))
    locks.attempt("s").give_back()
    assert [file.name for file in folder.iterdir()] == ["new.left"]


def test_where_files_cannot_be_locked_turns_run_and_it_is_told_once(
    db: SessionDB, tmp_path: Path
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    locks = ConversationLocks(db, blocked, "a test")
    assert locks.take_problem() == ""
    first, second = locks.attempt("s"), locks.attempt("s")
    assert first.try_now()
    assert second.try_now()
    assert locks.owner("s") is None
    assert "blocked" in locks.take_problem()
    assert locks.take_problem() == ""
    first.give_back()
