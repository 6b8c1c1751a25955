"""The program as a whole: help, version, options, profiles, bugs."""

import json
import os
from pathlib import Path

import pytest

from hermes_desktop import __version__
from hermes_desktop.state import SessionDB
from tests.fakes.program import Program, names


def make_session(home: Path, session_id: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    database = SessionDB(home / "state.db")
    database.create_session(session_id, "cli")
    database.append_message(session_id, "user", "Hello")
    database.close()


def listed(program: Program, *arguments: str, **env: str) -> list[str]:
    done = program.run(*arguments, env=env)
    assert done.code == 0, done.err
    return names(done.out.splitlines())


# ---------------------------------------------------------------------------- help and options


def test_version(program: Program) -> None:
    assert program.run("--version").out == f"Hermes Desktop, version {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["sessions"],
        ["sessions", "list"],
        ["sessions", "show"],
        ["chat"],
        ["gateway"],
        ["gateway", "pairing"],
        ["gateway", "run"],
        ["gateway", "status"],
        ["gateway", "stop"],
    ],
)
def test_help_names_every_command(program: Program, arguments: list[str]) -> None:
    for option in ("--help", "-h"):
        done = program.run(*arguments, option)
        assert done.code == 0
        assert done.out.startswith(" ".join(["Usage: hermes-desktop", *arguments]))


@pytest.mark.parametrize(
    "group",
    [
        "",
        "config",
        "gateway",
        "gateway pairing",
        "models",
        "plugins",
        "secrets",
        "sessions",
        "sessions snapshot",
        "sessions trash",
    ],
)
def test_what_a_group_says_of_its_commands_is_not_cut(program: Program, group: str) -> None:
    commands = program.run(*group.split(), "--help").out.partition("Commands:\n")[2]

    assert commands
    assert "..." not in commands


def test_numbers_without_a_limit_name_none(program: Program) -> None:
    assert "[0<=" not in program.run("sessions", "prune", "--help").out
    assert program.run("sessions", "prune", "--min-messages", "-1").code == 2
    assert program.run("sessions", "prune", "--min-cost", "-1").code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["sessions", "nonsense"],
        ["--nonsense"],
        ["--hidden", "sessions", "list"],
        ["--demo", "sessions", "list"],
        ["--color-scheme", "dark", "sessions", "list"],
        ["--color-scheme", "pink"],
        ["--screenshot", "picture.png"],
        ["--demo", "--profile", "work"],
    ],
)
def test_wrong_options(program: Program, arguments: list[str]) -> None:
    done = program.run(*arguments)

    assert done.code == 2
    assert done.out == ""
    assert "Usage: hermes-desktop" in done.err


def test_a_picture_never_replaces_a_file_of_the_home(program: Program, home: Path) -> None:
    (home / "config.yaml").write_text("model: {}\n")

    done = program.run("--demo", "--screenshot", str(home / "config.yaml"))

    assert done.code == 5
    assert "This file belongs to Hermes" in done.err
    assert (home / "config.yaml").read_text() == "model: {}\n"


# ------------------------------------------------------------------------------------ profiles


def test_profile_options_before_and_behind(program: Program, home: Path) -> None:
    make_session(home, "of-the-root")
    make_session(home / "profiles" / "work", "of-work")

    assert listed(program, "sessions", "list") == ["of-the-root"]
    for arguments in (
        ["--profile", "work", "sessions", "list"],
        ["sessions", "list", "--profile", "work"],
        ["sessions", "list", "--profile=work"],
        ["-p", "work", "sessions", "list"],
        ["--profile", "default", "sessions", "list", "-p", "work"],
    ):
        assert listed(program, *arguments) == ["of-work"]


def test_the_active_profile_counts_unless_one_is_named(program: Program, home: Path) -> None:
    make_session(home, "of-the-root")
    make_session(home / "profiles" / "work", "of-work")
    (home / "active_profile").write_text("work\n")

    assert listed(program, "sessions", "list") == ["of-work"]
    assert listed(program, "sessions", "list", "--profile", "default") == ["of-the-root"]


def test_the_usual_home_is_taken_without_hermes_home(program: Program, home: Path) -> None:
    make_session(home.parent / ".hermes", "of-the-usual-home")

    assert listed(program, "sessions", "list", HERMES_HOME="") == ["of-the-usual-home"]


def test_a_profile_that_is_not_there(program: Program, home: Path) -> None:
    done = program.run("sessions", "list", "--profile", "gone")

    assert done.code == 3
    assert "gone" in done.err
    assert f"mkdir -p {home / 'profiles' / 'gone'}" in done.err  # works without hermes-agent, too
    assert list(home.iterdir()) == []


def test_a_profile_that_cannot_be(program: Program) -> None:
    assert program.run("sessions", "list", "--profile", "../etc").code == 2


# ---------------------------------------------------------------------------------------- bugs


@pytest.fixture
def with_a_bug(home: Path, program: Program) -> dict[str, str]:
    """A broken standard library is the nearest thing to a bug of our own."""
    broken = home.parent / "broken"
    broken.mkdir()
    (broken / "asyncio.py").write_text("raise RuntimeError('as if by mistake')\n")
    return {"PYTHONPATH": os.pathsep.join([str(broken), program.environment()["PYTHONPATH"]])}


def test_a_bug_gives_a_sentence_and_a_log(
    program: Program, home: Path, with_a_bug: dict[str, str]
) -> None:
    done = program.run("chat", "-q", "Hello", env=with_a_bug)

    assert done.code == 1
    assert "Traceback" not in done.err
    log = home / "logs" / "desktop.log"
    assert str(log) in done.err
    assert "as if by mistake" in log.read_text()


def test_a_bug_makes_no_home(program: Program, home: Path, with_a_bug: dict[str, str]) -> None:
    home.rmdir()

    done = program.run("chat", "-q", "Hello", env=with_a_bug)

    assert done.code == 1
    assert "as if by mistake" in done.err
    assert not home.exists()


def test_json_goes_through_a_pipe_whole(program: Program, db: SessionDB) -> None:
    db.create_session("s1", "cli")
    db.append_message("s1", "user", "x" * 300_000)

    (only,) = json.loads(program.run("sessions", "show", "s1", "--json").out)

    assert len(only["content"]) == 300_000
