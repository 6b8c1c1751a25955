"""``hermes-desktop chat`` when something is wrong, or when it is stopped: what is kept and said."""

import os
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes import model_server
from tests.fakes.model_server import ModelServer
from tests.fakes.program import Outcome, Program, old, rows, said
from tests.fakes.state_files import demand_mood

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


def test_a_newer_store_with_a_demand_we_do_not_know_is_only_read(
    program: Program, configured: Path, db: SessionDB, server: ModelServer
) -> None:
    old(db, "s1", "Hello")
    db.close()
    newer = sqlite3.connect(configured / "state.db", isolation_level=None)
    newer.execute("UPDATE schema_version SET version = 31")
    demand_mood(newer)
    newer.close()
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
    out, err = process.communicate(timeout=60)

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
    process.communicate(timeout=60)

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

    _, err = process.communicate(timeout=60)

    assert (process.returncode, err) == (0, b"")
    (row,) = rows(configured)
    (_, (_, partial)) = said(configured, row["id"])
    assert 0 < partial.count("word") < 400


def test_who_stands_by_answers_and_a_wait_is_told(
    program: Program, home: Path, server: ModelServer
) -> None:
    with ModelServer() as chosen:
        chosen.script(model_server.error(401, "Incorrect API key", code="invalid_api_key"))
        server.script(model_server.error(429, "Slow down", headers={"Retry-After": "1"}))
        (home / "config.yaml").write_text(
            f"model: {{default: big, base_url: '{chosen.base_url}', api_key: sk-wrong-12345}}\n"
            f"fallback_providers: [{{model: small, base_url: '{server.base_url}'}}]\n",
            encoding="utf-8",
        )
        done = program.run("chat", "-q", "Hello there")
    assert (done.code, done.out) == (0, "You said: Hello there\n")
    assert f"small ({server.host}) answers: {chosen.host} rejected the key." in done.err
    assert f"{server.host} asks to wait" in done.err
    assert "sk-wrong" not in done.err
    (row,) = rows(home)
    assert [role for role, _ in said(home, row["id"])] == ["user", "assistant"]
