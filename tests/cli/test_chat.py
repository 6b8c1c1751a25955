"""``hermes-desktop chat`` against a scripted model: where the words go and what is kept."""

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes import model_server
from tests.fakes.model_server import ModelServer
from tests.fakes.program import Program, old, rows, said

# ------------------------------------------------------------------------------- one good reply


def test_a_new_session(program: Program, configured: Path, server: ModelServer) -> None:
    server.script(model_server.text("Good morning to you."))

    done = program.run("chat", "-q", "Good morning")

    assert (done.code, done.out, done.err) == (0, "Good morning to you.\n", "")
    (row,) = rows(configured)
    assert (row["source"], row["model"], row["message_count"]) == ("cli", "a-model", 2)
    assert row["end_reason"] == "cli_close"
    assert said(configured, row["id"]) == [
        ("user", "Good morning"),
        ("assistant", "Good morning to you."),
    ]


def test_a_session_notes_where_it_works(program: Program, configured: Path) -> None:
    folder = configured.parent  # where the program is started
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/trunk\n", encoding="utf-8")
    assert program.run("chat", "-q", "Hello").code == 0
    (row,) = rows(configured)
    wanted = (str(folder), str(folder), "trunk")
    assert (row["cwd"], row["git_repo_root"], row["git_branch"]) == wanted
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/other\n", encoding="utf-8")
    assert program.run("chat", "--resume", row["id"], "-q", "And now?").code == 0
    assert rows(configured)[0]["git_branch"] == "trunk"


def test_nothing_of_the_gateway_is_written(program: Program, configured: Path) -> None:
    program.run("chat", "-q", "Hello")

    made = {file.name for file in configured.iterdir()} - {"state.db-wal", "state.db-shm"}
    assert made == {"state.db", "config.yaml", "logs", "desktop"}
    ours = {file.name for file in (configured / "desktop").iterdir()}
    assert ours - {"desktop.db-wal", "desktop.db-shm"} == {"desktop.db", "turns"}
    database = SessionDB(configured / "state.db")
    routing = database._conn.execute("SELECT count(*) FROM gateway_routing").fetchone()[0]
    database.close()
    assert routing == 0


def test_the_message_from_standard_input(
    program: Program, configured: Path, server: ModelServer
) -> None:
    done = program.run("chat", "-q", "-", stdin="First line\r\nGrüße \N{SNOWMAN}\n".encode())

    assert done.code == 0
    assert server.requests[-1].messages[-1]["content"].rstrip() == "First line\nGrüße ☃"


def test_bytes_that_are_no_text_are_replaced(
    program: Program, configured: Path, server: ModelServer
) -> None:
    from_input = program.run("chat", "-q", "-", stdin=b"caf\xe9")
    argument = b"caf\xe9".decode("utf-8", "surrogateescape")
    from_argument = program.run("chat", "-q", argument)

    assert (from_input.code, from_argument.code) == (0, 0)
    assert {each.messages[-1]["content"] for each in server.requests} == {"caf\ufffd"}


def test_the_reply_is_made_harmless(
    program: Program, configured: Path, server: ModelServer
) -> None:
    server.script(model_server.text(["\x1b[2J", "one\r", "\ntwo", "\u202ethree", "\r"]))

    done = program.run("chat", "-q", "Hello")

    assert done.out == "␛[2Jone\ntwo\ufffdthree\n"


def test_thinking_is_not_printed(program: Program, configured: Path, server: ModelServer) -> None:
    server.script(model_server.text("Forty-two.", reasoning=["Let me ", "think."]))

    assert program.run("chat", "-q", "What?").out == "Forty-two.\n"


@pytest.mark.parametrize(
    "pieces",
    [
        ["<thi", "nk>Let me ", "think.</think>\n\nForty-", "two."],
        ["Let me think.\n", "</think>\n\nForty-two."],
    ],
    ids=["marked", "only its end"],
)
def test_thinking_in_the_text_is_neither_printed_nor_stored(
    program: Program, configured: Path, server: ModelServer, pieces: list[str]
) -> None:
    server.script(model_server.text(pieces))

    assert program.run("chat", "-q", "What?").out == "Forty-two.\n"

    (row,) = rows(configured)
    assert said(configured, row["id"]) == [("user", "What?"), ("assistant", "Forty-two.")]
    program.run("chat", "-c", "-q", "Sure?")
    assert "think" not in json.dumps(server.requests[-1].messages[1:])


def test_a_reply_that_the_server_did_not_finish_is_a_failure(
    program: Program, configured: Path, server: ModelServer
) -> None:
    server.script(model_server.text(["First, "], finish="abort"))

    done = program.run("chat", "-q", "What?")

    assert (done.code, done.out) == (1, "First, \n")
    assert "abort" in done.err


