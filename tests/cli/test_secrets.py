"""``secrets`` against a real gnome-keyring on a bus of its own, in all its states."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.processes.exit_deadline import EXIT_SLACK_S
from hermes_desktop.gateway.runtime_files.identity_files import PID_FILE
from tests.fakes.model_server import ModelServer
from tests.fakes.private_bus import NEEDS_KEYRING, PrivateBus, private_bus
from tests.fakes.program import Program, files_of
from tests.fakes.terminal import END_OF_INPUT, at_terminal
from tests.support.waiting import wait_until

TOKEN = "TELEGRAM_BOT_TOKEN"
VALUE = "123456:abcdefghijklmnop"


@pytest.fixture
def bus() -> Iterator[PrivateBus]:
    with private_bus() as bus:
        yield bus


@pytest.fixture
def desk(program: Program, bus: PrivateBus) -> Program:
    """The program on a desktop whose keyring is unlocked."""
    bus.unlocked()
    program.environ.update(bus.environ())
    return program


def listed(program: Program) -> dict[str, dict[str, Any]]:
    done = program.run("secrets", "list", "--json")
    assert done.code == 0, done.err
    return {each["name"]: each for each in json.loads(done.out)}


def no_file_holds(home: Path, value: str) -> bool:
    return not any(value.encode() in content for content in files_of(home).values())


def secret_tool(bus: PrivateBus, command: str, home: Path) -> str:
    """What another program of the desktop shows of the token."""
    done = subprocess.run(
        ["secret-tool", command, "service", f"hermes-desktop:{home}", "username", TOKEN],
        capture_output=True,
        check=True,
        env={**os.environ, **bus.environ()},
    )
    return done.stdout.decode()


@NEEDS_KEYRING
def test_kept_listed_used_removed(desk: Program, home: Path, bus: PrivateBus) -> None:
    assert desk.run("secrets", "check").out == "The keyring works: SecretService Keyring.\n"
    done = desk.run("secrets", "set", "--no-check", TOKEN, stdin=f"{VALUE}\n".encode())
    assert (done.code, done.out) == (0, f"{TOKEN} is stored in the keyring.\n")
    assert listed(desk)[TOKEN]["counts"] == "keyring"
    shown = desk.run("secrets", "list", "--show-end").out
    assert "keyring (…mnop)" in shown
    assert VALUE not in shown
    assert no_file_holds(home, VALUE)
    assert secret_tool(bus, "lookup", home) == VALUE
    label = f"label = Hermes Desktop, Telegram: bot token ({home})"
    assert label in secret_tool(bus, "search", home)
    assert desk.run("secrets", "remove", TOKEN, "--yes").code == 0
    assert listed(desk) == {}
    assert desk.run("secrets", "remove", TOKEN, "--yes").code == 3


def keeps(program: Program, *options: str, value: str = VALUE) -> str:
    """What is said when a secret is kept."""
    words = ("secrets", "set", "--no-check", TOKEN, *options)
    done = program.run(*words, stdin=value.encode())
    assert done.code == 0, done.err
    return done.err


def test_the_end_of_a_piped_line_is_not_mentioned(program: Program) -> None:
    for end in ("\n", "\r\n", ""):
        assert "left out" not in keeps(program, "--plain", value=VALUE + end)
    assert "A line break around it was removed." in keeps(program, "--plain", value=f"\n{VALUE}\n")


@NEEDS_KEYRING
def test_what_hermes_finds_of_it_is_said_where_it_uses_the_home(desk: Program, home: Path) -> None:
    assert "hermes`" not in keeps(desk)
    (home / "cron").mkdir()  # as `hermes` does
    assert "cannot read the keyring" in keeps(desk)
    back = f"hermes-desktop secrets move --back {TOKEN}"
    assert back in keeps(desk)
    assert desk.run(*back.split()[1:], "--yes").code == 0
    assert f"reads {TOKEN} from .env" in keeps(desk)
    assert "has different values; keyring is used here, while `hermes` uses .env" in keeps(
        desk, value="123456:anotherValueAltogether"
    )


def test_what_hermes_finds_of_a_plain_file_is_said(program: Program, home: Path) -> None:
    assert "hermes`" not in keeps(program, "--plain")
    (home / "cron").mkdir()
    said = keeps(program, "--plain")
    assert "cannot read the file" in said
    assert program.run("secrets", "move", "--back", TOKEN, "--yes").code == 0
    assert VALUE in (home / ".env").read_text()


@NEEDS_KEYRING
def test_typed_on_a_terminal_it_is_not_shown(desk: Program) -> None:
    done = at_terminal(desk, "secrets", "set", "--no-check", TOKEN, typed=f"{VALUE}\n".encode())
    assert done.code == 0, done.out
    assert f"{TOKEN} is stored in the keyring." in done.out
    empty = at_terminal(desk, "secrets", "set", "--no-check", TOKEN, typed=END_OF_INPUT)
    assert empty.code == 5
    assert listed(desk)[TOKEN]["counts"] == "keyring"


@NEEDS_KEYRING
def test_moved_out_of_env_and_back(desk: Program, home: Path) -> None:
    before = f"# mine\nexport {TOKEN}='{VALUE}' # bot\nOTHER=1\n"
    (home / ".env").write_text(before)
    assert desk.run("secrets", "move", TOKEN, "--dry-run").code == 0
    assert (home / ".env").read_text() == before
    done = desk.run("secrets", "move", TOKEN, "--yes")
    assert done.out == f"{TOKEN} is in the keyring, and no longer in .env.\n"
    assert "`hermes` commands, including `hermes gateway run`, no longer find it" in done.err
    assert (home / ".env").read_text() == "# mine\nOTHER=1\n"
    assert no_file_holds(home, VALUE)
    assert desk.run("secrets", "move", TOKEN, "--back", "--yes").code == 0
    assert (home / ".env").read_text() == f"# mine\nOTHER=1\n{TOKEN}={VALUE}\n"
    assert listed(desk)[TOKEN]["places"] == [".env"]


@NEEDS_KEYRING
def test_moved_out_of_config_yaml_and_its_versions(desk: Program, home: Path) -> None:
    (home / "config.yaml").write_text(
        f"platforms:\n  telegram:\n    token: {VALUE} # mine\n    enabled: true\nagent: {{}}\n"
    )
    assert desk.run("config", "set", "agent.max_turns", "5").code == 0
    assert desk.run("secrets", "move", TOKEN, "--yes").code == 0
    assert "token" not in (home / "config.yaml").read_text()
    assert no_file_holds(home, VALUE)
    assert desk.run("config", "restore", "1", "--yes").code == 0
    assert 'token: ""' in (home / "config.yaml").read_text()


@NEEDS_KEYRING
def test_two_values_are_named_and_which_one_counts(desk: Program, home: Path) -> None:
    (home / ".env").write_text(f"{TOKEN}=222222:another_value_here\n")
    done = desk.run("secrets", "set", "--no-check", TOKEN, stdin=VALUE.encode())
    assert "keyring is used here, while `hermes` uses .env" in done.err
    seen = listed(desk)[TOKEN]
    assert (seen["counts"], seen["places"], seen["differ"]) == (
        "keyring",
        ["keyring", ".env"],
        True,
    )
    assert desk.run("secrets", "list", env={TOKEN: "333333:from_outside"}).out.startswith(
        f"{TOKEN}\tenvironment; also keyring, .env\t"
    )


@NEEDS_KEYRING
def test_a_locked_keyring_says_so_and_nothing_is_kept_elsewhere(
    desk: Program, home: Path, bus: PrivateBus
) -> None:
    assert desk.run("secrets", "set", "--no-check", TOKEN, stdin=VALUE.encode()).code == 0
    bus.locked()
    assert listed(desk)[TOKEN]["states"] == ["locked"]
    done = desk.run("secrets", "set", "DISCORD_BOT_TOKEN", stdin=b"another.secret.value")
    assert done.code == 1
    assert done.err.startswith("The keyring is locked.")
    assert no_file_holds(home, "another.secret.value")
    assert "DISCORD_BOT_TOKEN" not in listed(desk)
    assert desk.run("secrets", "check").code == 1


def test_without_a_keyring_a_plain_file_only_by_consent(program: Program, home: Path) -> None:
    done = program.run("secrets", "set", "--no-check", TOKEN, stdin=VALUE.encode())
    assert done.code == 1
    assert done.err.startswith("There is no keyring on this desktop.")
    assert no_file_holds(home, VALUE)
    assert (
        program.run("secrets", "set", "--no-check", TOKEN, "--plain", stdin=VALUE.encode()).code
        == 0
    )
    assert listed(program)[TOKEN]["counts"] == "plain file"
    (kept,) = [file for file in (home / "desktop").iterdir() if VALUE in file.read_text()]
    assert kept.stat().st_mode & 0o777 == 0o600
    removed = program.run("secrets", "remove", TOKEN, "--yes")
    assert (removed.code, removed.out) == (0, f"{TOKEN} is no longer in the plain file.\n")
    assert no_file_holds(home, VALUE)


@NEEDS_KEYRING
def test_a_keyring_that_hangs_holds_nobody_up(desk: Program, bus: PrivateBus) -> None:
    assert desk.run("secrets", "set", "--no-check", TOKEN, stdin=VALUE.encode()).code == 0
    bus.hanging()
    done = desk.run("secrets", "list")
    assert done.code == 0
    assert f"{TOKEN}\tkeyring (not answering)\t" in done.out


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@NEEDS_KEYRING
def test_the_model_is_asked_with_the_key_from_the_keyring(
    desk: Program, home: Path, server: ModelServer
) -> None:
    key = "sk-only-in-the-keyring"
    (home / "config.yaml").write_text(
        f"model:\n  default: m\n  base_url: {server.base_url}\n  api_key: ${{MY_KEY}}\n"
    )
    assert desk.run("chat", "-q", "Hello").code == 1
    assert desk.run("secrets", "set", "MY_KEY", stdin=key.encode()).code == 0
    done = desk.run("chat", "-q", "Hello")
    assert done.code == 0, done.err
    assert server.requests[-1].headers["Authorization"] == f"Bearer {key}"
    old_key = desk.run("chat", "-q", f"Do you know {key}?", env={"MY_KEY": "sk-from-outside"})
    assert old_key.code == 0
    assert server.requests[-1].headers["Authorization"] == "Bearer sk-from-outside"
    holding = {name for name, data in files_of(home).items() if key.encode() in data}
    assert {name.partition("-")[0] for name in holding} == {"state.db"}
    exported = desk.run("sessions", "export", "-", "--redact")
    assert exported.code == 0, exported.err
    assert "Do you know [secret]?" in exported.out


@NEEDS_KEYRING
def test_a_chat_does_not_wait_for_a_keyring_that_hangs(
    desk: Program, home: Path, bus: PrivateBus, server: ModelServer
) -> None:
    assert desk.run("secrets", "set", "--no-check", TOKEN, stdin=VALUE.encode()).code == 0
    (home / "config.yaml").write_text(f"model:\n  default: m\n  base_url: {server.base_url}\n")
    bus.hanging()
    assert desk.run("chat", "-q", "Hello").code == 0


@NEEDS_KEYRING
@pytest.mark.parametrize("serves", [True, False])
def test_the_gateway_leaves_in_time_while_a_keyring_hangs(
    desk: Program, home: Path, bus: PrivateBus, *, serves: bool
) -> None:
    assert desk.run("secrets", "set", "--no-check", TOKEN, stdin=VALUE.encode()).code == 0
    bus.hanging()
    log = home / "logs" / "desktop.log"
    log.unlink(missing_ok=True)
    with desk.start("gateway", "run", "--insist", "--drain", "1") as process:
        if serves:
            wait_until((home / PID_FILE).exists)
        else:
            wait_until(log.exists)
        process.terminate()
        assert process.wait(1.0 + EXIT_SLACK_S) in {0, -signal.SIGTERM}
    assert not (home / PID_FILE).exists()


@pytest.mark.parametrize(
    ("arguments", "stdin", "title"),
    [
        (("set", "A B"), b"x", "“A B” is not a valid name for a secret."),
        (("set", TOKEN), b"", "This is not a valid secret."),
        (("set", TOKEN), b"two\nlines", "This is not a valid secret."),
        (("set", TOKEN, VALUE), b"", "Secrets cannot be given on the command line."),
        (("set", f"{TOKEN}={VALUE}"), b"", "Secrets cannot be given on the command line."),
        (("set", TOKEN), b"two words", "This is not a valid secret."),
        (("set", TOKEN), b"x" * 5000, "This is not a valid secret."),
        (("set", TOKEN), b"xoxb-1234567890-abcdefghij", "This is not a valid secret."),
        (("set", TOKEN), b"1234:\xff\xfe", "This is not a valid secret."),
        (("set", "MY_KEY"), b"x" * 2_000_000, "This is not a valid secret."),
        (("set", "MY_KEY"), b"1234\xff", "This is not a valid secret."),
        (("move", TOKEN, "--yes"), b"", f"{TOKEN} is neither in .env nor in config.yaml."),
        (("move", TOKEN, "--dry-run"), b"", f"{TOKEN} is neither in .env nor in config.yaml."),
        (("move", TOKEN), b"", f"{TOKEN} is neither in .env nor in config.yaml."),
        (("remove", TOKEN, "--yes"), b"", f"{TOKEN} is not stored by Hermes Desktop."),
    ],
)
def test_what_makes_no_sense_changes_nothing(
    program: Program, home: Path, arguments: tuple[str, ...], stdin: bytes, title: str
) -> None:
    done = program.run("secrets", *arguments, stdin=stdin)
    assert done.err.startswith(title)
    assert VALUE not in done.err + done.out
    assert done.code in {2, 3}
    assert files_of(home) == {}


def test_a_managed_home_keeps_its_files(program: Program, home: Path) -> None:
    (home / ".managed").touch()
    (home / ".env").write_text(f"{TOKEN}={VALUE}\n")
    before = files_of(home)
    done = program.run("secrets", "move", TOKEN, "--yes")
    assert done.code == 5
    assert "managed" in done.err
    assert files_of(home) == before
