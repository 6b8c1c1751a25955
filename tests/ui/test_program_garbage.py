"""Where programs collect garbage: with a window on the main thread only, else as Python does."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]
CHECKOUT = Path(__file__).parents[2]
PROGRAM = """
import atexit, gc, json, os, signal, sys, threading, time
from pathlib import Path

state = Path(os.environ["HERMES_HOME"], "gateway_state.json")
report = {"threads": [], "by_itself": None, "at_the_end": None}
running = False

def note(phase, info):
    if phase == "start" and running:
        report["threads"].append(threading.current_thread().name)

def allocate():
    global running
    while not state.exists() or json.loads(state.read_text())["gateway_state"] != "running":
        time.sleep(0.05)
    running = True
    report["by_itself"] = gc.isenabled()
    kept = [[[]] for _ in range(300_000)]
    deadline = time.monotonic() + 60
    while not report["threads"] and time.monotonic() < deadline:
        time.sleep(0.05)
    running = False
    os.kill(os.getpid(), signal.SIGTERM)

def tell():
    report["at_the_end"] = gc.isenabled()
    Path(os.environ["REPORT"]).write_text(json.dumps(report))

gc.callbacks.append(note)
atexit.register(tell)
threading.Thread(target=allocate, name="allocating", daemon=True).start()
sys.argv = ["hermes-desktop", *sys.argv[1:]]
from hermes_desktop.__main__ import main
raise SystemExit(main())
"""


def report_of(folder: Path, runtime: Path, *arguments: str) -> dict[str, Any]:
    home = folder / "home"
    home.mkdir(mode=0o700)
    home.joinpath("config.yaml").write_text(
        "model: {default: fake-model, base_url: 'http://127.0.0.1:9/v1'}\n", encoding="utf-8"
    )
    own = {
        "HOME": str(folder),
        "HERMES_HOME": str(home),
        "HERMES_GATEWAY_LOCK_DIR": str(folder / "locks"),
        "PYTHONPATH": str(CHECKOUT),
        "QT_QPA_PLATFORM": "offscreen",
        "REPORT": str(folder / "report.json"),
        "XDG_RUNTIME_DIR": str(runtime),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env={"PATH": os.environ["PATH"], **own},
        capture_output=True,
        cwd=folder,
        timeout=60,
        check=False,
    )
    assert done.returncode in {0, -signal.SIGTERM}, done.stderr.decode()
    report: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return report


@pytest.mark.parametrize("arguments", [(), ("--hidden",)], ids=["shown", "hidden"])
def test_the_window(tmp_path: Path, short_folder: Path, arguments: tuple[str, ...]) -> None:
    report = report_of(tmp_path, short_folder, *arguments)
    assert report["by_itself"] is False
    assert set(report["threads"]) == {"MainThread"}
    assert report["at_the_end"] is True


def test_a_gateway_without_a_window(tmp_path: Path, short_folder: Path) -> None:
    report = report_of(tmp_path, short_folder, "gateway", "run")
    assert report["by_itself"] is True
    assert "allocating" in report["threads"]
