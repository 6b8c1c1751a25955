"""Several programs write config.yaml at once, some are killed: nothing of anybody's is lost.

An editor writes in its place: it empties the file first, and takes its time. Our command line
writes twice at once. Meanwhile a gateway of the home runs.
"""

import random
import subprocess
import threading
from pathlib import Path

import pytest
import yaml

from hermes_desktop.gateway.runtime_files.identity_files import PID_FILE
from tests.fakes.program import Program
from tests.support.waiting import wait_until

ROUNDS = 8
MINE = [f"# remark {number} of mine, which nobody is to lose" for number in range(60)]
FIRST = "\n".join(("agent:", "  max_turns: 5  # not more", *MINE, ""))
CHANGES = (
    ("config", "set", "agent.max_turns", "7"),
    ("config", "set", "session_store_max_age_days", "30", "desktop.start_hidden", "true"),
    ("config", "set", "telegram.allow_from", "42,007"),
    ("config", "unset", "session_store_max_age_days"),
    ("config", "set", "session_reset.mode", "idle"),
)

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]


class Editor(threading.Thread):
    """Adds a line in the place where the file stands."""

    def __init__(self, file: Path, line: str, chance: random.Random) -> None:
        super().__init__()
        self._file, self._line = file, line
        self._before, self._empty = chance.uniform(0.0, 0.5), chance.uniform(0.3, 0.9)

    def run(self) -> None:
        pause = threading.Event().wait
        pause(self._before)
        text = self._file.read_text() + self._line
        with self._file.open("w") as stream:
            pause(self._empty)
            stream.write(text)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    home = tmp_path / "person" / "home"
    home.mkdir(parents=True)
    environ = {"HERMES_GATEWAY_LOCK_DIR": str(tmp_path / "locks")}
    return Program(home, environ)


@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_lost(program: Program, seed: int) -> None:
    chance, file = random.Random(seed), program.home / "config.yaml"
    file.write_text(FIRST)
    with program.start("gateway", "run", "--insist", "--drain", "1") as gateway:
        try:
            wait_until((program.home / PID_FILE).exists)
            for number in range(ROUNDS):
                one_round(program, file, number, chance)
                assert gateway.poll() is None
        finally:
            gateway.terminate()
        out, errors = gateway.communicate(timeout=60)
    assert b"Traceback" not in out + errors
    versions = program.home / "desktop" / "config-versions"
    assert {each.stat().st_mode & 0o777 for each in versions.iterdir()} == {0o600}


def one_round(program: Program, file: Path, number: int, chance: random.Random) -> None:
    editor = Editor(file, f"line_{number}: {number}\n", chance)
    editor.start()
    wanted = chance.sample(CHANGES, 2)
    running = [program.start(*words) for words in wanted]
    if chance.random() < 0.4:
        kill_soon(running[0], chance)
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode in {0, -9}, errors.decode()
    editor.join()
    text = file.read_text()
    data = yaml.safe_load(text)
    assert [data.get(f"line_{each}") for each in range(number + 1)] == list(range(number + 1))
    assert [line for line in text.splitlines() if line.startswith("# remark")] == MINE


def kill_soon(process: "subprocess.Popen[bytes]", chance: random.Random) -> None:
    try:
        process.wait(chance.uniform(0.2, 1.0))
    except subprocess.TimeoutExpired:
        process.kill()
