"""Which command lines are taken for a gateway, and what /proc says about processes."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.gateway.runtime_files import process_facts


@pytest.mark.parametrize(
    "line",
    [
        "/usr/bin/python3 /opt/x/bin/hermes gateway run",
        "hermes gateway run --replace",
        "hermes -p work gateway run",
        "hermes gateway",
        "hermes gateway restart",
        "python -m hermes_cli.main gateway run",
        "python C:\\x\\hermes_cli\\main.py gateway run",
        "python /src/gateway/run.py",
        '"C:\\Program Files\\hermes-gateway.exe" x',
        "tail -f /var/log/hermes-gateway",
    ],
)
def test_command_lines_of_gateways(line: str) -> None:
    assert process_facts.looks_like_gateway(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "hermes chat",
        "hermes gateway status",
        "hermes gateway stop",
        "gateway run",
        "hermes-desktop --page settings",
        "/opt/app/hermes-desktop-gui",
        "python -m hermes_desktop",
    ],
)
def test_other_command_lines(line: str) -> None:
    assert not process_facts.looks_like_gateway(line)


@given(st.text())
def test_any_text_is_judged(line: str) -> None:
    assert process_facts.looks_like_gateway(f"{line} hermes-gateway x")
    process_facts.looks_like_gateway(line)


def test_this_process_lives_and_began_once() -> None:
    began = process_facts.start_time(os.getpid())

    assert began is not None
    assert process_facts.is_alive(os.getpid())
    assert began == process_facts.start_time(os.getpid())
    assert 0 <= (process_facts.age(os.getpid()) or 0) < 100_000
    assert not process_facts.is_frozen(os.getpid())
    assert not process_facts.is_gateway(os.getpid(), began + 1)


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 2**70])
def test_a_process_that_is_not_there(pid: int) -> None:
    assert not process_facts.is_alive(pid)
    assert process_facts.start_time(pid) is None
    assert process_facts.command_line(pid) is None
    assert process_facts.age(pid) is None


def test_a_zombie_is_dead() -> None:
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert not process_facts.is_alive(process.pid)

    process.communicate()
