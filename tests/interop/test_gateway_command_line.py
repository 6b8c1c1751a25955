"""``hermes-desktop gateway …`` and ``hermes gateway …`` on one home: each sees, stops, lets be."""

import json
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.island import Island
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]
ROOT = Path(__file__).parents[2]
OURS = (sys.executable, "-m", "hermes_desktop")


class Headless:
    """``hermes-desktop gateway run`` in the namespace, and what it said."""

    def __init__(self, island: Island) -> None:
        self.process = island.start(*OURS, "gateway", "run", PYTHONPATH=str(ROOT))
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        wait_until(lambda: "Press Ctrl-C to stop." in self.said or self.process.poll() is not None)
        assert self.process.poll() is None, self.said
        self.pid = int((island.file("gateway.pid") or {})["pid"])

    @property
    def said(self) -> str:
        return "".join(self.lines)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)

    def ended(self) -> int:
        code = self.process.wait(60)
        self._reader.join(60)
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            assert self.process.stdin is not None
            self.process.terminate()  # nsenter's; the namespace takes the rest with it
            self.process.wait(60)
        self._reader.join(60)
        self.process.stdout.close()  # type: ignore[union-attr]
        self.process.stdin.close()  # type: ignore[union-attr]


@pytest.fixture
def headless(island: Island) -> Iterator[Headless]:
    made = Headless(island)
    yield made
    made.close()


def ours(island: Island, *words: str) -> tuple[int, str]:
    process = island.start(*OURS, "gateway", *words, PYTHONPATH=str(ROOT))
    out, _ = process.communicate(timeout=60)
    return process.returncode, out


def status(island: Island) -> dict[str, Any]:
    (found,) = json.loads(ours(island, "status", "--json")[1])
    return dict(found)


def test_hermes_names_and_stops_the_identity_process_alone(
    island: Island, headless: Headless
) -> None:
    program = status(island)["program_pid"]
    assert program != headless.pid

    said = island.hermes("gateway", "status")[1]
    assert f"Gateway is running (PID: {headless.pid})" in said
    assert re.search(rf"PID\(s\):\s+{headless.pid}\s*$", island.hermes("status")[1], re.MULTILINE)
    code, said = island.hermes("gateway", "stop")

    assert (code, "Stopped gateway for this profile" in said) == (0, True)
    assert headless.ended() == 0
    assert "The gateway was stopped by the command line." in headless.said
    assert island.file("gateway_state.json")["exit_reason"] is None
    assert "not running" in island.hermes("gateway", "status")[1]


def test_stop_all_ends_it_too(island: Island, headless: Headless) -> None:
    island.hermes("gateway", "stop", "--all")

    assert headless.ended() == 0
    assert "The gateway was stopped by another program." in headless.said


def test_run_of_hermes_is_refused_and_replace_takes_over(
    island: Island, headless: Headless
) -> None:
    code, said = island.hermes("gateway", "run")
    assert (code, f"already running (PID {headless.pid})" in said) == (1, True)

    with island.real_gateway("run", "--replace"):
        assert headless.ended() == 0
        assert "Another gateway took over this home." in headless.said
        real = wait_until(lambda: island.real_pid(but=headless.pid))
        found = status(island)
        assert (found["kind"], found["pid"], found["state"]) == ("hermes", real, "running")


def test_the_gateway_of_hermes_is_seen_let_be_and_stopped_on_request(island: Island) -> None:
    with island.real_gateway():
        real = wait_until(island.real_pid)

        code, refused = ours(island, "run")
        assert code == 1
        assert f"It is hermes gateway, process {real}, running for" in refused
        code, said = ours(island, "status")
        assert (code, said.splitlines()[0]) == (0, "Gateway: hermes gateway")
        code, said = ours(island, "stop", "--dry-run")
        assert (code, f"is hermes gateway, process {real}" in said) == (0, True)
        assert island.real_pid() == real

        code, said = ours(island, "stop", "--yes")

        assert (code, "hermes gateway has stopped." in said) == (0, True)
        wait_until(lambda: not island.pids_of("gateway"))
    assert ours(island, "status")[0] == 1
    assert island.file("gateway_state.json")["gateway_state"] == "stopped"


def test_the_program_itself_is_no_gateway_to_hermes(island: Island) -> None:
    """Only its identity process is; whoever kills that lets the program end in order."""
    lines = [
        "/opt/venv/bin/python /opt/venv/bin/hermes-desktop gateway run",
        "/opt/venv/bin/python -m hermes_desktop gateway run --insist --drain 5",
        "/opt/hermes-desktop/hermes-desktop --profile work gateway run",
        "/opt/venv/bin/python /opt/venv/bin/hermes-desktop gateway stop --yes",
        "/opt/venv/bin/python /opt/venv/bin/hermes-desktop -p work gateway status",
    ]

    judged = island.script("judge_processes.py", json.dumps({"lines": lines}))

    assert judged["lines"] == dict.fromkeys(lines, False)
