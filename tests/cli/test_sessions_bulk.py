"""``sessions prune``, ``archive``, ``unarchive``, ``rename``: conditions, and preview = act."""

import json
import time
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.program import Converse, Program
from tests.fakes.state_files import dump
from tests.fakes.terminal import at_terminal

DAY_S = 86_400.0


@pytest.fixture
def many(db: SessionDB) -> SessionDB:
    """Ended sessions of several ages, an open one, an archived one."""
    for name, source, age_days, fields in (
        ("old-cli", "cli", 200.0, {"model": "alpha-large", "cwd": "/srv/garden"}),
        ("old-tg", "telegram", 100.0, {"model": "beta", "chat_id": "42", "chat_type": "dm"}),
        ("new-cli", "cli", 10.0, {"model": "alpha-small", "cwd": "/srv/gardening"}),
        ("new-tg", "telegram", 0.1, {"model": "beta", "user_id": "7"}),
        ("hidden", "cli", 300.0, {}),
        ("open", "cli", 300.0, {}),
    ):
        db.create_session(name, source, **fields)
        db.append_message(name, "assistant", f"said in {name}")
        db.set_session_title(name, f"About {name}")
        if name != "open":
            db.end_session(name, "user_exit" if "cli" in name else "session_reset")
        moment = time.time() - age_days * DAY_S

        def put(conn, moment=moment, name=name):  # type: ignore[no-untyped-def]
            conn.execute("UPDATE sessions SET started_at = ? WHERE id = ?", (moment, name))

        db._execute_write(put)
    db.append_message("new-tg", "user", "one more")
    db.set_session_archived("hidden", archived=True)
    return db


def ids(db: SessionDB) -> set[str]:
    return {row["id"] for row in db.search_sessions()}


def planned(program: Program, *words: str) -> set[str]:
    done = program.run("sessions", *words, "--dry-run", "--json")
    assert done.code == 0, done.err
    return {each["id"] for each in json.loads(done.out)}


# ------------------------------------------------------------------------------------- conditions


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {"old-cli", "old-tg"}),
        (["--include-archived"], {"old-cli", "old-tg", "hidden"}),
        (["--older-than", "150"], {"old-cli"}),
        (["--older-than", "20w"], {"old-cli"}),
        (["--older-than", "5h"], {"old-cli", "old-tg", "new-cli"}),
        (["--newer-than", "180m"], {"new-tg"}),
        (["--newer-than", "11d"], {"new-cli", "new-tg"}),
        (["--newer-than", "150d", "--older-than", "1d"], {"old-tg", "new-cli"}),
        (["--before", "1999-01-01"], set()),
        (["--after", "1999-01-01 10:00", "--source", "telegram"], {"old-tg", "new-tg"}),
        (["--before", "50d", "--older-than", "150d"], {"old-cli"}),
        (["--title", "OLD-"], {"old-cli", "old-tg"}),
        (["--title", "%"], set()),
        (["--model", "Alpha"], {"old-cli", "new-cli"}),
        (["--cwd", "/srv/garden"], {"old-cli"}),
        (["--end-reason", "session_reset"], {"old-tg", "new-tg"}),
        (["--user", "7"], {"new-tg"}),
        (["--chat-id", "42", "--chat-type", "dm"], {"old-tg"}),
        (["--min-messages", "2"], {"new-tg"}),
        (["--max-messages", "1", "--source", "telegram"], {"old-tg"}),
        (["--min-tokens", "1"], set()),
        (
            ["--max-cost", "0.5", "--min-tool-calls", "0"],
            {"old-cli", "old-tg", "new-cli", "new-tg"},
        ),
    ],
)
def test_what_a_prune_would_take(
    program: Program, many: SessionDB, words: list[str], expected: set[str]
) -> None:
    assert planned(program, "prune", *words) == expected


@pytest.mark.parametrize(
    "words",
    [
        ["--older-than", ""],
        ["--older-than", "soon"],
        ["--older-than", "-5d"],
        ["--older-than", "5y"],
        ["--older-than", "nan"],
        ["--older-than", "9" * 400],
        ["--before", "2026-13-45"],
        ["--source", ""],
        ["--title", "  "],
        ["--min-messages", "-1"],
        ["--min-messages", "9" * 30],
        ["--max-cost", "nan"],
        ["--max-cost", "-0.5"],
        ["old-cli"],
        ["--unknown", "x"],
    ],
)
def test_nonsense_deletes_nothing(program: Program, many: SessionDB, words: list[str]) -> None:
    before = dump(many.db_path)

    done = program.run("sessions", "prune", *words, "--yes")

    assert done.code == 2, done.out
    assert dump(many.db_path) == before


# ------------------------------------------------------------------------------------------ prune


def test_prune_takes_what_it_showed(program: Program, many: SessionDB, home: Path) -> None:
    folder = home / "sessions"
    folder.mkdir()
    (folder / "old-cli.json").write_text("{}")
    (folder / "new-cli.json").write_text("{}")
    words = ("prune", "--older-than", "1d", "--source", "cli")
    shown = planned(program, *words)
    everything = ids(many)

    done = program.run("sessions", *words, "--yes")

    assert done.out == "Deleted 2 sessions: cli 2.\n"
    assert everything - ids(many) == shown == {"old-cli", "new-cli"}
    assert list(folder.iterdir()) == []
    again = program.run("sessions", *words, "--yes")
    assert (again.code, again.out) == (0, "No session meets the conditions.\n")


