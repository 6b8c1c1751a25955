"""What a command loads: nobody waits for parts that it does not need."""

import json
import subprocess
import sys

import pytest

from tests.fakes.program import Converse, Program

LOADED = (
    "import json, sys\n"
    "from hermes_desktop.cli.main import main\n"
    "code = main(sys.argv[1:])\n"
    "print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)\n"
)
HEAVY = {"asyncio", "httpx", "keyring", "PySide6", "qasync", "rich", "yaml"}


def loaded(program: Program, *words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words],
        env=program.environment(),
        cwd=program.home.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stderr
    return set(modules)


def test_a_list_loads_only_the_list(program: Program, converse: Converse) -> None:
    converse("s1", "Hello")

    modules = loaded(program, "sessions", "list")

    assert not HEAVY & modules
    ours = {name for name in modules if name.startswith("hermes_desktop.cli.sessions.session_")}
    assert ours == {
        "hermes_desktop.cli.sessions.session_commands",
        "hermes_desktop.cli.sessions.session_text",
    }
    assert "hermes_desktop.services.sessions.session_actions" not in modules


@pytest.mark.parametrize(
    "words",
    [
        ["search", "Hello"],
        ["stats"],
        ["rename", "s1", "Title"],
        ["archive", "s1"],
        ["unarchive", "s1"],
        ["delete", "s1", "--yes"],
        ["trash", "list"],
        ["prune", "--yes"],
        ["export"],
        ["snapshot", "take"],
        ["health"],
        ["--help"],
    ],
)
def test_no_command_loads_a_window_or_a_loop(
    program: Program, converse: Converse, words: list[str]
) -> None:
    converse("s1", "Hello", "Hi")

    assert not (HEAVY - {"yaml"}) & loaded(program, "sessions", *words)
