"""A state.db that is not what it should be: words, an exit code, and the file as it was."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.program import Program, names

HOLDER = """
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], isolation_level=None)
conn.execute("PRAGMA locking_mode = EXCLUSIVE")
conn.execute("BEGIN EXCLUSIVE")
conn.execute("CREATE TABLE IF NOT EXISTS held (x)")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"This is a letter, not a database.\n" * 40, id="text"),
        pytest.param(b"SQLite format 3\x00" + b"\xff" * 5000, id="broken header"),
    ],
)
def test_not_a_database(program: Program, home: Path, content: bytes) -> None:
    file = home / "state.db"
    file.write_bytes(content)

    for arguments in (["sessions", "list"], ["sessions", "show", "x"]):
        done = program.run(*arguments)
        assert done.code == 1
        assert done.out == ""
        assert str(file) in done.err
        assert "Traceback" not in done.err
    assert file.read_bytes() == content


def test_a_database_of_another_program(program: Program, home: Path) -> None:
    file = home / "state.db"
    foreign = sqlite3.connect(file)
    foreign.execute("CREATE TABLE recipes (name TEXT)")
    foreign.commit()
    foreign.close()
    before = file.read_bytes()

    done = program.run("sessions", "list")

    assert done.code == 1
    assert file.read_bytes() == before


def test_damaged_in_the_middle(program: Program, home: Path) -> None:
    file = home / "state.db"
    database = SessionDB(file)
    for number in range(400):
        database.create_session(f"s{number}", "cli")
        database.append_message(f"s{number}", "user", "Hello " * 50)
    database.close()
    whole = bytearray(file.read_bytes())
    whole[8192 : len(whole) - 4096] = os.urandom(len(whole) - 12288)
    file.write_bytes(whole)

    done = program.run("sessions", "list")

    assert done.code == 1
    assert "Traceback" not in done.err
    assert file.read_bytes() == bytes(whole)


def test_a_newer_version_is_read(program: Program, home: Path) -> None:
    file = home / "state.db"
    database = SessionDB(file)
    database.create_session("s1", "cli")
    database.append_message("s1", "user", "Hello")
    database.close()
    change = sqlite3.connect(file)
    change.execute("UPDATE schema_version SET version = 31")
    change.execute("ALTER TABLE sessions ADD COLUMN pinned INTEGER DEFAULT 0")
    change.commit()
    change.close()

    assert names(program.run("sessions", "list").out.splitlines()) == ["s1"]
    assert "Hello" in program.run("sessions", "show", "s1").out


def test_a_folder_in_its_place(program: Program, home: Path) -> None:
    (home / "state.db").mkdir()

    assert program.run("sessions", "list").code == 1


def test_a_link_to_itself(program: Program, home: Path) -> None:
    (home / "state.db").symlink_to("state.db")

    done = program.run("sessions", "list")

    assert done.code == 1
    assert "Traceback" not in done.err


@pytest.mark.slow
@pytest.mark.two_processes
def test_locked_by_somebody(program: Program, home: Path) -> None:
    SessionDB(home / "state.db").close()
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HOLDER,
            str(home / "state.db"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    try:
        done = program.run("sessions", "list")
    finally:
        holder.communicate(timeout=60)

    assert done.code == 6
    assert done.err.startswith("The session database is busy.\n")
