"""``sessions prune``, ``archive``, ``unarchive``, ``rename``: conditions, and preview = act."""

import json
import time
from pathlib import Path

import pytest

from hermes_desktop.cli.sessions import session_bulk
from hermes_desktop.core.errors import RefusedError
from hermes_desktop.services.sessions import bulk_sessions
from hermes_desktop.services.sessions.session_actions import SessionActions
from hermes_desktop.state import SessionDB
from hermes_desktop.state.sessions.bulk_selection import SessionFilter
from hermes_desktop.state.trash.trash import TrashDiskFullError, TrashTooLargeError
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
            conn.execute("UPDATE messages SET timestamp = ? WHERE session_id = ?", (moment, name))

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


def test_prune_takes_what_it_showed_and_gives_it_back(
    program: Program, many: SessionDB, home: Path
) -> None:
    folder = home / "sessions"
    folder.mkdir()
    (folder / "old-cli.json").write_text("{}")
    words = ("prune", "--older-than", "1d", "--source", "cli")
    shown = planned(program, *words)
    before, everything = dump(many.db_path), ids(many)

    done = program.run("sessions", *words, "--yes")

    first, undo = done.out.splitlines()
    assert first == "Moved to the trash: 2 sessions: cli 2."
    assert everything - ids(many) == shown == {"old-cli", "new-cli"}
    assert (folder / "old-cli.json").exists()
    again = program.run("sessions", *words, "--yes")
    assert (again.code, again.out) == (0, "No sessions match the conditions.\n")

    restored = program.run(*undo.removeprefix("Undo: hermes-desktop ").split())

    assert restored.code == 0, restored.err
    assert dump(many.db_path) == before


def test_prune_takes_each_session_by_itself(program: Program, many: SessionDB) -> None:
    many.create_session("child", "tool", parent_session_id="old-cli")
    before = dump(many.db_path)

    done = program.run("sessions", "prune", "--title", "About old-cli", "--yes", "--json")

    (each,) = json.loads(done.out)
    child = many.get_session("child")
    assert child is not None
    assert child["parent_session_id"] is None
    assert program.run("sessions", "trash", "restore", str(each["trash_id"])).code == 0
    assert dump(many.db_path) == before


def test_prune_for_good_keeps_no_copy(program: Program, many: SessionDB, home: Path) -> None:
    folder = home / "sessions"
    folder.mkdir()
    (folder / "old-cli.json").write_text("{}")
    (folder / "new-tg.json").write_text("{}")

    done = program.run("sessions", "prune", "--older-than", "1d", "--for-good", "--yes")

    assert done.out == "Permanently deleted 3 sessions: cli 2, telegram 1.\n"
    assert ids(many) == {"new-tg", "hidden", "open"}
    assert [file.name for file in folder.iterdir()] == ["new-tg.json"]
    assert program.run("sessions", "trash", "list").out == "The trash is empty.\n"
    both = program.run("sessions", "prune", "--for-good", "--large", "--yes")
    assert both.code == 2


def test_a_very_large_prune_says_what_can_be_done(
    program: Program, many: SessionDB, home: Path
) -> None:
    many._execute_write(
        lambda conn: conn.execute("UPDATE sessions SET model_config = zeroblob(210000000) "
                                  "WHERE id = 'old-cli'")
    )  # fmt: skip

    refused = program.run("sessions", "prune", "--yes")

    assert refused.code != 0
    assert "--large" in refused.err
    assert "--for-good" in refused.err
    assert {"old-cli", "old-tg"} < ids(many)
    assert program.run("sessions", "prune", "--yes", "--for-good").code == 0
    assert ids(many) == {"new-cli", "new-tg", "hidden", "open"}


def add_many(db: SessionDB, count: int) -> None:
    db._execute_write(
        lambda conn: conn.executemany(
            "INSERT INTO sessions (id, source, started_at, ended_at) VALUES (?, 'many', 1, 2)",
            [(f"many{number}",) for number in range(count)],
        )
    )


def test_many_pruned_sessions_are_restored_by_a_range(program: Program, many: SessionDB) -> None:
    add_many(many, 60)

    done = program.run("sessions", "prune", "--source", "many", "--yes")

    assert done.out.splitlines()[0] == "Moved to the trash: 60 sessions: many 60."
    assert done.out.splitlines()[1] == "Undo: hermes-desktop sessions trash restore 1-60"
    assert len(program.run("sessions", "trash", "list").out.splitlines()) == 60
    restored = program.run("sessions", "trash", "restore", "1-20", "41-60")
    assert len(restored.out.splitlines()) == 40
    listed = json.loads(program.run("sessions", "trash", "list", "--json").out)
    assert sorted(each["trash_id"] for each in listed) == list(range(21, 41))


def test_a_prune_that_is_stopped_says_how_far_it_came(program: Program, many: SessionDB) -> None:
    add_many(many, 3_000)

    stopped = at_terminal(
        program, "sessions", "prune", "--source", "many", "--yes", interrupt_at="to the trash …"
    )

    assert stopped.code == 5
    left = len(planned(program, "prune", "--source", "many"))
    listed = json.loads(program.run("sessions", "trash", "list", "--json").out)
    assert len(listed) == 3_000 - left > 0
    assert f"{left:,} left" in stopped.out + stopped.err


@pytest.mark.parametrize(
    ("refusal", "hint"), [(TrashDiskFullError, "--for-good"), (TrashTooLargeError, "--large")]
)
def test_a_refused_copy_names_the_options(
    many: SessionDB, home: Path, refusal: type[RefusedError], hint: str
) -> None:
    class NoCopies(SessionActions):
        def prune(self, plan, **_):
            raise refusal("Refused.", "", "Delete for good.")

    actions = NoCopies(many, home / "desktop" / "desktop.db")
    plan = bulk_sessions.plan_prune(many, SessionFilter(), now=time.time())
    with pytest.raises(refusal) as caught:
        session_bulk._prune(actions, plan, large=False)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("options", "meaning", "question", "sentence"),
    [
        ((), "30 days", "Move 2 sessions to the trash?", "Moved to the trash: "),
        (
            ("--for-good",),
            "cannot be undone",
            "Permanently delete 2 sessions?",
            "Permanently deleted ",
        ),
    ],
)
def test_prune_asks(
    program: Program,
    many: SessionDB,
    options: tuple[str, ...],
    meaning: str,
    question: str,
    sentence: str,
) -> None:
    words = ("sessions", "prune", *options)
    before = dump(many.db_path)
    assert program.run(*words).code == 5
    refused = at_terminal(program, *words, typed=b"n\n")
    assert refused.code == 5
    for expected in ("2 sessions: cli 1, telegram 1", meaning):
        assert expected in refused.out
    assert question in refused.out + refused.err
    assert dump(many.db_path) == before

    done = at_terminal(program, *words, typed=b"y\n")

    assert done.code == 0
    assert f"{sentence}2 sessions: cli 1, telegram 1." in done.out
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
