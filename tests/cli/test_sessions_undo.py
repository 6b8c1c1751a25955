"""``sessions undo``: files and messages of the last turns come back together."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.model_server import ModelServer, Reply, text, tool_call
from tests.fakes.program import Program, rows
from tests.fakes.terminal import at_terminal


@pytest.fixture
def work(configured: Path, tmp_path: Path) -> Path:
    """A folder for work, in which nothing is asked."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "plan.txt").write_text("one\ntwo\n")
    (folder / "old.txt").write_text("old\n")
    path = configured / "config.yaml"
    settings = json.loads(path.read_text())
    settings |= {
        "approvals": {"mode": "off", "sandboxed_commands": "off"},
        "terminal": {"cwd": str(folder)},
    }
    path.write_text(json.dumps(settings))
    return folder


def turn(program: Program, server: ModelServer, *replies: Reply, resume: str = "") -> str:
    """Run a turn and return its session."""
    server.script(*replies, text("Done."))
    more = ("--resume", resume) if resume else ()
    done = program.run("chat", "-q", "Change the plan", *more)
    assert done.code == 0, done.err
    return str(rows(program.home)[0]["id"])


def said(program: Program, session_id: str) -> list[str]:
    with_store = SessionDB(program.home / "state.db", read_only=True)
    try:
        return [each["role"] for each in with_store.get_messages_as_conversation(session_id)]
    finally:
        with_store.close()


CHANGE = "printf 'one\\nTWO\\n' > plan.txt; rm old.txt; echo new > new.txt"


def test_a_turn_is_shown_and_undone(program: Program, server: ModelServer, work: Path) -> None:
    session = turn(program, server, tool_call("terminal", command=CHANGE))
    shown = program.run("sessions", "undo", session, "--dry-run")
    assert shown.code == 0, shown.err
    assert shown.out.splitlines() == [
        "1 turn, from “Change the plan”",
        "new.txt: was created",
        "  --- new.txt",
        "  +++ new.txt",
        "  @@ -1 +0,0 @@",
        "  -new",
        "old.txt: was deleted",
        "  --- old.txt",
        "  +++ old.txt",
        "  @@ -0,0 +1 @@",
        "  +old",
        "plan.txt: was changed",
        "  --- plan.txt",
        "  +++ plan.txt",
        "  @@ -1,2 +1,2 @@",
        "   one",
        "  -TWO",
        "  +two",
    ]
    assert not (work / "old.txt").exists()
    assert said(program, session) == ["user", "assistant", "tool", "assistant"]

    done = program.run("sessions", "undo", session, "--yes")
    assert done.out == "Restored: 3 files.\nRemoved: 4 messages.\n"
    assert {each.name: each.read_text() for each in work.iterdir()} == {
        "plan.txt": "one\ntwo\n", "old.txt": "old\n",
    }  # fmt: skip
    assert said(program, session) == []

    again = program.run("sessions", "undo", session, "--yes")
    assert again.code != 0
    assert "nothing to undo" in again.err


def test_it_asks_first(program: Program, server: ModelServer, work: Path) -> None:
    session = turn(program, server, tool_call("terminal", command=CHANGE))
    refused = program.run("sessions", "undo", session)
    assert "no terminal" in refused.err
    no = at_terminal(program, "sessions", "undo", session, typed=b"n\n", answer_at="[y/N]")
    assert "Nothing was changed" in no.out
    assert not (work / "old.txt").exists()
    yes = at_terminal(program, "sessions", "undo", session, typed=b"y\n", answer_at="[y/N]")
    assert yes.code == 0
    assert (work / "old.txt").read_text() == "old\n"


def test_what_was_changed_since_is_left(program: Program, server: ModelServer, work: Path) -> None:
    session = turn(program, server, tool_call("terminal", command=CHANGE))
    (work / "plan.txt").write_text("by hand\n")
    shown = program.run("sessions", "undo", session, "--dry-run").out
    assert "plan.txt: changed since; not restored\n" in shown
    done = program.run("sessions", "undo", session, "--yes", "--files-only")
    assert "Left, as it was changed since: plan.txt\n" in done.out
    assert (work / "plan.txt").read_text() == "by hand\n"
    assert (work / "old.txt").exists()
    assert len(said(program, session)) == 4


