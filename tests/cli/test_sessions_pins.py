"""``sessions pin`` and ``unpin``, and what the commands that take many sessions say of pins."""

import json
import time
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes import state_files
from tests.fakes.program import Converse, Program
from tests.fakes.terminal import at_terminal

DAY_S = 86_400.0


@pytest.fixture
def old(db: SessionDB, converse: Converse) -> SessionDB:
    """Four ended sessions that began 200 days ago; one of them was used yesterday."""
    for name in ("keep-me", "old-one", "old-two", "used-one"):
        converse(name, "hello", title=f"About {name}")
        db.end_session(name, "user_exit")
    then = time.time() - 200 * DAY_S

    def age(conn):  # type: ignore[no-untyped-def]
        conn.execute("UPDATE sessions SET started_at = ?", (then,))
        conn.execute("UPDATE messages SET timestamp = ? WHERE session_id <> 'used-one'", (then,))

    db._execute_write(age)
    return db


def ids(db: SessionDB) -> set[str]:
    return {row["id"] for row in db.search_sessions()}


def test_pinned_sessions_are_spared_and_every_preview_says_so(
    program: Program, old: SessionDB
) -> None:
    done = program.run("sessions", "pin", "About keep-me", "keep-me")
    assert (done.code, done.out) == (0, "Pinned 1 session.\n")
    assert "`hermes sessions prune` does not know it" in done.err
    shown = program.run("sessions", "prune", "--dry-run")
    assert [line.split("\t")[0] for line in shown.out.splitlines()[:2]] == ["old-one", "old-two"]
    assert shown.out.splitlines()[2:] == [
        "2 sessions: cli 2",
        "2 messages; kept in the trash for 30 days",
        "Skipped: 1 pinned session. Add --include-pinned to include it.",
        "Skipped: 1 session started before that time but used later.",
        "Age is measured from the last use; `hermes` 0.19 measures it from the start.",
        "`hermes` 0.19 ignores pins.",
    ]
    shown = program.run("sessions", "prune", "--include-pinned", "--dry-run")
    assert "3 sessions: cli 3\n" in shown.out
    assert "1 of them is pinned.\n" in shown.out
    shown = program.run("sessions", "archive", "--older-than", "90d", "--dry-run")
    assert "Skipped: 1 pinned session. Add --include-pinned to include it.\n" in shown.out
    assert program.run("sessions", "prune", "--yes").code == 0
    assert ids(old) == {"keep-me", "used-one"}
    nothing = program.run("sessions", "prune", "--yes")
    assert nothing.out.startswith("No sessions match the conditions.\nSkipped: 1 pinned session.")
    assert program.run("sessions", "prune", "--for-good", "--include-pinned", "--yes").code == 0
    assert ids(old) == {"used-one"}


def test_lists_show_pins_and_unpin_takes_them_away(program: Program, old: SessionDB) -> None:
    assert program.run("sessions", "pin", "keep-me").code == 0
    listed = json.loads(program.run("sessions", "list", "--json").out)
    assert {each["id"] for each in listed if each["pinned"]} == {"keep-me"}
    table = at_terminal(program, "sessions", "list").out
    assert "* About keep-me" in table
    assert "* About old-one" not in table
    assert "pinned" in program.run("sessions", "show", "keep-me").out.splitlines()[1]
    asked = program.run("sessions", "delete", "keep-me", "old-one", "--dry-run")
    assert "1 of them is pinned.\n" in asked.out
    done = program.run("sessions", "unpin", "keep-me", "old-one", "--json")
    assert json.loads(done.out) == [{"id": "keep-me", "pinned": False}]
    assert old.own_pins_if_readable() == frozenset()


def test_an_export_spares_nothing(program: Program, old: SessionDB) -> None:
    assert program.run("sessions", "pin", "keep-me").code == 0
    done = program.run("sessions", "export", "--source", "cli")
    ids_ = {json.loads(line)["id"] for line in done.out.splitlines()}
    assert ids_ == {"keep-me", "old-one", "old-two", "used-one"}
    assert program.run("sessions", "export", "--include-pinned").code == 2


def test_an_unknown_session_changes_nothing(program: Program, old: SessionDB) -> None:
    assert program.run("sessions", "pin", "keep-me", "nobody").code != 0
    assert old.own_pins_if_readable() == frozenset()


def test_pins_of_a_newer_store_are_pins_of_hermes(program: Program, home: Path) -> None:
    conn = state_files.make_newer_file(home / "state.db")
    for name in ("theirs", "mine"):
        state_files.add_session(conn, name, ended_at=2_000.0, end_reason="x")
    conn.execute("UPDATE sessions SET pinned = 1 WHERE id = 'theirs'")
    conn.close()
    done = program.run("sessions", "pin", "mine")
    assert (done.out, done.err) == ("Pinned 1 session.\n", "")
    assert program.run("sessions", "prune", "--for-good", "--yes").code == 0
    listed = json.loads(program.run("sessions", "list", "--json").out)
    assert {each["id"] for each in listed if each["pinned"]} == {"theirs", "mine"}
    assert not (home / "desktop" / "desktop.db").exists()
