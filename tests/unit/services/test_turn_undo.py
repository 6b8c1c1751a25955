"""Undoing turns and taking that back: real turns in a real folder, on a real store."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_desktop.agent.types import ToolCall
from hermes_desktop.agent.undo.folder_scan import Limits
from hermes_desktop.agent.undo.turn_undo import UndoStore
from hermes_desktop.core.errors import NotFoundError, RefusedError
from hermes_desktop.services.sessions.session_actions import RunningTurnError, never_running
from hermes_desktop.services.sessions.session_changes import ChangedByTurn, TurnChanges
from hermes_desktop.services.sessions.turn_undo import TurnUndoing
from hermes_desktop.services.sessions.undo_plan import UndoChoice, typed_undo
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks
from tests.fakes.tool_stage import SID, ToolStage, call

CHECKOUT = Path(__file__).parents[3]
CHANGE = "printf 'one\\nTWO\\n' > plan.txt; rm old.txt; mkdir new; echo new > new/a; chmod 600 run"


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ToolStage]:
    made = ToolStage(tmp_path)
    made.config["approvals"] = {"mode": "off"}
    (made.cwd / "plan.txt").write_text("one\ntwo\n")
    (made.cwd / "old.txt").write_text("old\n")
    (made.cwd / "run").write_text("#!/bin/sh\n")
    (made.cwd / "run").chmod(0o755)
    for path in made.cwd.iterdir():
        os.utime(path, (1.7e9, 1.7e9))
    yield made
    made.close()


def store_of(home: Path, user_home: Path) -> UndoStore:
    return UndoStore(home / "desktop" / "undo", user_home, home, Limits(free_bytes=0))


@pytest.fixture
def store(stage: ToolStage) -> UndoStore:
    return store_of(stage.home, stage.user_home)


@pytest.fixture
def undoing(stage: ToolStage, store: UndoStore) -> TurnUndoing:
    locks = ConversationLocks(stage.db, stage.home / "desktop", "tests")
    return TurnUndoing(stage.db, store, locks, never_running)


@pytest.fixture
def changes(stage: ToolStage, store: UndoStore) -> TurnChanges:
    return TurnChanges(stage.db, store, never_running)


def turn(stage: ToolStage, store: UndoStore, *calls: ToolCall) -> None:
    for result in stage.result(*calls, undo=store):
        assert not result.get("error"), result


def shell(command: str) -> ToolCall:
    return call("terminal", command=command)


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mode,
            path.read_bytes() if stat.S_ISREG(path.stat().st_mode) else b"",
        )
        for path in sorted(folder.rglob("*"))
    }


def said(stage: ToolStage) -> list[str]:
    return [str(each["role"]) for each in stage.db.get_messages_as_conversation(SID)]


def test_an_undo_is_taken_back(stage: ToolStage, store: UndoStore, undoing: TurnUndoing) -> None:
    before = tree(stage.cwd)
    turn(stage, store, shell(CHANGE))
    after, roles = tree(stage.cwd), said(stage)
    plan = undoing.plan(SID)
    assert len(plan.rows) == len(roles) == 4
    assert [each.role for each in undoing.messages(plan)] == roles
    done = undoing.undo(plan)
    assert (tree(stage.cwd), said(stage), done.rows) == (before, [], 4)

    mark = stage.db.session_mark(SID)
    restored = undoing.redo(SID, done.undo_id)
    assert (tree(stage.cwd), said(stage), restored.rows) == (after, roles, 4)
    assert stage.db.session_mark(SID) != mark  # agents that are kept read the session again

    with pytest.raises(NotFoundError, match="nothing to restore"):
        undoing.redo(SID)
    undoing.undo(undoing.plan(SID))  # and once more
    assert (tree(stage.cwd), said(stage)) == (before, [])


def test_turns_from_a_message_on(stage: ToolStage, store: UndoStore, undoing: TurnUndoing) -> None:
    before = tree(stage.cwd)
    turn(stage, store, shell("echo 1 > plan.txt"))
    turn(stage, store, shell("echo 2 > plan.txt"))
    turn(stage, store, shell("rm old.txt"))
    rows = stage.db.active_message_ids(SID, 0)
    reply_of_second = rows[7]
    plan = undoing.plan(SID, message_id=reply_of_second)
    assert plan.turns == 2
    undoing.undo(plan)
    assert (stage.cwd / "plan.txt").read_text() == "1\n"
    assert len(said(stage)) == 4
    with pytest.raises(NotFoundError, match="cannot be undone"):
        undoing.plan(SID, message_id=reply_of_second)
    undoing.undo(undoing.plan(SID))
    assert tree(stage.cwd) == before
    undoing.redo(SID)  # the latest one first
    assert (stage.cwd / "plan.txt").read_text() == "1\n"


def test_the_last_turn_that_changed_files(
    stage: ToolStage, store: UndoStore, undoing: TurnUndoing, changes: TurnChanges
) -> None:
    assert changes.of(SID).last_turn is None
    turn(stage, store, shell(CHANGE))
    rows = stage.db.active_message_ids(SID, 0)
    changed = ChangedByTurn(rows[0], rows[-1], files=4)
    assert changes.of(SID).last_turn == changed
    turn(stage, store, shell("true"))
    assert changes.of(SID).last_turn is None  # the turn after it changed nothing
    undoing.undo(undoing.plan(SID))
    assert changes.of(SID).last_turn == changed
    done = undoing.undo(undoing.plan(SID))
    assert changes.of(SID).last_turn is None
    undoing.redo(SID, done.undo_id)
    assert changes.of(SID).last_turn == changed


def test_an_interrupted_turn_is_offered_once_it_no_longer_runs(
    stage: ToolStage, store: UndoStore
) -> None:
    running = ["it is being answered"]
    changes = TurnChanges(stage.db, store, lambda _: running[0] if running else None)
    turn(stage, store, shell(CHANGE))
    (record,) = store.records.all()
    store.records.write(replace(record, state="running"))
    assert changes.of(SID).last_turn is None
    running.clear()
    rows = stage.db.active_message_ids(SID, 0)
    assert changes.of(SID).last_turn == ChangedByTurn(rows[0], rows[-1], files=0)


def test_only_what_is_chosen(stage: ToolStage, store: UndoStore, undoing: TurnUndoing) -> None:
    turn(stage, store, shell(CHANGE))
    (stage.cwd / "plan.txt").write_text("by hand\n")
    (stage.cwd / "old.txt").write_text("by hand\n")
    plan = undoing.plan(SID)
    by_name = {each.path: each for each in plan.files.steps}
    assert {name for name, each in by_name.items() if each.state == "changed-since"} == {
        "plan.txt", "old.txt",
    }  # fmt: skip
    done = undoing.undo(plan, UndoChoice(chosen={by_name["plan.txt"], by_name["run"]}))
    assert {each.path for each in done.files.done} == {"plan.txt", "run"}
    assert {each.path for each in done.left} == {"old.txt"}
    assert (stage.cwd / "plan.txt").read_text() == "one\ntwo\n"
    assert (stage.cwd / "new" / "a").exists()
    undoing.redo(SID)
    assert (stage.cwd / "plan.txt").read_text() == "by hand\n"
    assert (stage.cwd / "run").stat().st_mode & 0o777 == 0o600


def test_what_was_changed_after_the_undo_stays(
    stage: ToolStage, store: UndoStore, undoing: TurnUndoing
) -> None:
    turn(stage, store, shell(CHANGE))
    undoing.undo(undoing.plan(SID))
    (stage.cwd / "plan.txt").write_text("by hand\n")
    done = undoing.redo(SID)
    assert [each.path for each in done.left] == ["plan.txt"]
    assert (stage.cwd / "plan.txt").read_text() == "by hand\n"
    assert not (stage.cwd / "old.txt").exists()


def test_nothing_is_restored_into_another_conversation(
    stage: ToolStage, store: UndoStore, undoing: TurnUndoing
) -> None:
    turn(stage, store, shell(CHANGE))
    undoing.undo(undoing.plan(SID))
    turn(stage, store, shell("true"))
    before, roles = tree(stage.cwd), said(stage)
    with pytest.raises(RefusedError, match="can no longer be restored"):
        undoing.redo(SID)
    assert (tree(stage.cwd), said(stage)) == (before, roles)


def test_a_cancelled_undo_is_finished_or_taken_back(
    stage: ToolStage, store: UndoStore, undoing: TurnUndoing
) -> None:
    before = tree(stage.cwd)
    turn(stage, store, shell(CHANGE))
    after, roles = tree(stage.cwd), said(stage)
    cancel = threading.Event()
    done = undoing.undo(undoing.plan(SID), on_progress=lambda _: cancel.set(), cancel=cancel)
    assert done.files.stopped
    assert len(done.files.done) == 1
    assert said(stage) == roles
    undoing.redo(SID, done.undo_id)
    assert (tree(stage.cwd), said(stage)) == (after, roles)

    cancel.clear()
    undoing.undo(undoing.plan(SID), on_progress=lambda _: cancel.set(), cancel=cancel)
    undoing.undo(undoing.plan(SID))
    assert (tree(stage.cwd), said(stage)) == (before, [])
    undoing.redo(SID)  # both parts
    assert (tree(stage.cwd), said(stage)) == (after, roles)


def test_nothing_is_undone_while_a_turn_runs(
    stage: ToolStage, store: UndoStore, undoing: TurnUndoing
) -> None:
    turn(stage, store, shell(CHANGE))
    plan, after = undoing.plan(SID), tree(stage.cwd)
    locks = ConversationLocks(stage.db, stage.home / "desktop", "tests")
    running = TurnUndoing(stage.db, store, locks, lambda _: "“Do it” is being answered")
    for attempt in (lambda: running.plan(SID), lambda: running.undo(plan)):
        with pytest.raises(RunningTurnError):
            attempt()
    assert tree(stage.cwd) == after


def test_what_cannot_be_kept_is_not_replaced(
    stage: ToolStage, store: UndoStore, undoing: TurnUndoing
) -> None:
    """What somebody wrote by hand is only overwritten once there is a copy."""
    turn(stage, store, shell(CHANGE))
    (stage.cwd / "plan.txt").write_text("by hand\n")
    plan = undoing.plan(SID)
    contents = stage.home / "desktop" / "undo" / "contents"
    (contents / "tmp").rmdir()
    (contents / "tmp").write_text("no folder")
    done = undoing.undo(plan, UndoChoice(overwrite=True))
    assert [step.path for step, _ in done.files.failed] == ["plan.txt"]
    assert (stage.cwd / "plan.txt").read_text() == "by hand\n"


def test_files_that_run_later_wait_for_the_user(
    stage: ToolStage, store: UndoStore, undoing: TurnUndoing, changes: TurnChanges
) -> None:
    assert changes.of(SID).unseen is None
    (stage.cwd / "Makefile").write_text("all:\n")
    turn(stage, store, shell("mkdir -p .git/hooks; echo x > .git/hooks/post-merge; echo > note"))
    turn(stage, store, shell("echo evil >> Makefile"))
    waiting = changes.of(SID).unseen
    assert waiting is not None
    assert waiting.run_by == {".git/hooks/post-merge": "git", "Makefile": "make"}
    roles = said(stage)
    done = undoing.undo(waiting.plan, UndoChoice(overwrite=True))
    assert (stage.cwd / "Makefile").read_text() == "all:\n"
    assert not (stage.cwd / ".git" / "hooks" / "post-merge").exists()
    assert (stage.cwd / "note").exists()
    assert said(stage) == roles
    assert changes.of(SID).unseen is None  # nothing is left of them
    undoing.redo(SID, done.undo_id)
    again = changes.of(SID).unseen
    assert again is not None
    changes.keep(again)
    assert changes.of(SID).unseen is None
    assert (stage.cwd / "Makefile").read_text() == "all:\nevil\n"


KILLED = """
import os, signal, sys
from pathlib import Path
from hermes_desktop.agent.undo.folder_scan import Limits
from hermes_desktop.agent.undo.turn_undo import UndoStore
from hermes_desktop.services.sessions.session_actions import never_running
from hermes_desktop.services.sessions.turn_undo import TurnUndoing
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks

