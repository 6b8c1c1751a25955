"""The same plugin and the same shell hooks in both programs, and the answers that one was given."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import model_server
from tests.fakes.model_server import ModelServer
from tests.fakes.plugin_folders import enable, entries
from tests.fakes.program import Program
from tests.interop.conftest import RealHermes

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]

HOOKS = (
    "on_session_start",
    "on_session_end",
    "on_session_finalize",
    "pre_llm_call",
    "post_llm_call",
    "transform_llm_output",
    "pre_api_request",
    "post_api_request",
)
PLUGIN = """
import json
def register(ctx):
    def note(name):
        def hear(**given):
            with open({file!r}, "a") as file:
                file.write(json.dumps([name, given], default=str) + "\\n")
            return {{"context": "It rains."}} if name == "pre_llm_call" else None
        return hear
    for name in {hooks!r}:
        ctx.register_hook(name, note(name))
"""
SCRIPT = "import sys\nopen({file!r}, 'a').write(sys.stdin.read() + '\\n')\nprint('{{}}')\n"
TELEMETRY = "telemetry_schema_version"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def furnish(hermes: RealHermes, server: ModelServer) -> Path:
    """A home with a plugin and shell hooks that write down what they hear."""
    home = hermes.home
    folder = home / "plugins" / "probe"
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text("name: probe\nversion: 1.0\ndescription: A probe\n")
    heard = home.parent / "heard"
    (folder / "__init__.py").write_text(PLUGIN.format(file=str(heard), hooks=HOOKS))
    script = home.parent / "hear.py"
    script.write_text(SCRIPT.format(file=str(home.parent / "told")))
    command = {"command": f"{sys.executable} {script}"}
    config = {
        "model": {
            "default": "a-model",
            "provider": "custom",
            "base_url": server.base_url,
            "api_key": "k-123456",
        },
        "plugins": {"enabled": ["probe"]},
        "hooks": {"pre_llm_call": [command], "on_session_end": [command]},
    }
    (home / "config.yaml").write_text(json.dumps(config))
    return heard


def taken(file: Path) -> list[Any]:
    """The lines of a file, which is then gone."""
    lines = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
    file.unlink()
    return lines


def test_both_tell_the_same_plugin_and_the_same_programs(
    hermes: RealHermes, server: ModelServer
) -> None:
    heard = furnish(hermes, server)
    told = heard.with_name("told")
    done = subprocess.run(
        [str(hermes.python.parent / "hermes"), "chat", "-q", "Hi"],
        env={**hermes.environment(), "HERMES_ACCEPT_HOOKS": "1"},
        cwd=hermes.home.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    theirs, their_programs = taken(heard), taken(told)

    shells = [each for each in entries(hermes.home).values() if each.kind == "shell"]
    assert [each.standing for each in shells] == ["enabled", "enabled"]
    enable(hermes.home, "probe")
    program = Program(hermes.home, {"HOME": str(hermes.home.parent)})
    server.script(model_server.text("Hello there."))
    done_here = program.run("chat", "-q", "Hi")
    assert (done_here.code, done_here.out) == (0, "Hello there.\n")
    ours, our_programs = taken(heard), taken(told)

    assert [name for name, _ in ours] == [name for name, _ in theirs]
    for (name, here), (_, there) in zip(ours, theirs, strict=True):
        if name == "on_session_finalize":  # exactly two here
            assert set(here) == {"session_id", "platform"}
        elif name in {"pre_api_request", "post_api_request"}:
            assert here.keys() <= there.keys(), name
        else:
            assert here.keys() == there.keys() - {TELEMETRY}, name
    assert server.requests[-1].messages[-1]["content"] == "Hi\n\nIt rains."
    events = [each["hook_event_name"] for each in our_programs]
    assert events == [each["hook_event_name"] for each in their_programs]
    for here, there in zip(our_programs, their_programs, strict=True):
        assert here.keys() == there.keys()
        assert here["extra"].keys() == there["extra"].keys() - {TELEMETRY}
