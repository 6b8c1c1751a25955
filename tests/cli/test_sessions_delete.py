"""``sessions delete`` and ``sessions trash``: what goes, what comes back, what is refused."""

import json
import sqlite3
import time
from pathlib import Path

import pytest

from hermes_desktop.services.sessions.session_actions import SessionActions
from hermes_desktop.state import SessionDB
from tests.fakes.program import Converse, Program
from tests.fakes.state_files import dump
from tests.fakes.terminal import END_OF_INPUT, at_terminal

ONE = "20260101_100000_aaaaaa"
TWO = "20260101_110000_bbbbbb"


@pytest.fixture
def two(converse: Converse) -> None:
    converse(ONE, "Hello", "Hi", title="First words", source="telegram")
    converse(TWO, "Good evening", "Good night", title="Second words")


@pytest.fixture
def chain(db: SessionDB, two: None) -> None:
    """A conversation of two parts with a subagent, and a branch of it."""
    db.create_session("20260102_100000_root00", "cli")
    db.append_message("20260102_100000_root00", "assistant", "long ago")
    db.end_session("20260102_100000_root00", "compression")
    db.create_session("20260102_110000_tip000", "cli", parent_session_id="20260102_100000_root00")
    db.append_message("20260102_110000_tip000", "assistant", "lately")
    db.set_session_title("20260102_110000_tip000", "The chain")
    for name, marker in (("helper", "_delegate_from"), ("branch", "_branched_from")):
        db.create_session(
            f"20260102_120000_{name}",
            "cli",
            parent_session_id="20260102_110000_tip000",
            model_config={marker: "20260102_110000_tip000"},
        )
        db.append_message(f"20260102_120000_{name}", "assistant", name)


def ids(db: SessionDB) -> set[str]:
    return {row["id"] for row in db.search_sessions()}


# ---------------------------------------------------------------------------------- delete and undo


@pytest.mark.usefixtures("chain")
def test_a_whole_conversation_goes_and_comes_back_as_it_was(
    program: Program, db: SessionDB
) -> None:
    before = dump(db.db_path)

    deleted = program.run("sessions", "delete", "20260102_100000_root00", ONE, "--yes")

    assert deleted.code == 0, deleted.err
    first, undo = deleted.out.splitlines()
    assert first.startswith("Moved to the trash: 2 sessions: ")
    assert "cli 1" in first
    assert "telegram 1" in first
    assert ids(db) == {TWO, "20260102_120000_branch"}

    words = undo.removeprefix("Undo: hermes-desktop ").split()
    restored = program.run(*words)

    assert restored.code == 0, restored.err
    assert dump(db.db_path) == before
    assert program.run("sessions", "trash", "list").out == "The trash is empty.\n"


@pytest.mark.usefixtures("chain")
def test_the_dry_run_says_what_the_delete_then_does(program: Program, db: SessionDB) -> None:
    before = dump(db.db_path)
    words = ("sessions", "delete", "The chain", ONE, "--json")

    (planned, other) = json.loads(program.run(*words, "--dry-run").out)

    assert dump(db.db_path) == before
    assert not (db.db_path.parent / "desktop").exists()
    assert planned["segments"] == ["20260102_100000_root00", "20260102_110000_tip000"]
    assert planned["subagents"] == ["20260102_120000_helper"]
    assert (planned["messages"], planned["trash_id"]) == (3, None)

    done = json.loads(program.run(*words, "--yes").out)

    assert [{**each, "trash_id": None} for each in done] == [planned, other]
    assert [each["trash_id"] for each in done] == [1, 2]
    gone = {*planned["segments"], *planned["subagents"], *other["segments"]}
    assert ids(db) == {TWO, "20260102_120000_branch"}
    assert not gone & ids(db)


@pytest.mark.usefixtures("chain")
def test_the_preview_counts_and_names_subagents(program: Program) -> None:
    done = program.run("sessions", "delete", "20260102_110000_tip000", ONE, "--dry-run")

    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "20260102_110000_tip000\tcli\t3\tThe chain"
    assert lines[1] == f"{ONE}\ttelegram\t2\tFirst words"
    assert lines[2] == "2 sessions: cli 1, telegram 1"
    assert lines[3].startswith("5 messages, ")
    assert lines[4:] == [
        "With 1 earlier part of them.",
        "With 1 subagent session: 20260102_120000_helper",
    ]


