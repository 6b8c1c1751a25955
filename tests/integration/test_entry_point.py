"""One executable, two programs: the first word decides before anything is loaded."""

import json
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from hermes_desktop import __version__

pytestmark = pytest.mark.two_processes
CHECKOUT = Path(__file__).parents[2]
SCRIPTS = ("hermes-desktop", "hermes-desktop-gui")
# What an installed script does, with the list of what was loaded at the end.
AS_SCRIPT = """
import sys
from hermes_desktop.__main__ import main
code = main()
print("\\n".join(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""
HEAVY = {
    "PySide6", "asyncio", "click", "concurrent", "dataclasses", "inspect", "logging", "qasync",
    "sqlite3", "subprocess", "threading",
}  # fmt: skip


def start(code: list[str], *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(CHECKOUT), "PYTHONWARNINGS": "error"},
    )


def identity_words(home: Path) -> list[str]:
    parent = str(os.getpid())
    return [
        "hermes-gateway", "--external-supervisor", f"HERMES_HOME={home}", "--parent", parent
    ]  # fmt: skip


@pytest.mark.parametrize(
    "code", [["-m", "hermes_desktop"], ["-c", AS_SCRIPT]], ids=["-m", "script"]
)
def test_the_token_leads_to_the_identity_process(tmp_path: Path, code: list[str]) -> None:
    with start(code, *identity_words(tmp_path)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        held = json.loads(process.stdout.readline())
        assert held["say"] == "held"
        assert held["record"]["pid"] == process.pid
        assert held["record"]["argv"] == identity_words(tmp_path)
        out, err = process.communicate(json.dumps({"do": "release"}) + "\n", timeout=60)
    assert json.loads(out)["say"] == "bye"
    assert process.returncode == 0
    if code[0] == "-c":
        modules = set(err.split())
        assert "hermes_desktop.gateway.identity.identity" in modules
        assert not HEAVY & modules
        ours = {name for name in modules if name.startswith("hermes_desktop")}
        assert ours == {
            "hermes_desktop",
            "hermes_desktop.__main__",
            "hermes_desktop.core",
            "hermes_desktop.core.processes",
            "hermes_desktop.core.processes.liveness",
            "hermes_desktop.gateway",
            "hermes_desktop.gateway.identity",
            "hermes_desktop.gateway.identity.identity",
            "hermes_desktop.gateway.runtime_files",
            "hermes_desktop.gateway.runtime_files.identity_files",
            "hermes_desktop.gateway.runtime_files.process_facts",
        }


def test_a_stranger_who_repeats_its_command_line_gets_nothing(tmp_path: Path) -> None:
    words = [*identity_words(tmp_path)[:-1], "1"]
    with start(["-m", "hermes_desktop"], *words) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (3, "")
    assert json.loads(out)["say"] == "refused"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["--version"], ["sessions", "hermes-gateway", "--version"]])
def test_other_words_lead_to_the_program(words: list[str]) -> None:
    with start(["-m", "hermes_desktop"], *words) as process:
        out, err = process.communicate(timeout=60)
    told = "No such command 'hermes-gateway'." in err or out == (
        f"Hermes Desktop, version {__version__}\n"
    )
    assert told, out + err


def test_every_installed_script_begins_there() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    targets = {**project["scripts"], **project["gui-scripts"]}
    assert sorted(targets) == sorted(SCRIPTS)
    for target in targets.values():
        module, name = target.split(":")
        assert module == "hermes_desktop.__main__"
        assert callable(getattr(import_module(module), name))
