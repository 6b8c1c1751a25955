"""``hermes-desktop sessions list`` as a person or a script meets it."""

import json
import subprocess
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.program import Converse, Program, files_of, names

# ------------------------------------------------------------------------------ what is listed


def test_newest_first_with_tabs_between_the_fields(program: Program, converse: Converse) -> None:
    converse("20260101_100000_aaaaaa", "Hello", "Good morning", title="First", source="telegram")
    converse("20260102_100000_bbbbbb", "How do I boil an egg?")

    done = program.run("sessions", "list")

    assert done.code == 0
    assert done.err == ""
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert [row[0] for row in rows] == ["20260102_100000_bbbbbb", "20260101_100000_aaaaaa"]
    assert rows[1][1:3] == ["telegram", "2"]
    assert [row[4] for row in rows] == ["How do I boil an egg?", "First"]


def test_limit_and_source(program: Program, converse: Converse) -> None:
    for number in range(25):
        converse(f"s{number:02}", "Hello", source="telegram" if number % 5 == 0 else "cli")

    assert len(program.run("sessions", "list").out.splitlines()) == 20
    assert names(program.run("sessions", "list", "--limit", "2").out.splitlines()) == ["s24", "s23"]
    found = program.run("sessions", "list", "--source", "telegram").out.splitlines()
    assert names(found) == ["s20", "s15", "s10", "s05", "s00"]


def test_source_is_taken_exactly(program: Program, converse: Converse) -> None:
    converse("s1", "Hello", source="cli")

    done = program.run("sessions", "list", "--source", "CLI")

    assert (done.code, done.out, done.err) == (0, "No sessions found.\n", "")


def test_tool_sessions_show_only_when_asked_for(program: Program, converse: Converse) -> None:
    converse("s1", "Hello", source="tool")

    assert program.run("sessions", "list").out == "No sessions found.\n"
    assert names(program.run("sessions", "list", "--source", "tool").out.splitlines()) == ["s1"]


def test_a_compression_chain_is_one_row(program: Program, db: SessionDB) -> None:
    db.create_session("root", "cli")
    db.append_message("root", "user", "Hello")
    db.end_session("root", "compression")
    db.create_session("tip", "cli", parent_session_id="root")
    db.append_message("tip", "user", "Go on")

    (only,) = json.loads(program.run("sessions", "list", "--json").out)

    assert (only["id"], only["root_id"], only["preview"]) == ("tip", "root", "Go on")


# ---------------------------------------------------------------------------------------- JSON


def test_json_is_one_array_of_flat_objects(program: Program, converse: Converse) -> None:
    converse("20260101_100000_aaaaaa", "Grüße, 世界 🌍", "Hi", title="Ünïcode")

    done = program.run("sessions", "list", "--json")

    (only,) = json.loads(done.out)
    assert only["id"] == "20260101_100000_aaaaaa"
    assert only["title"] == "Ünïcode"
    assert only["preview"] == "Grüße, 世界 🌍"
    assert only["message_count"] == 2
    assert only["model"] == "a-model"
    assert only["ended_at"] is None
    assert only["archived"] is False
    assert isinstance(only["started_at"], float)
    assert not any(isinstance(value, dict | list) for value in only.values())


def test_json_of_nothing_is_an_empty_array(program: Program, db: SessionDB) -> None:
    done = program.run("sessions", "list", "--json")

    assert (done.code, done.out) == (0, "[]\n")


@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1"])
def test_json_has_the_same_values_in_any_locale(
    program: Program, converse: Converse, encoding: str
) -> None:
    converse("s1", "Hello", title="Grüße 世界")

    done = program.run("sessions", "list", "--json", env={"PYTHONIOENCODING": encoding})

    assert json.loads(done.out)[0]["title"] == "Grüße 世界"


# ----------------------------------------------------------------------- terminals and encodings


@pytest.mark.parametrize("as_json", [False, True])
def test_no_control_character_reaches_the_terminal(
    program: Program, converse: Converse, as_json: bool
) -> None:
    text = "\x1b]0;owned\x07 \x9b31m red \u202egnp.exe \u2066x\u2069 \x7f tab\there\nnew line"
    converse("s1", text)

    done = program.run("sessions", "list", *(["--json"] if as_json else []))

    assert done.code == 0
    body = done.out.replace("\n", "").replace("\t", "")
    assert not any(ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0 for sign in body)
    assert not set("\u202e\u2066\u2069") & set(body)
    if as_json:
        assert json.loads(done.out)[0]["preview"].startswith("\x1b]0;owned\x07")
    else:
        assert "␛]0;owned␇" in done.out
        assert done.out.count("\n") == 1


def test_c_locale_and_ascii_output_never_fail(program: Program, converse: Converse) -> None:
    converse("s1", "Grüße 世界")

    assert "Grüße 世界" in program.run("sessions", "list", env={"LC_ALL": "C"}).out
    narrow = program.run("sessions", "list", env={"PYTHONIOENCODING": "ascii"})
    assert narrow.code == 0
    assert "Gr??e ??" in narrow.out


def test_a_reader_that_leaves_is_no_failure(program: Program, converse: Converse) -> None:
    for number in range(60):
        converse(f"s{number:03}", "Hello " * 20)
    process = program.start("sessions", "list", "--json", "--limit", "60")
    assert process.stdout is not None
    process.stdout.close()

    _, err = process.communicate(timeout=60)

    assert (process.returncode, err) == (0, b"")


def test_a_full_disk_is_said(program: Program, converse: Converse) -> None:
    converse("s1", "Hello")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*program.start_arguments("sessions", "list")],
            stdout=full,
            stderr=subprocess.PIPE,
            env=program.environment(),
            timeout=60,
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr.decode().startswith("The output cannot be written.\n")
    assert b"Traceback" not in done.stderr


# --------------------------------------------------------------------------------- nothing there


def test_no_sessions(program: Program, db: SessionDB) -> None:
    done = program.run("sessions", "list")

    assert (done.code, done.out, done.err) == (0, "No sessions found.\n", "")


def test_no_database_makes_none(program: Program, home: Path) -> None:
    done = program.run("sessions", "list")

    assert done.code == 1
    assert done.out == ""
    assert str(home / "state.db") in done.err
    assert list(home.iterdir()) == []


def test_no_home_makes_none(program: Program, home: Path) -> None:
    home.rmdir()

    done = program.run("sessions", "list")

    assert done.code == 1
    assert str(home / "state.db") in done.err
    assert not home.exists()


def test_looking_changes_no_file(program: Program, home: Path, converse: Converse) -> None:
    converse("s1", "Hello")
    before = files_of(home)

    program.run("sessions", "list")
    program.run("sessions", "show", "s1")

    after = files_of(home)
    assert after["state.db"] == before["state.db"]
    assert set(after) <= {"state.db", "state.db-wal", "state.db-shm"}


# -------------------------------------------------------------------------------- wrong requests


@pytest.mark.parametrize(
    "arguments",
    [
        ["--limit", "0"],
        ["--limit", "-3"],
        ["--limit", "many"],
        ["--source", ""],
        ["--unknown"],
        ["too", "much"],
    ],
)
def test_nonsense_is_wrong_usage(program: Program, db: SessionDB, arguments: list[str]) -> None:
    done = program.run("sessions", "list", *arguments)

    assert done.code == 2
    assert done.out == ""
    assert "hermes-desktop sessions list" in done.err


def test_the_greatest_limit_works(program: Program, converse: Converse) -> None:
    converse("s1", "Hello")

    done = program.run("sessions", "list", "--limit", "1000000000")

    assert names(done.out.splitlines()) == ["s1"]