def test_prune_asks(program: Program, many: SessionDB) -> None:
    before = dump(many.db_path)
    assert program.run("sessions", "prune").code == 5
    refused = at_terminal(program, "sessions", "prune", typed=b"n\n")
    assert refused.code == 5
    assert "2 sessions: cli 1, telegram 1" in refused.out
    assert "no undo" in refused.out
    assert dump(many.db_path) == before

    done = at_terminal(program, "sessions", "prune", typed=b"y\n")

    assert done.code == 0
    assert "Deleted 2 sessions: cli 1, telegram 1." in done.out
    assert ids(many) == {"new-cli", "new-tg", "hidden", "open"}


@pytest.mark.parametrize(("columns", "shown"), [(200, True), (60, False)])
def test_titles_matter_more_than_models(
    program: Program, many: SessionDB, columns: int, shown: bool
) -> None:
    title = "A long title that says a lot about what the session was"
    many.set_session_title("old-cli", title)

    done = at_terminal(program, "sessions", "prune", "--dry-run", columns=columns)

    header, first, *_ = done.out.splitlines()
    assert ("Model" in header) is shown
    assert (title if shown else title[:20]) in first
    assert "old-cli" in first


def test_json_with_a_question_keeps_standard_output_clean(
    program: Program, many: SessionDB
) -> None:
    done = program.run("sessions", "prune", "--json", "--yes")

    assert {each["id"] for each in json.loads(done.out)} == {"old-cli", "old-tg"}
    assert program.run("sessions", "prune", "--json", "--yes").out == "[]\n"


# ---------------------------------------------------------------------------- archive and unarchive


def test_archive_by_condition(program: Program, many: SessionDB) -> None:
    words = ("archive", "--source", "telegram")
    assert planned(program, *words) == {"old-tg", "new-tg"}
    assert program.run("sessions", *words).code == 5

    done = program.run("sessions", *words, "--yes")

    assert done.out == "Archived 2 sessions: telegram 2.\n"
    listed = {row.id for row in many.list_summaries()}
    assert listed == {"old-cli", "new-cli", "open"}
    assert planned(program, *words) == set()


def test_archive_needs_a_condition(program: Program, many: SessionDB) -> None:
    before = dump(many.db_path)

    for words in ([], ["--yes"], ["--dry-run"]):
        done = program.run("sessions", "archive", *words)
        assert done.code == 5
        assert "--older-than" in done.err
    assert program.run("sessions", "archive", "old-cli", "--source", "cli").code == 2
    assert dump(many.db_path) == before


def test_archive_by_name_and_back(program: Program, many: SessionDB) -> None:
    shown = program.run("sessions", "archive", "open", "hidden", "--dry-run", "--json")
    assert json.loads(shown.out) == [{"id": "open", "archived": False}]

    done = program.run("sessions", "archive", "open", "About hidden", "--json")
    assert json.loads(done.out) == [{"id": "open", "archived": True}]
    assert "open" not in {row.id for row in many.list_summaries()}

    back = program.run("sessions", "unarchive", "open", "hidden", "new-cli")
    assert back.out == "2 sessions shown again.\n"
    assert len(many.list_summaries()) == 6
    assert program.run("sessions", "unarchive", "nobody").code == 3


# ------------------------------------------------------------------------------------------ rename


def test_rename(program: Program, many: SessionDB) -> None:
    done = program.run("sessions", "rename", "About old-cli", "Winter", "garden")

    assert done.out == "Session old-cli is now called “Winter garden”.\n"
    assert many.get_session_title("old-cli") == "Winter garden"
    as_json = program.run("sessions", "rename", "old-", "--clear", "--json")
    assert as_json.code == 4
    as_json = program.run("sessions", "rename", "old-c", "--clear", "--json")
    assert json.loads(as_json.out) == [{"id": "old-cli", "title": None}]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["old-cli"], 2),
        (["old-cli", "  "], 2),
        (["old-cli", "A", "--clear"], 2),
        (["old-cli", "x" * 101], 1),
        (["old-cli", "About old-tg"], 1),
        (["nobody", "A"], 3),
        (["", "A"], 2),
    ],
)
def test_titles_that_cannot_be(
    program: Program, many: SessionDB, words: list[str], code: int
) -> None:
    before = dump(many.db_path)

    assert program.run("sessions", "rename", *words).code == code
    assert dump(many.db_path) == before


def test_rename_of_a_conversation_in_parts(
    program: Program, db: SessionDB, converse: Converse
) -> None:
    converse("root", "Hello", "Hi")
    db.end_session("root", "compression")
    db.create_session("tip", "cli", parent_session_id="root")

    done = program.run("sessions", "rename", "root", "Whole")

    assert done.out == "Session tip is now called “Whole”.\n"
    (row,) = db.list_summaries()
    assert (row.id, row.title) == ("tip", "Whole")
