"""The frozen program as the gateway of a home: one small process that other programs recognise.

Building takes minutes. HERMES_PYINSTALLER names a Python that has PyInstaller and this program:
HERMES_PYINSTALLER=/path/to/python pytest tests/benchmarks/test_frozen_builds.py --benchmark-only -s
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

_ENTRY = "import sys\nfrom hermes_desktop.__main__ import main\nsys.exit(main())\n"
_PATIENCE_S = 60.0


@pytest.fixture(scope="module", params=["onedir", "onefile"])
def frozen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built by PyInstaller in either form."""
    python = os.environ.get("HERMES_PYINSTALLER")
    if not python:
        pytest.skip("HERMES_PYINSTALLER names no Python that has PyInstaller")
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "entry.py").write_text(_ENTRY)
    words = f"--{request.param} --name hermes-desktop --log-level ERROR"
    collect = ("--collect-submodules", "hermes_desktop", "--collect-data", "hermes_desktop")
    build = [python, "-m", "PyInstaller", *words.split(), *collect, "entry.py"]
    subprocess.run(build, cwd=folder, check=True)
    built = folder / "dist" / "hermes-desktop"
    return built / "hermes-desktop" if built.is_dir() else built


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "HERMES_HOME": str(home)}


@pytest.fixture
def running(frozen: Path, environ: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    program = subprocess.Popen([frozen, "gateway", "run"], env=environ)
    yield program
    if program.poll() is None:
        program.send_signal(signal.SIGTERM)
    assert program.wait(_PATIENCE_S) == 0


@pytest.mark.timeout(900)
def test_a_frozen_program_is_the_gateway(
    benchmark: BenchmarkFixture,
    frozen: Path,
    environ: dict[str, str],
    running: subprocess.Popen[bytes],
) -> None:
    home = Path(environ["HERMES_HOME"])
    wait_for(home / "gateway.pid")
    record = json.loads((home / "gateway.pid").read_text())
    words = Path(f"/proc/{record['pid']}/cmdline").read_bytes().split(b"\0")
    assert words[1] == b"hermes-gateway"
    assert children(record["pid"]) == []

    python = os.environ.get("HERMES_AGENT_PYTHON")
    if python:
        shown = hermes(python, environ, "status")
        assert str(record["pid"]) in shown
        hermes(python, environ, "stop")
        assert running.wait(_PATIENCE_S) == 0
        assert not (home / "gateway.pid").exists()

    def stranger() -> int:
        call = [frozen, "hermes-gateway", f"HERMES_HOME={home}", "--parent", "1"]
        return subprocess.run(call, env=environ, stdin=subprocess.DEVNULL, check=False).returncode

    assert benchmark.pedantic(stranger, rounds=5) == 3


def hermes(python: str, environ: dict[str, str], word: str) -> str:
    call = [Path(python).with_name("hermes"), "gateway", word]
    return subprocess.run(call, env=environ, capture_output=True, text=True, check=False).stdout


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def wait_for(path: Path) -> None:
    until = time.monotonic() + _PATIENCE_S
    while not path.exists():
        assert time.monotonic() < until, f"{path} did not come"
        time.sleep(0.02)