home, user_home = map(Path, sys.argv[1:3])
what, sid, after = sys.argv[3], sys.argv[4], int(sys.argv[5])

class Killed(SessionDB):
    def rewind_to_message(self, *arguments):
        die(-1)
    def restore_messages(self, *arguments):
        die(-1)

def die(done):
    if done == after:
        os.kill(os.getpid(), signal.SIGKILL)

db = Killed(home / "state.db")
store = UndoStore(home / "desktop" / "undo", user_home, home, Limits(free_bytes=0))
undoing = TurnUndoing(db, store, ConversationLocks(db, home / "desktop", "x"), never_running)
def tell(progress): die(progress.done)
if what == "undo":
    undoing.undo(undoing.plan(sid), on_progress=tell)
else:
    undoing.redo(sid, on_progress=tell)
"""


@pytest.mark.slow
@pytest.mark.two_processes
@pytest.mark.parametrize("after", [1, 3, -1], ids=["first file", "third file", "before messages"])
@pytest.mark.parametrize("what", ["undo", "redo"])
def test_a_killed_program_loses_nothing(
    stage: ToolStage, store: UndoStore, undoing: TurnUndoing, what: str, after: int
) -> None:
    before = tree(stage.cwd)
    turn(stage, store, shell(CHANGE))
    left, roles = tree(stage.cwd), said(stage)
    if what == "redo":
        undoing.undo(undoing.plan(SID))
    arguments = (str(stage.home), str(stage.user_home), what, SID, str(after))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments], cwd=CHECKOUT, check=False, capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    if what == "undo":
        assert said(stage) == roles
        undoing.undo(undoing.plan(SID))
        assert (tree(stage.cwd), said(stage)) == (before, [])
    undoing.redo(SID)
    assert (tree(stage.cwd), said(stage)) == (left, roles)
    undoing.undo(undoing.plan(SID))
    assert (tree(stage.cwd), said(stage)) == (before, [])


def test_a_damaged_record_is_left_out(
    stage: ToolStage, store: UndoStore, undoing: TurnUndoing, changes: TurnChanges
) -> None:
    turn(stage, store, shell(CHANGE))
    undoing.undo(undoing.plan(SID))
    undos = stage.home / "desktop" / "undo" / "undos"
    reviews = stage.home / "desktop" / "undo" / "reviews"
    reviews.mkdir()
    for number, text in enumerate(("", "[]", "{}", '{"version": 2}', '{"version":1,"turns":[]}')):
        (undos / f"9{number}.json").write_text(text)
        (reviews / f"9{number}.json").write_text(text)
    assert changes.of(SID).unseen is None
    undoing.redo(SID)
    assert not (stage.cwd / "old.txt").exists()


def test_old_undos_are_forgotten(
    stage: ToolStage, store: UndoStore, undoing: TurnUndoing, changes: TurnChanges
) -> None:
    turn(stage, store, shell("echo x >> Makefile"))
    (stage.cwd / "Makefile").write_text("mine")
    undoing.undo(undoing.plan(SID), UndoChoice(overwrite=True))
    (stage.home / "desktop" / "undo" / "tidied").unlink()
    store.tidy(10e9)
    assert undoing.last_undo(SID) == ""
    assert changes.of(SID).unseen is None


def test_what_an_undo_replaced_is_not_tidied(
    stage: ToolStage, store: UndoStore, undoing: TurnUndoing
) -> None:
    turn(stage, store, shell(CHANGE))
    (stage.cwd / "plan.txt").write_text("by hand\n")
    undoing.undo(undoing.plan(SID), UndoChoice(overwrite=True))
    folder = stage.home / "desktop" / "undo"
    for path in [*folder.rglob("contents/*/*"), folder / "tidied"]:
        os.utime(path, (1, 1))
    store.tidy(next(iter(store.records.all())).began / 1e9 + 7200)
    undoing.redo(SID)
    assert (stage.cwd / "plan.txt").read_text() == "by hand\n"


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("/undo", 1), (" /UNDO 3 ", 3), ("/undo 0", 0), ("/undo x", 0), ("/undone", 0),
        ("undo", 0), ("/undo restore", 0), ("/undo 1000", 0), ("/undo ²", 0),
    ],
)  # fmt: skip
def test_a_typed_undo(text: str, turns: int) -> None:
    assert typed_undo(text) == turns


def test_many_messages_are_restored(tmp_path: Path) -> None:
    db = SessionDB(tmp_path / "state.db")
    db.create_session("s", "cli")
    talk = [{"role": ("user", "assistant")[n % 2], "content": str(n)} for n in range(2_500)]
    db.replace_messages("s", talk)
    ids = db.active_message_ids("s", 0)
    db.rewind_to_message("s", ids[10])
    assert db.restore_messages("s", ids[10:]) == 2_490
    assert db.active_message_ids("s", 0) == ids
    assert db.restore_messages("s", ids[10:]) == 0
    db.close()
