"""``plugins``: what is there, what would be run, agreeing to it and taking that back."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plugin_folders import event_hook, plugin, shell_hooks
from tests.fakes.program import Program
from tests.fakes.terminal import at_terminal

QUIET = "def register(ctx):\n    ctx.register_hook('on_session_end', lambda **_: None)\n"


@pytest.fixture
def furnished(home: Path) -> Path:
    """A home with one of each; whatever is run of them leaves a file behind."""
    trap = f"open({str(home / 'ran')!r}, 'w')\n"
    plugin(home, "notes", trap + QUIET, helper__py="A = 1\n")
    plugin(home, "foreign", trap + "from hermes_cli.plugins import x\nimport gateway\n" + QUIET)
    (home / "plugins" / "empty").mkdir()
    event_hook(home, "audit", trap + "def handle(event_type, context): ...\n", "agent:end")
    shell_hooks(home, pre_llm_call=[{"command": "/bin/echo {}"}], nonsense=[{"command": "x"}])
    return home


def listed(program: Program) -> dict[str, dict[str, Any]]:
    done = program.run("plugins", "list", "--json")
    assert done.code == 0, done.err
    return {each["name"]: each for each in json.loads(done.out)}


def test_an_empty_home_stays_empty(program: Program, home: Path) -> None:
    done = program.run("plugins", "list")
    assert (done.code, done.out) == (0, "This home has no plugins or hooks.\n")
    assert listed(program) == {}
    assert program.run("plugins", "enable", "x").code == 3
    assert list(home.iterdir()) == []


def test_looking_runs_nothing(program: Program, furnished: Path) -> None:
    found = listed(program)
    (shell,) = [key for key in found if key.startswith("shell:pre_llm_call:")]
    assert {key: each["standing"] for key, each in found.items()} == {
        "empty": "not usable",
        "foreign": "not usable",
        "hook:audit": "not enabled",
        "notes": "not enabled",
        shell: "not enabled",
    }
    assert "gateway, hermes_cli, which is not part of this program" in found["foreign"]["reason"]
    assert found["empty"]["reason"] == "It has no plugin.yaml."
    assert found["notes"]["files"] == ["__init__.py", "helper.py", "plugin.yaml"]
    done = program.run("plugins", "list")
    assert "notes\tnot enabled\t1.0\tAbout notes\n" in done.out
    assert "hooks.nonsense in config.yaml is not a hook of this version." in done.err
    assert program.run("plugins", "enable", "notes", "--dry-run").code == 0
    assert not (furnished / "ran").exists()
    assert not (furnished / "desktop").exists()


def test_agreeing_shows_what_would_be_run(program: Program, furnished: Path) -> None:
    refused = program.run("plugins", "enable", "notes")
    assert refused.code == 5
    assert "no terminal to ask on" in refused.err

    shown = program.run("plugins", "enable", "notes", "--dry-run").out
    assert f"  Path: {furnished / 'plugins' / 'notes'}\n" in shown
    assert "  Events: on_session_end\n" in shown
    assert "  3 files:\n    __init__.py (" in shown

    done = program.run("plugins", "enable", "notes", "--yes")
    assert (done.code, done.out) == (0, "notes is enabled; it runs from the next start on.\n")
    assert listed(program)["notes"]["standing"] == "enabled"
    assert "already enabled" in program.run("plugins", "enable", "notes", "--yes").out
    assert not (furnished / "config.yaml").read_text().count("notes")
    mode = (furnished / "desktop" / "plugin-consents.json").stat().st_mode
    assert mode & 0o777 == 0o600


def test_at_a_terminal_the_answer_counts(program: Program, furnished: Path) -> None:
    no = at_terminal(program, "plugins", "enable", "hook:audit", typed=b"n\n")
    assert no.code == 5
    assert "Events: agent:end" in no.out
    assert listed(program)["hook:audit"]["standing"] == "not enabled"
    assert at_terminal(program, "plugins", "enable", "hook:audit", typed=b"y\n").code == 0
    assert listed(program)["hook:audit"]["standing"] == "enabled"


def test_what_changed_has_to_be_agreed_to_again(program: Program, furnished: Path) -> None:
    program.run("plugins", "enable", "notes", "--yes")
    (furnished / "plugins" / "notes" / "helper.py").write_text("A = 2\n")
    (furnished / "plugins" / "notes" / "new\x1b[2J.py").write_text("")
    found = listed(program)["notes"]
    assert (found["standing"], found["changed"]) == ("changed", ["helper.py", "new\x1b[2J.py"])
    shown = program.run("plugins", "enable", "notes", "--dry-run").out
    assert "    helper.py (6 bytes), changed\n    new␛[2J.py (0 bytes), changed\n" in shown
    done = program.run("plugins", "enable", "notes", "--yes", "--json")
    assert json.loads(done.out)[0]["standing"] == "enabled"


def test_taking_it_back(program: Program, furnished: Path) -> None:
    program.run("plugins", "enable", "notes", "--yes")
    assert program.run("plugins", "disable", "notes").code == 5
    done = program.run("plugins", "disable", "notes", "--yes")
    assert "no longer runs after the next start" in done.out
    assert listed(program)["notes"]["standing"] == "not enabled"
    assert "is not enabled" in program.run("plugins", "disable", "notes", "--yes").out


def test_what_cannot_be_used_cannot_be_enabled(program: Program, furnished: Path) -> None:
    done = program.run("plugins", "enable", "foreign", "--yes")
    assert done.code == 5
    assert "foreign cannot be used here." in done.err
    assert "hermes_cli" in done.err


def test_a_shell_hook_that_hermes_allows_is_enabled_until_it_is_disabled(
    program: Program, furnished: Path
) -> None:
    script = furnished / "log.sh"
    script.write_text("true\n")
    stamp = datetime(2020, 1, 2, 3, 4, 5, 678901, UTC)
    os.utime(script, (stamp.timestamp(), stamp.timestamp()))
    command = f"/bin/sh {script} --quiet"
    shell_hooks(furnished, pre_llm_call=[{"command": command}])
    (key,) = [key for key in listed(program) if key.startswith("shell:")]
    assert listed(program)[key]["standing"] == "not enabled"
    allowlist = furnished / "shell-hooks-allowlist.json"
    date = datetime.fromtimestamp(script.stat().st_mtime, UTC).isoformat().replace("+00:00", "Z")
    item = {"event": "pre_llm_call", "command": command, "script_mtime_at_approval": date}
    allowlist.write_text(json.dumps({"approvals": [item]}))
    assert listed(program)[key]["standing"] == "enabled"
    script.write_text("false\n")
    assert listed(program)[key]["standing"] == "changed"
    assert program.run("plugins", "enable", key, "--yes").code == 0
    assert listed(program)[key]["standing"] == "enabled"
    assert program.run("plugins", "disable", key, "--yes").code == 0
    assert listed(program)[key]["standing"] == "not enabled"
    for text in ("{", "[]", '{"approvals": 1}', '{"approvals": [1, {"event": 2}]}'):
        allowlist.write_text(text)
        assert listed(program)[key]["standing"] == "not enabled"


def test_settings_that_cannot_be_understood_hide_only_what_stands_there(
    program: Program, furnished: Path
) -> None:
    (furnished / "config.yaml").write_text("hooks: [")
    done = program.run("plugins", "list")
    assert done.code == 0
    assert "config.yaml cannot be parsed." in done.err
    assert "notes\tnot enabled" in done.out


def test_answers_that_cannot_be_read_allow_nothing(program: Program, furnished: Path) -> None:
    program.run("plugins", "enable", "notes", "--yes")
    answers = furnished / "desktop" / "plugin-consents.json"
    for text in ("{", "[]", '{"version": 2, "consents": []}', '{"version":1,"consents":[1]}'):
        answers.write_text(text)
        done = program.run("plugins", "list")
        assert done.code == 1
        assert "The list of enabled plugins cannot be read" in done.err
        assert program.run("plugins", "enable", "notes", "--yes").code == 1
        assert answers.read_text() == text
