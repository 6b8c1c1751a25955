"""What an idle window has loaded: nothing that only somebody who does something needs.

Each name here costs memory for the whole life of the program and time at its start. Who needs one
loads it where the need arises.
"""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
LOOKER = """
import json, linecache, os, signal, sys, threading, time
from pathlib import Path

state = Path(os.environ["HERMES_HOME"], "gateway_state.json")

def look():
    while not state.exists() or json.loads(state.read_text())["gateway_state"] != "running":
        time.sleep(0.05)
    known = 0
    while known != len(sys.modules):
        known = len(sys.modules)
        time.sleep(1.0)
    kept = {name: len("".join(entry[2])) for name, entry in linecache.cache.items() if entry[2:]}
    report = {"modules": sorted(sys.modules), "sources": kept}
    Path(os.environ["REPORT"]).write_text(json.dumps(report))
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=look, daemon=True).start()
sys.argv = ["hermes-desktop"]
from hermes_desktop.__main__ import main
raise SystemExit(main())
"""
OF_OTHERS = {
    "aiohttp", "anyio", "certifi", "cryptography", "email", "h11", "http", "httpcore", "httpx",
    "idna", "importlib.metadata", "jeepney", "keyring", "multiprocessing", "psutil", "pygments",
    "rich", "telegram", "unittest", "urllib.request", "xml",
}  # fmt: skip
OF_OURS = {
    "agent.providers.http_call",
    "cli.sessions.session_commands",
    "gateway.platforms.telegram.adapter",
    "gateway.platforms.telegram.api",
    "services.assembly.demo_home",
    "services.diagnosis.crash_reports",
    "services.diagnosis.doctor",
    "tui_gateway",
    "ui.chat.header.usage_dialog",
    "ui.start.demo_picture",
    "ui.start.self_test",
    "ui.settings.settings_view",
}
MAY_BE_KEPT = 400_000
"""Characters of source: what the last few modules left that were loaded late, no more."""


@dataclass(frozen=True)
class Idle:
    """What was found in a window that stood, its gateway running."""

    modules: frozenset[str]
    sources: dict[str, int]

    def among(self, names: set[str]) -> list[str]:
        return sorted(
            each
            for each in self.modules
            if any(each == name or each.startswith(f"{name}.") for name in names)
        )


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Idle:
    folder = tmp_path_factory.mktemp("idle")
    home = folder / "home"
    home.mkdir(mode=0o700)
    home.joinpath("config.yaml").write_text(
        "model: {default: fake-model, base_url: 'http://127.0.0.1:9/v1'}\n", encoding="utf-8"
    )
    runtime = folder / "run"
    runtime.mkdir(mode=0o700)
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
        [sys.executable, "-c", LOOKER],
        env={"PATH": os.environ["PATH"], **own},
        stderr=subprocess.PIPE,
        cwd=folder,
        timeout=60,
        check=False,
    )
    assert done.returncode in {0, -signal.SIGTERM}, done.stderr.decode()
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return Idle(frozenset(report["modules"]), report["sources"])


def test_the_window_and_the_gateway_are_there(idle: Idle) -> None:
    assert {"hermes_desktop.ui.shell.main_window", "hermes_desktop.gateway.run"} <= idle.modules


def test_nothing_of_others_is_loaded_that_waits_for_a_need(idle: Idle) -> None:
    assert not idle.among(OF_OTHERS)


def test_nothing_of_ours_is_loaded_that_waits_for_a_need(idle: Idle) -> None:
    ours = {f"hermes_desktop.{name}" for name in OF_OURS}
    assert not idle.among(ours)
    settings = idle.among({"hermes_desktop.ui.settings"})
    assert settings == ["hermes_desktop.ui.settings", "hermes_desktop.ui.settings.settings_entry"]


def test_the_names_of_ours_exist() -> None:
    paths = [CHECKOUT.joinpath("hermes_desktop", *name.split(".")) for name in OF_OURS]
    assert not [path for path in paths if not (path.is_dir() or path.with_suffix(".py").is_file())]


def test_no_source_text_is_kept(idle: Idle) -> None:
    assert sum(idle.sources.values()) < MAY_BE_KEPT, idle.sources
