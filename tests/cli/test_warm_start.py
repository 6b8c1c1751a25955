"""Commands that fork from a warm process do what they do when Python starts for them."""

import subprocess

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.program import PROGRAM, Outcome, Program


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (("sessions", "list", "--json"), b""),
        (("sessions", "show", "trip"), b""),
        (("sessions", "show", "no such"), b""),
        (("sessions", "delete", "done"), b"n\n"),
        (("sessions", "no-such-command"), b""),
        (("sessions", "list", "--limit", "x\udcff"), b""),
        (("config", "get", "agent.max_turns"), b""),
    ],
)
def test_both_ways_have_the_same_outcome(
    program: Program, db: SessionDB, words: tuple[str, ...], stdin: bytes
) -> None:
    db.create_session("trip", "cli")
    db.append_message("trip", "user", "Which train? ü")
    db.create_session("done", "cli")
    db.append_message("done", "user", "Thank you", timestamp=1_700_000_000.0)
    db.end_session("done", "cli_close")

    cold = subprocess.run(
        [*PROGRAM, *words],
        input=stdin,
        capture_output=True,
        env=program.environment(),
        cwd=program.home.parent,
        check=False,
    )
    warm = program.run(*words, stdin=stdin)

    assert warm == Outcome(cold.returncode, cold.stdout.decode(), cold.stderr.decode())


def test_each_run_has_an_environment_of_its_own(program: Program, db: SessionDB) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "hello")
    there = program.run("sessions", "list", "--json")
    elsewhere = program.run(
        "sessions", "list", "--json", env={"HERMES_HOME": str(program.home / "other")}
    )
    again = program.run("sessions", "list", "--json")

    assert there == again
    assert (there.code, elsewhere.code) == (0, 1)