def test_overwriting(program: Program, server: ModelServer, work: Path) -> None:
    session = turn(program, server, tool_call("terminal", command=CHANGE))
    (work / "plan.txt").write_text("by hand\n")
    done = program.run("sessions", "undo", session, "--yes", "--overwrite", "--json")
    assert [(each["path"], each["state"], each["done"]) for each in json.loads(done.out)] == [
        ("new.txt", "ready", True),
        ("old.txt", "ready", True),
        ("plan.txt", "changed-since", True),
    ]
    assert (work / "plan.txt").read_text() == "one\ntwo\n"


def test_two_turns(program: Program, server: ModelServer, work: Path) -> None:
    session = turn(program, server, tool_call("terminal", command=CHANGE))
    more = tool_call("write_file", path="plan.txt", content="three\n")
    assert turn(program, server, more, resume=session) == session
    done = program.run("sessions", "undo", session, "--turns", "2", "--yes")
    assert "Restored: 3 files." in done.out
    assert (work / "plan.txt").read_text() == "one\ntwo\n"
    assert said(program, session) == []


def test_only_the_last_turn(program: Program, server: ModelServer, work: Path) -> None:
    session = turn(program, server, tool_call("terminal", command=CHANGE))
    turn(program, server, resume=session)
    shown = program.run("sessions", "undo", session, "--yes")
    assert shown.out == "Restored: 0 files.\nRemoved: 2 messages.\n"
    assert not (work / "old.txt").exists()


def test_a_killed_program(program: Program, server: ModelServer, work: Path) -> None:
    command = f"{CHANGE}; echo there > started; sleep 600"
    server.script(tool_call("terminal", command=command))
    running = program.start("chat", "-q", "Change the plan")
    until = time.monotonic() + 60
    while not (work / "started").exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    session = str(rows(program.home)[0]["id"])
    done = program.run("sessions", "undo", session, "--yes")
    assert done.code == 0, done.err
    assert "Restored: 4 files." in done.out
    assert {each.name: each.read_text() for each in work.iterdir()} == {
        "plan.txt": "one\ntwo\n", "old.txt": "old\n",
    }  # fmt: skip


def test_one_file_that_runs_later(program: Program, server: ModelServer, work: Path) -> None:
    command = f"{CHANGE}; mkdir -p .git/hooks; echo run > .git/hooks/pre-commit"
    session = turn(program, server, tool_call("terminal", command=command))
    words = ("sessions", "undo", session, "--file", ".git/hooks/pre-commit")
    done = program.run(*words, "--yes")
    assert done.out == "Restored: 1 file.\n"
    assert not (work / ".git" / "hooks" / "pre-commit").exists()
    assert not (work / "old.txt").exists()
    assert len(said(program, session)) == 4
    assert "not among the changed files" in program.run(*words[:-1], "other", "--yes").err
    rest = program.run("sessions", "undo", session, "--yes")
    assert "Restored: 3 files." in rest.out
    assert sorted(each.name for each in work.iterdir()) == ["old.txt", "plan.txt"]


def test_an_undo_is_taken_back(program: Program, server: ModelServer, work: Path) -> None:
    session = turn(program, server, tool_call("terminal", command=CHANGE))
    assert "nothing to restore" in program.run("sessions", "redo", session).err
    program.run("sessions", "undo", session, "--yes")
    done = program.run("sessions", "redo", session)
    assert done.out == "Restored: 3 files, 4 messages.\n", done.err
    assert (work / "plan.txt").read_text() == "one\nTWO\n"
    assert not (work / "old.txt").exists()
    assert len(said(program, session)) == 4


def test_the_slash_command_of_chat(program: Program, server: ModelServer, work: Path) -> None:
    session = turn(program, server, tool_call("terminal", command=CHANGE))
    words = ("chat", "-q", "/undo", "--resume", session)
    assert "no terminal" in program.run(*words).err
    no = at_terminal(program, *words, typed=b"n\n", answer_at="[y/N]")
    assert "old.txt: was deleted" in no.out
    assert not (work / "old.txt").exists()
    yes = at_terminal(program, "chat", "-q", "/undo 1", "-c", typed=b"y\n", answer_at="[y/N]")
    assert yes.code == 0
    assert (work / "old.txt").read_text() == "old\n"
    assert said(program, session) == []
