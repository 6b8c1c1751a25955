"""``hermes-desktop chat`` against a scripted model: where the words go and what is kept."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes import model_server
from tests.fakes.model_server import ModelServer
from tests.fakes.program import Outcome, Program


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def configured(home: Path, server: ModelServer) -> Path:
    """The home, with the scripted model in its settings."""
    settings = {"model": {"default": "a-model", "base_url": server.base_url, "api_key": "k-123456"}}
    (home / "config.yaml").write_text(json.dumps(settings))
    return home


def rows(home: Path, **wanted: Any) -> list[dict[str, Any]]:
    """All sessions, the latest activity first."""
    database = SessionDB(home / "state.db")
    try:
        return database.search_sessions(**wanted)
    finally:
        database.close()


def said(home: Path, session_id: str) -> list[tuple[str, str]]:
    database = SessionDB(home / "state.db")
    try:
        return [(row["role"], row["content"]) for row in database.get_messages(session_id)]
    finally:
        database.close()


def old(
    db: SessionDB, session_id: str, text: str, *, source: str = "cli", age_s: float = 9e5
) -> str:
    """Store a session in which something was said long ago."""
    db.create_session(session_id, source)
    db.append_message(session_id, "user", text, timestamp=time.time() - age_s)
    return session_id


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


def test_nothing_of_the_gateway_is_written(program: Program, configured: Path) -> None:
    program.run("chat", "-q", "Hello")

    made = {file.name for file in configured.iterdir()} - {"state.db-wal", "state.db-shm"}
    assert made == {"state.db", "config.yaml", "logs"}
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


def test_a_session_in_use_is_said_not_asked(
    program: Program, configured: Path, db: SessionDB
) -> None:
    old(db, "s1", "A moment ago", age_s=60)

    done = program.run("chat", "-q", "Me too", "--resume", "s1")

    assert done.code == 0
    assert done.err.startswith("Note: Its last message is ")
    assert db.message_count("s1") == 3


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


# --------------------------------------------------------------------------------- what can fail


def failed(program: Program, *arguments: str) -> Outcome:
    done = program.run("chat", "-q", "Keep this", *arguments)
    assert done.code == 1
    assert "Traceback" not in done.err
    return done


def kept(home: Path, done: Outcome) -> str:
    """The id of the one session; checks that the prompt is in it and that this was said."""
    (row,) = rows(home)
    assert said(home, row["id"])[0] == ("user", "Keep this")
    assert f"Your message is kept in session {row['id']}" in done.err
    return str(row["id"])


def test_no_model_makes_nothing(program: Program, home: Path) -> None:
    done = failed(program)

    assert done.err.startswith("No model is set.\n")
    assert list(home.iterdir()) == []


def test_broken_settings_make_nothing(program: Program, home: Path) -> None:
    (home / "config.yaml").write_text("model: [unclosed\n")

    done = failed(program)

    assert str(home / "config.yaml") in done.err
    assert [file.name for file in home.iterdir()] == ["config.yaml"]


@pytest.mark.slow
def test_nobody_answers(program: Program, configured: Path, server: ModelServer) -> None:
    server.close()

    kept(configured, failed(program))


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(model_server.html(), id="a web page"),
        pytest.param(model_server.error(401, "Who are you?"), id="no right"),
        pytest.param(model_server.error(404, "No such model"), id="no such model"),
    ],
)
def test_the_endpoint_says_no(
    program: Program, configured: Path, server: ModelServer, reply: model_server.Reply
) -> None:
    server.script(reply)

    done = failed(program)

    assert done.out == ""
    assert "k-123456" not in done.err
    kept(configured, done)


def test_a_broken_stream_keeps_both_sides(
    program: Program, configured: Path, server: ModelServer
) -> None:
    server.script(model_server.cut_after("one two three four five", 3))

    done = failed(program)

    assert done.out == "one two three\n"
    session_id = kept(configured, done)
    assert said(configured, session_id)[1] == ("assistant", "one two three")


def test_a_newer_store_is_only_read(
    program: Program, configured: Path, db: SessionDB, server: ModelServer
) -> None:
    old(db, "s1", "Hello")
    db._execute_write(lambda conn: conn.execute("UPDATE schema_version SET version = 31"))
    db.close()
    before = (configured / "state.db").read_bytes()

    done = program.run("chat", "-q", "Hello", "--resume", "s1")

    assert done.code == 1
    assert "newer" in done.err
    assert (configured / "state.db").read_bytes() == before
    assert server.requests == []


def test_a_store_of_something_else(program: Program, configured: Path) -> None:
    (configured / "state.db").write_bytes(b"a diary, really\n" * 300)

    failed(program)

    assert (configured / "state.db").read_bytes() == b"a diary, really\n" * 300


@pytest.mark.slow
def test_a_locked_store(
    program: Program, configured: Path, db: SessionDB, server: ModelServer
) -> None:
    old(db, "s1", "Hello")
    with db._lock:
        db._conn.execute("BEGIN IMMEDIATE")
        try:
            done = program.run("chat", "-q", "Hello", "--resume", "s1")
        finally:
            db._conn.execute("ROLLBACK")

    assert done.code == 6
    assert "Your message was not stored." in done.err
    assert server.requests == []


# -------------------------------------------------------------------------------------- stopping


def first_words(process: subprocess.Popen[bytes], count: int) -> bytes:
    assert process.stdout is not None
    return os.read(process.stdout.fileno(), count)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_keeps_what_came(
    program: Program, configured: Path, server: ModelServer, number: signal.Signals
) -> None:
    server.script(model_server.hang("It was a dark"))
    process = program.start("chat", "-q", "Tell me a story")
    assert first_words(process, 100) == b"It was a dark"

    process.send_signal(number)
    out, err = process.communicate(timeout=30)

    assert process.returncode == 5
    assert out == b"\n"
    (row,) = rows(configured)
    assert said(configured, row["id"]) == [
        ("user", "Tell me a story"),
        ("assistant", "It was a dark"),
    ]
    assert f"kept in session {row['id']}" in err.decode()


def test_stopping_before_the_first_word(
    program: Program, configured: Path, server: ModelServer
) -> None:
    server.script(model_server.hang())
    process = program.start("chat", "-q", "Tell me a story")
    server.wait_for_requests(1)

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)

    assert process.returncode == 5
    (row,) = rows(configured)
    assert said(configured, row["id"])[0] == ("user", "Tell me a story")


def test_a_reader_that_leaves_stops_the_turn(
    program: Program, configured: Path, server: ModelServer
) -> None:
    server.script(model_server.text(["word "] * 400, delay=0.02))
    process = program.start("chat", "-q", "Tell me a long story")
    first_words(process, 5)
    assert process.stdout is not None
    process.stdout.close()

    _, err = process.communicate(timeout=30)

    assert (process.returncode, err) == (0, b"")
    (row,) = rows(configured)
    (_, (_, partial)) = said(configured, row["id"])
    assert 0 < partial.count("word") < 400