# ------------------------------------------------------------------------------------------- asking


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("typed", [b"y\n", b"YES\n"])
def test_yes_on_a_terminal(program: Program, db: SessionDB, typed: bytes) -> None:
    done = at_terminal(program, "sessions", "delete", ONE, typed=typed)

    assert done.code == 0, done.out
    assert "1 session: telegram 1" in done.out
    assert "Move 1 session to the trash? [y/N]" in done.out
    assert "sessions trash restore 1" in done.out
    assert ids(db) == {TWO}


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("typed", [b"n\n", b"\n", b"yess\n", END_OF_INPUT])
def test_no_on_a_terminal(program: Program, db: SessionDB, typed: bytes) -> None:
    before = dump(db.db_path)

    done = at_terminal(program, "sessions", "delete", ONE, typed=typed)

    assert done.code == 5
    assert "Cancelled." in done.out
    assert dump(db.db_path) == before


@pytest.mark.usefixtures("two")
def test_ctrl_c_at_the_question(program: Program, db: SessionDB) -> None:
    before = dump(db.db_path)

    done = at_terminal(program, "sessions", "delete", ONE, interrupt_at="[y/N]")

    assert done.code == 5
    assert "Traceback" not in done.out
    assert dump(db.db_path) == before


@pytest.mark.usefixtures("two")
def test_without_a_terminal_nobody_is_asked(program: Program, db: SessionDB) -> None:
    before = dump(db.db_path)

    done = program.run("sessions", "delete", ONE, stdin=b"y\n")

    assert (done.code, done.out) == (5, "")
    assert "--yes" in done.err
    assert dump(db.db_path) == before


# -------------------------------------------------------------------------------------- exit codes


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (["20260101_1"], 4),
        (["20260101_10"], 0),
        (["2026010"], 2),
        (["2026"], 2),
        ([""], 2),
        (["nothing-like-it"], 3),
        (["First words"], 0),
        (["first words"], 3),
        ([ONE, "nothing-like-it"], 3),
        ([], 2),
    ],
)
def test_which_session_is_meant(
    program: Program, db: SessionDB, wanted: list[str], code: int
) -> None:
    done = program.run("sessions", "delete", *wanted, "--yes")

    assert done.code == code, done.err
    assert ids(db) == ({TWO} if code == 0 else {ONE, TWO})


def test_a_numbered_title_stands_for_no_other(program: Program, converse: Converse) -> None:
    converse("s1", "Hello", "Hi", title="Trip #2")

    assert program.run("sessions", "delete", "Trip", "--yes").code == 3


def test_no_store_makes_none(program: Program, home: Path) -> None:
    for words in (["delete", "any"], ["trash", "list"], ["rename", "any", "T"], ["prune", "--yes"]):
        assert program.run("sessions", *words).code == 1
    assert list(home.iterdir()) == []


