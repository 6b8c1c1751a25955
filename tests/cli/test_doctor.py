"""``hermes-desktop doctor``: it finds what is wrong anywhere, shows no secrets, changes nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.home_tree import tree_of
from tests.fakes.private_bus import NEEDS_KEYRING, private_bus
from tests.fakes.program import Converse, Program

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]

CHECKS = (
    "Program",
    "Desktop",
    "Tray",
    "Notifications",
    "Keyring",
    "Sandbox",
    "Home",
    "Settings",
    "Store",
    "Integrity",
    "Open in",
    "Gateway",
    "Platforms",
    "Log",
    "Crashes",
    "Disk",
)
SECRETS = {
    "environment": "planted-environment-1",
    "config": "planted-config-2",
    "env file": "planted-file-3",
    "log": "planted-log-4",
    "title": "Surprise for Paula",
    "message": "where the presents are hidden",
}
KEYRING_SAYS = "planted-keyring-5"


def found(program: Program, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    done = program.run(*arguments, "doctor", "--json")
    assert done.err == ""
    findings = {each["name"]: each for each in json.loads(done.out)}
    assert all(set(each) == {"name", "state", "found", "advice"} for each in findings.values())
    for each in findings.values():
        assert each["state"] in {"ok", "warning", "error", "unknown"}
        assert each["state"] == "ok" or each["advice"], each
    return done.code, findings


@pytest.fixture
def planted(program: Program, home: Path, converse: Converse) -> Program:
    """A home with a secret, a title or a message wherever a program may keep one."""
    home.chmod(0o700)
    converse("s1", SECRETS["message"], "In the attic", title=SECRETS["title"])
    (home / "config.yaml").write_text(f"model:\n  api_key: {SECRETS['config']}\n")
    (home / ".env").write_text(f"TELEGRAM_BOT_TOKEN={SECRETS['env file']}\n")
    log = home / "logs" / "desktop.log"
    log.parent.mkdir()
    now = time.strftime("%Y-%m-%d %H:%M:%S,000", time.gmtime())
    log.write_text(
        f"{now} INFO    hermes_desktop.app: {SECRETS['title']}\n"
        f"{now} ERROR   hermes_desktop.services.x: {SECRETS['log']}: “{SECRETS['title']}”\n"
        "Traceback (most recent call last):\n"
        '  File "/x/hermes_desktop/services/x.py", line 12, in save\n'
        f"    raise ValueError({SECRETS['message']!r})\n"
        f"ValueError: {SECRETS['message']}\n"
    )
    program.environ["WORK_API_KEY"] = SECRETS["environment"]
    return program


def test_it_shows_what_works_without_secrets_and_changes_nothing(
    planted: Program, home: Path
) -> None:
    before = tree_of(home)

    shown = planted.run("doctor")
    code, findings = found(planted)

    assert tree_of(home) == before
    assert shown.err == ""
    assert code == shown.code == 0, shown.out
    assert tuple(findings) == CHECKS
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "\x1b" not in shown.out
    everything = shown.out + json.dumps(findings, ensure_ascii=False)
    assert not [name for name, words in SECRETS.items() if words in everything]
    assert "1 session, 2 messages" in findings["Store"]["found"]
    assert findings["Integrity"]["state"] == "ok"
    assert "telegram" in findings["Platforms"]["found"]
    assert findings["Log"]["state"] == "warning"
    assert "ValueError at hermes_desktop/services/x.py:12" in findings["Log"]["found"]


def test_the_plain_text_says_the_same(planted: Program) -> None:
    out = planted.run("doctor").out

    heads = [line[:24] for line in out.splitlines() if line and not line.startswith(" ")]
    assert [head[9:].strip() for head in heads if head[9:].strip() in CHECKS] == list(CHECKS)
    assert {head[:9].strip() for head in heads[:-1]} <= {"ok", "warning", "error", "unknown"}


def test_a_home_that_is_missing_is_not_created(program: Program, home: Path) -> None:
    home.rmdir()

    code, findings = found(program)

    assert code == 0
    assert not home.exists()
    assert "does not exist yet" in findings["Home"]["found"]


def test_a_home_that_is_a_file(program: Program, home: Path) -> None:
    home.rmdir()
    home.write_text("not a folder")

    code, findings = found(program)

    assert code == 1
    assert findings["Home"]["state"] == "error"
    assert home.read_text() == "not a folder"


def test_a_profile_that_does_not_exist(program: Program, home: Path) -> None:
    code, findings = found(program, "--profile", "nowhere")

    assert code == 1
    assert "no profile “nowhere”" in findings["Home"]["found"]
    assert "Store" not in findings
    assert findings["Program"]["state"] != "error"


def test_files_that_cannot_be_understood(program: Program, home: Path) -> None:
    (home / "config.yaml").write_text(f"model: [\nkey: *{SECRETS['config']}\n")
    (home / "state.db").write_bytes(b"this is no database, and somebody may want it" * 99)
    (home / "gateway_state.json").write_text("[[[")
    (home / "logs").mkdir()
    (home / "logs" / "desktop.log").mkdir()
    (home / "desktop").write_text("a file, not a folder")
    before = tree_of(home)

    code, findings = found(program)

    assert code == 1
    assert tree_of(home) == before
    errors = {name for name, each in findings.items() if each["state"] == "error"}
    assert errors == {"Settings", "Store", "Integrity"}
    assert findings["Log"]["state"] == "warning"
    assert SECRETS["config"] not in json.dumps(findings)


def test_pipes_in_place_of_files_hang_nothing(program: Program, home: Path) -> None:
    for name in ("config.yaml", ".env", "state.db", "gateway.pid"):
        os.mkfifo(home / name)
    (home / "logs").mkdir()
    os.mkfifo(home / "logs" / "desktop.log")

    code, findings = found(program)

    assert code == 1
    assert findings["Store"]["state"] == "error"
    assert findings["Program"]["state"] != "unknown"


def test_a_damaged_store(program: Program, home: Path, converse: Converse, db: Any) -> None:
    converse("s1", *("word " * 400 for _ in range(60)))
    db.close()
    store = home / "state.db"
    data = bytearray(store.read_bytes())
    middle = len(data) // 8192 * 4096
    data[middle : middle + 4096] = b"\xff" * 4096
    store.write_bytes(data)
    before = tree_of(home)

    code, findings = found(program)

    assert code == 1
    assert findings["Integrity"]["state"] == "error"
    assert tree_of(home) == before


def test_after_a_program_was_killed_in_the_middle(program: Program, home: Path) -> None:
    """What it wrote last is only in the log, which is neither emptied nor given a new index."""
    script = (
        "import os, sys, pathlib\n"
        "from hermes_desktop.state import SessionDB\n"
        "db = SessionDB(pathlib.Path(sys.argv[1]))\n"
        "db.create_session('s1', 'cli')\n"
        "db.append_message('s1', 'user', 'Hello')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    words = [sys.executable, "-c", script, str(home / "state.db")]
    killed = subprocess.run(words, env=program.environment(), timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (home / "state.db-wal").stat().st_size
    (home / "gateway.pid").write_text('{"pid": 999999999, "argv": ["hermes-gateway"]}')
    (home / "desktop" / "turns").mkdir(parents=True)
    (home / "desktop" / "turns" / "s1.turn").write_text('{"pid": 999999999, "program": "x"}')
    before = tree_of(home)

    _, findings = found(program)

    assert tree_of(home) == before
    assert "1 session, 1 message" in findings["Store"]["found"]
    assert findings["Integrity"]["state"] == "ok"
    assert "1 lock of killed programs" in findings["Open in"]["found"]
    assert "killed or crashed. It left gateway.pid" in findings["Gateway"]["found"]


def test_a_program_that_has_the_store_open_is_named(program: Program, converse: Converse) -> None:
    converse("s1", "Hello")

    _, findings = found(program)

    assert f"(process {os.getpid()})" in findings["Open in"]["found"]
    assert findings["Store"]["state"] == "ok"


@pytest.mark.parametrize("name", ["HOME", "HERMES_HOME"])
def test_without_variables(program: Program, home: Path, name: str) -> None:
    environ = program.environment()
    environ.pop("HERMES_HOME")
    environ["HOME"] = str(home.parent)
    if name == "HOME":
        environ.pop("HOME")
    words = program.start_arguments("doctor", "--profile", "nowhere-at-all", "--json")
    done = subprocess.run(
        words, env=environ, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 1, done.stderr
    assert {each["name"] for each in json.loads(done.stdout)} >= {"Program", "Home", "Disk"}


@NEEDS_KEYRING
def test_a_keyring_that_is_unlocked_locked_or_hangs(program: Program, home: Path) -> None:
    with private_bus() as bus:
        program.environ.update(bus.environ())
        bus.unlocked()
        kept = program.run(
            "secrets", "set", "--no-check", "OPENAI_API_KEY", stdin=f"{KEYRING_SAYS}\n".encode()
        )
        assert kept.code == 0, kept
        before = tree_of(home)

        _, open_one = found(program)
        bus.locked()
        _, locked = found(program)
        bus.hanging()
        code, hanging = found(program)
        bus.answering()

    assert tree_of(home) == before
    assert "It is unlocked" in open_one["Keyring"]["found"]
    assert "Hermes Desktop: 1." in open_one["Keyring"]["found"]
    assert (locked["Keyring"]["state"], locked["Keyring"]["advice"]) == ("warning", "Unlock it.")
    assert code == 0
    assert hanging["Keyring"]["state"] == "unknown"
    assert all(KEYRING_SAYS not in json.dumps(each) for each in (open_one, locked, hanging))
    for each in (open_one, locked, hanging):
        assert each["Tray"]["state"] == each["Notifications"]["state"] == "warning"