def test_thinking_alone_is_shown_and_stored_once(
    program: Program, configured: Path, server: ModelServer
) -> None:
    server.responder = lambda _: model_server.text([], reasoning=["Forty-two."])

    done = program.run("chat", "-q", "What?")

    assert done.out == "Forty-two.\n"
    assert "as thinking" in done.err
    (row,) = rows(configured)
    assert said(configured, row["id"])[-1] == ("assistant", "Forty-two.")
    with contextlib.closing(sqlite3.connect(configured / "state.db")) as conn:
        found = conn.execute("SELECT reasoning FROM messages WHERE role = 'assistant'").fetchall()
    assert found == [("Forty-two.",)]


def test_the_profile_is_noted(program: Program, configured: Path) -> None:
    work = configured / "profiles" / "work"
    work.mkdir(parents=True)
    (configured / "config.yaml").rename(work / "config.yaml")

    done = program.run("chat", "-q", "Hello", "--profile", "work")

    assert done.code == 0, done.err
    assert [row["profile_name"] for row in rows(work)] == ["work"]
    assert not (configured / "state.db").exists()


# ------------------------------------------------------------------------ going on with a session


def test_resume_by_id_title_and_beginning(
    program: Program, configured: Path, db: SessionDB, server: ModelServer
) -> None:
    old(db, "20260101_100000_aaaaaa", "What is a fig?")
    db.set_session_title("20260101_100000_aaaaaa", "Figs")
    db.end_session("20260101_100000_aaaaaa", "cli_close")

    for wanted in ("20260101_100000_aaaaaa", "Figs", "20260101"):
        done = program.run("chat", "-q", "And a date?", "--resume", wanted)
        assert (done.code, done.err) == (0, "")

    assert len(rows(configured)) == 1
    asked = [message["content"] for message in server.requests[0].messages]
    assert "\n\n".join(asked[1:]) == "What is a fig?\n\nAnd a date?"
    assert db.message_count("20260101_100000_aaaaaa") == 7


def test_resume_goes_on_at_the_tip(program: Program, configured: Path, db: SessionDB) -> None:
    old(db, "root", "At first")
    db.end_session("root", "compression")
    db.create_session("tip", "cli", parent_session_id="root")

    assert program.run("chat", "-q", "And then?", "--resume", "root").code == 0

    assert db.message_count("root") == 1
    assert db.message_count("tip") == 2
    assert (db.get_session("root") or {})["end_reason"] == "compression"


def test_continue_takes_the_latest_of_the_command_line(
    program: Program, configured: Path, db: SessionDB
) -> None:
    old(db, "s1", "Older", age_s=9e5)
    old(db, "s2", "Latest of the command line", age_s=8e5)
    old(db, "s3", "Later, but elsewhere", source="telegram", age_s=7e5)

    assert program.run("chat", "-q", "Go on", "--continue").code == 0

    assert [db.message_count(name) for name in ("s1", "s2", "s3")] == [1, 3, 1]


def test_nothing_to_continue(program: Program, configured: Path, server: ModelServer) -> None:
    done = program.run("chat", "-q", "Go on", "--continue")

    assert done.code == 3
    assert server.requests == []


def test_not_found_and_ambiguous(
    program: Program, configured: Path, db: SessionDB, server: ModelServer
) -> None:
    old(db, "20260101_100000_aaaaaa", "One")
    old(db, "20260101_110000_bbbbbb", "Two")

    assert program.run("chat", "-q", "Hm", "--resume", "nothing like it").code == 3
    assert program.run("chat", "-q", "Hm", "--resume", "20260101").code == 4
    assert program.run("chat", "-q", "Hm", "--resume", "").code == 2
    assert server.requests == []
    assert len(rows(configured)) == 2


def test_a_chat_of_a_platform_is_not_sent_there(
    program: Program, configured: Path, db: SessionDB
) -> None:
    old(db, "s1", "Hello from the train", source="telegram")

    done = program.run("chat", "-q", "Hello back", "--resume", "s1")

    assert done.code == 0
    assert "not sent to Telegram" in done.err
    assert (db.get_session("s1") or {})["ended_at"] is None


# ---------------------------------------------------------------------------------- wrong usage


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-q", ""],
        ["-q", " \n "],
        ["-q", "-"],
        ["-q"],
        ["-q", "Hello", "--resume", "x", "--continue"],
        ["Hello"],
    ],
)
def test_wrong_usage_makes_nothing(program: Program, home: Path, arguments: list[str]) -> None:
    done = program.run("chat", *arguments)

    assert done.code == 2
    assert done.err
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("message_count", "abc"),
        ("message_count", 2**63 - 1),
        ("rewind_count", "abc"),
        ("model_config", "[" * 20_000),
    ],
)
def test_a_session_with_an_odd_value_is_continued(
    program: Program, configured: Path, column: str, value: object
) -> None:
    assert program.run("chat", "-q", "Hello").code == 0
    with contextlib.closing(sqlite3.connect(configured / "state.db")) as conn, conn:
        conn.execute(f"UPDATE sessions SET {column} = ?", (value,))
    (row,) = rows(configured)

    done = program.run("chat", "--resume", row["id"], "-q", "And now?")

    assert done.code == 0, done.err
    assert len(said(configured, row["id"])) == 4