def test_a_locked_store_is_busy(program: Program, db: SessionDB, converse: Converse) -> None:
    converse("s1", "Hello", "Hi")
    holder = sqlite3.connect(db.db_path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        done = program.run("sessions", "rename", "s1", "Other")
    finally:
        holder.close()

    assert done.code == 6, done.err
    assert db.get_session_title("s1") is None


# ------------------------------------------------------------------------------------ running turns


def test_a_turn_that_runs_is_named(program: Program, db: SessionDB, converse: Converse) -> None:
    converse(ONE, "Book the train to Lisbon")
    before = dump(db.db_path)

    for words in (["delete", ONE, "--yes"], ["archive", ONE]):
        done = program.run("sessions", *words)
        assert done.code == 5
        assert "Book the train to Lisbon" in done.err
    assert dump(db.db_path) == before


@pytest.mark.parametrize("how", ["ended", "old", "answered"])
def test_what_does_not_run_may_go(program: Program, db: SessionDB, how: str) -> None:
    db.create_session(ONE, "cli")
    age = 400.0 if how == "old" else 1.0
    db.append_message(ONE, "user", "Hello", timestamp=time.time() - age)
    if how == "ended":
        db.end_session(ONE, "cli_close")
    if how == "answered":
        db.append_message(ONE, "assistant", "Hi")

    assert program.run("sessions", "delete", ONE, "--yes").code == 0


# ------------------------------------------------------------------------------------------- trash


@pytest.fixture
def trashed(db: SessionDB, home: Path, two: None) -> SessionDB:
    actions = SessionActions(db, home / "desktop" / "desktop.db")
    for session_id in (ONE, TWO):
        actions.delete(actions.plan_delete([session_id]))
    actions.close()
    return db


def test_the_trash_is_listed(program: Program, trashed: SessionDB) -> None:
    lines = program.run("sessions", "trash", "list").out.splitlines()

    fields = [line.split("\t") for line in lines]
    assert [(each[0], each[2], each[5], each[6]) for each in fields] == [
        ("2", "cli", TWO, "Second words"),
        ("1", "telegram", ONE, "First words"),
    ]
    objects = json.loads(program.run("sessions", "trash", "list", "--json").out)
    assert [(each["trash_id"], each["message_count"]) for each in objects] == [(2, 2), (1, 2)]


def test_restore_by_session_id(program: Program, trashed: SessionDB) -> None:
    done = program.run("sessions", "trash", "restore", ONE, "--json")

    assert done.code == 0, done.err
    (only,) = json.loads(done.out)
    assert (only["id"], only["trash_id"], only["retitled"]) == (ONE, 1, {})
    assert ids(trashed) == {ONE}


def test_a_taken_title_and_id_are_told(program: Program, trashed: SessionDB) -> None:
    trashed.create_session(ONE, "cli")
    trashed.set_session_title(ONE, "First words")

    done = program.run("sessions", "trash", "restore", "1")

    assert done.code == 0
    assert ONE in done.err
    assert "First words #2" in done.err
    assert len(ids(trashed)) == 2


@pytest.mark.parametrize("wanted", ["7", "nothing", TWO + "x"])
def test_what_the_trash_does_not_hold(program: Program, trashed: SessionDB, wanted: str) -> None:
    assert program.run("sessions", "trash", "restore", "1", wanted).code == 3
    assert ids(trashed) == set()


def test_deleted_twice_is_ambiguous(program: Program, trashed: SessionDB, home: Path) -> None:
    trashed.create_session(ONE, "cli")
    actions = SessionActions(trashed, home / "desktop" / "desktop.db")
    actions.delete(actions.plan_delete([ONE]))
    actions.close()

    done = program.run("sessions", "trash", "restore", ONE)

    assert done.code == 4
    assert "3, 1" in done.err


def test_restore_by_conditions_asks(program: Program, trashed: SessionDB) -> None:
    listed = json.loads(program.run("sessions", "trash", "list", "--json").out)
    source = listed[0]["source"]
    fitting = [each["trash_id"] for each in listed if each["source"] == source]
    words = ("sessions", "trash", "restore", "--source", source, "--reason", "deleted")
    shown = program.run("sessions", "trash", "list", "--source", source, "--json")
    assert [each["trash_id"] for each in json.loads(shown.out)] == fitting
    assert program.run(*words).code == 5
    assert json.loads(program.run(*words, "--dry-run", "--json").out) == json.loads(shown.out)
    assert ids(trashed) == set()
    done = json.loads(program.run(*words, "--yes", "--json").out)
    assert [each["trash_id"] for each in done] == fitting
    assert len(ids(trashed)) == len(fitting)


@pytest.mark.parametrize(
    "conditions",
    [
        ("--reason", "pruned"),
        ("--title", "no such words"),
        ("--older-than", "1d"),
        ("--source", "nowhere"),
    ],
)
def test_conditions_that_nothing_meets(
    program: Program, trashed: SessionDB, conditions: tuple[str, str]
) -> None:
    done = program.run("sessions", "trash", "restore", *conditions)
    assert (done.code, done.out) == (0, "Nothing in the trash matches.\n")
    assert program.run("sessions", "trash", "list", *conditions).out == done.out
    assert program.run("sessions", "trash", "restore", *conditions, "--json").out == "[]\n"


def test_restore_shows_what_there_is_and_says_how(program: Program, trashed: SessionDB) -> None:
    done = program.run("sessions", "trash", "restore")

    assert done.code == 2
    assert done.out == program.run("sessions", "trash", "list").out != ""
    assert "Use a trash ID, for example `hermes-desktop sessions trash restore 2`." in done.err
    assert program.run("sessions", "trash", "restore", "--json").out == ""
    assert program.run("sessions", "trash", "restore", "1-2").code == 0
    assert "The trash is empty." in program.run("sessions", "trash", "restore").err


def test_restore_needs_to_be_told_what(program: Program, trashed: SessionDB) -> None:
    assert program.run("sessions", "trash", "restore", "1", "--title", "x").code == 2
    assert program.run("sessions", "trash", "restore", "7-9").code == 3
    shown = program.run("sessions", "trash", "restore", "1", "--dry-run")
    assert (shown.code, "1 session" in shown.out) == (0, True)
    assert ids(trashed) == set()


def test_emptying_asks_and_deletes_what_it_showed(program: Program, trashed: SessionDB) -> None:
    assert program.run("sessions", "trash", "empty").code == 5
    assert at_terminal(program, "sessions", "trash", "empty", typed=b"n\n").code == 5
    old = program.run("sessions", "trash", "empty", "--older-than", "1d", "--yes")
    assert old.out == "There is nothing to delete.\n"
    shown = program.run("sessions", "trash", "empty", "--dry-run")
    assert "2 sessions: cli 1, telegram 1" in shown.out
    assert len(json.loads(program.run("sessions", "trash", "list", "--json").out)) == 2

    done = program.run("sessions", "trash", "empty", "--yes")

    assert done.out == "Permanently deleted 2 sessions: cli 1, telegram 1.\n"
    assert program.run("sessions", "trash", "list").out == "The trash is empty.\n"
