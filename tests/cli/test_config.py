"""``config``: seen, explained, changed, brought back, and nothing else touched."""

import difflib
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.config_corpus import BASES
from tests.fakes.program import Program, files_of

FULL = BASES["full"]


@pytest.fixture
def file(home: Path) -> Path:
    path = home / "config.yaml"
    path.write_text(FULL)
    path.chmod(0o640)
    return path


def listed(program: Program, *words: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    done = program.run("config", "list", "--json", *words, env=env)
    assert done.code == 0, done.err
    return {each["key"]: each for each in json.loads(done.out)}


def changed_lines(before: str, after: str) -> list[str]:
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line[0] in "+-"]


def test_an_empty_home_stays_empty(program: Program, home: Path) -> None:
    found = listed(program)
    assert all(each["source"] == "default" for each in found.values())
    assert program.run("config", "get", "session_reset.mode").out == "none\n"
    assert program.run("config", "versions").code == 0
    assert program.run("config", "diff").code == 3
    assert list(home.iterdir()) == []


def test_values_sources_lines_and_what_is_not_known(program: Program, file: Path) -> None:
    found = listed(program)
    mode = found["session_reset.mode"]
    assert (mode["value"], mode["source"], mode["line"]) == ("both", "config.yaml", 38)
    assert found["session_reset.at_hour"]["is_set"]
    assert found["streaming.enabled"]["source"] == "default"
    assert (found["terminal.backend"]["known"], found["terminal.backend"]["line"]) == (False, 26)
    assert (found["terminal.cwd"]["known"], found["terminal.cwd"]["line"]) == (True, 27)
    assert (found["terminal.timeout"]["known"], found["terminal.timeout"]["value"]) == (True, 180)
    assert listed(program, "inactive", "minutes").keys() >= {"session_reset.idle_minutes"}
    assert "model.default" not in listed(program, "inactive")
    lines = program.run("config", "list", "--set").out.splitlines()
    assert "session_reset.mode\tboth\tconfig.yaml, line 38" in lines
    assert "terminal.backend\tlocal\tconfig.yaml, line 26; only shown" in lines
    assert not any(line.startswith("streaming") for line in lines)


def test_a_token_alone_switches_on_and_is_named(program: Program, home: Path) -> None:
    env = {"TELEGRAM_BOT_TOKEN": "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
    switch = "platforms.telegram.enabled"
    said = f"{switch}\ttrue\tTELEGRAM_BOT_TOKEN (environment)"
    assert said in program.run("config", "list", env=env).out.splitlines()
    assert "alone turns it on" in program.run("config", "explain", switch).out
    program.run("config", "set", switch, "false", env=env)
    assert program.run("config", "get", switch, env=env).out == "false\n"
    done = program.run("config", "unset", switch, env=env)
    assert done.out == f"{switch}: true (TELEGRAM_BOT_TOKEN (environment))\n"
    assert program.run("config", "unset", switch).code == 0


def test_groups_of_telegram(program: Program, home: Path) -> None:
    (home / "config.yaml").write_text("telegram:\n  allowed_chats: [-100, -200]\n")
    assert program.run("config", "get", "telegram.allowed_chats").out == "-100, -200\n"
    program.run("config", "set", "telegram.allowed_chats", "--", "-300")
    assert program.run("config", "get", "telegram.allowed_chats").out == "-300\n"
    assert "its @name" in program.run("config", "explain", "telegram.require_mention").out


def test_variables_win_where_they_do_and_are_shown(program: Program, file: Path) -> None:
    env = {"SESSION_RESET_HOUR": "6", "HERMES_GATEWAY_BUSY_INPUT_MODE": "steer"}
    found = listed(program, env=env)
    hour, busy = found["session_reset.at_hour"], found["display.busy_input_mode"]
    assert (hour["value"], hour["source"], hour["place"]) == (
        6,
        "environment",
        "SESSION_RESET_HOUR",
    )
    assert (busy["value"], busy["source"]) == ("interrupt", "config.yaml")
    done = program.run("config", "set", "session_reset.at_hour", "5", env=env)
    assert "the variable SESSION_RESET_HOUR (environment) overrides the file" in done.err
    assert "at_hour: 5" in file.read_text()


def test_one_line_changes_and_the_version_before_is_kept(
    program: Program, file: Path, home: Path
) -> None:
    done = program.run("config", "set", "session_reset.mode", "idle")
    assert (done.code, done.out) == (0, "session_reset.mode: idle\n")
    assert "Takes effect immediately" in done.err
    lines = changed_lines(FULL, file.read_text())
    assert lines == ["-   mode: both   # idle and daily", "+   mode: idle   # idle and daily"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    (version,) = (home / "desktop" / "config-versions").iterdir()
    assert version.read_text() == FULL
    assert stat.S_IMODE(version.stat().st_mode) == 0o600
    assert program.run("config", "set", "session_reset.mode", "idle").err.startswith("No changes")
    assert program.run("config", "restore", "1", "--yes").code == 0
    assert file.read_text() == FULL


def test_a_dry_run_shows_and_writes_nothing(program: Program, file: Path, home: Path) -> None:
    before = files_of(home)
    done = program.run("config", "set", "agent.max_turns", "5", "model.default", "x", "--dry-run")
    assert "-  max_turns: 90        # not more\n+  max_turns: 5        # not more\n" in done.out
    assert program.run("config", "unset", "session_reset.mode", "--dry-run").code == 0
    assert files_of(home) == before


def test_five_versions_are_kept(program: Program, file: Path, home: Path) -> None:
    for turns in range(1, 8):
        assert program.run("config", "set", "agent.max_turns", str(turns)).code == 0
    found = json.loads(program.run("config", "versions", "--json").out)
    assert [each["number"] for each in found] == [1, 2, 3, 4, 5]
    assert "+  max_turns: 7" in program.run("config", "diff").out
    assert "-  max_turns: 2" in program.run("config", "diff", "5").out


@pytest.mark.parametrize(
    ("arguments", "code", "title"),
    [
        (("set", "session_reset.mode", "weekly"), 2, "“All chats: new session”"),
        (("set", "session_reset.mode", "idle", "agent.max_turns", "0"), 2, "“Model calls per turn"),
        (("set", "agent.max_turns"), 2, ""),
        (("set", "terminal.backend", "docker"), 3, "There is no setting “terminal.backend”."),
        (("set", "TELEGRAM_BOT_TOKEN", "x"), 3, "TELEGRAM_BOT_TOKEN is a secret"),
        (("get", "max_turns"), 3, "There is no setting “max_turns”."),
        (("restore", "9", "--yes"), 3, "There is no version “9” of config.yaml."),
    ],
)
def test_what_makes_no_sense_changes_nothing(
    program: Program, file: Path, home: Path, arguments: tuple[str, ...], code: int, title: str
) -> None:
    before = files_of(home)
    done = program.run("config", *arguments)
    assert done.code == code
    assert title in done.err
    assert files_of(home) == before


def test_what_cannot_be_changed_alone_is_refused_with_its_line(
    program: Program, file: Path, home: Path
) -> None:
    file.write_text("x: &agent\n  max_turns: 3\nagent: *agent\n")
    before = files_of(home)
    done = program.run("config", "set", "agent.max_turns", "5")
    assert done.code == 5
    assert "config.yaml, line 3: the value is shared by several places" in done.err
    assert {k: v for k, v in files_of(home).items() if "lock" not in k} == before


def test_a_managed_home_is_not_written(program: Program, file: Path, home: Path) -> None:
    before = files_of(home)
    done = program.run("config", "set", "agent.max_turns", "5", env={"HERMES_MANAGED": "1"})
    assert done.code == 5
    assert "managed" in done.err
    assert files_of(home) == before
    assert program.run("config", "get", "agent.max_turns", env={"HERMES_MANAGED": "1"}).code == 0


def test_links_marks_and_line_ends_stay(program: Program, home: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.yaml"
    real.write_bytes(b"\xef\xbb\xbf" + FULL.replace("\n", "\r\n").encode())
    (home / "config.yaml").symlink_to(real)
    assert program.run("config", "set", "display.busy_input_mode", "queue").code == 0
    assert (home / "config.yaml").is_symlink()
    wanted = FULL.replace("busy_input_mode: interrupt", "busy_input_mode: queue")
    assert real.read_bytes() == b"\xef\xbb\xbf" + wanted.replace("\n", "\r\n").encode()


def test_a_model_that_is_a_single_word_becomes_a_group(program: Program, home: Path) -> None:
    (home / "config.yaml").write_text("model: gpt-5  # mine\n")
    assert program.run("config", "set", "model.provider", "openai").code == 0
    text = (home / "config.yaml").read_text()
    assert text == "model:  # mine\n  default: gpt-5\n  provider: openai\n"
    assert listed(program, "model.default")["model.default"]["value"] == "gpt-5"


def test_new_keys_stand_beside_their_siblings(program: Program, home: Path) -> None:
    (home / "config.yaml").write_text("gateway:\n  session_reset:\n    mode: idle\n")
    arguments = ("session_reset.idle_minutes", "9", "unauthorized_dm_behavior", "ignore")
    assert program.run("config", "set", *arguments).code == 0
    assert (home / "config.yaml").read_text() == (
        "gateway:\n  session_reset:\n    mode: idle\n    idle_minutes: 9\n"
        "  unauthorized_dm_behavior: ignore\n"
    )
    assert program.run("config", "unset", "session_reset.mode").code == 0
    assert listed(program)["session_reset.mode"]["source"] == "default"


def test_secrets_are_hidden_in_lists_and_differences(program: Program, home: Path) -> None:
    text = "model:\n  api_key: sk-private-value-1\n  default: a\ncustom:\n  password: private-too\n"
    (home / "config.yaml").write_text(text)
    shown = program.run("config", "list").out
    shown += program.run("config", "set", "model.default", "b", "--dry-run").out
    assert "[secret]" in shown
    assert "private" not in shown


def test_explained_in_words(program: Program, file: Path) -> None:
    done = program.run("config", "explain", "session_store_max_age_days").out
    assert "Default: 90." in done
    assert "`hermes` reads it from gateway.json only" in done
    assert "Takes effect immediately." in done
    assert "immediately" in program.run("config", "explain", "model.default").out


def test_a_value_that_another_place_overrules_is_named_with_its_line(
    program: Program, home: Path
) -> None:
    (home / "config.yaml").write_text(
        "session_reset: {}\ngateway:\n  session_reset:\n    mode: idle\n"
    )
    done = program.run("config", "explain", "session_reset.mode").out
    assert "Now: none (default)." in done
    line = "gateway.session_reset.mode (line 4) is also in the file, but neither this program"
    assert line in done
    assert program.run("config", "set", "session_reset.mode", "daily").code == 0
    line = line.replace("line 4", "line 5")
    assert line in program.run("config", "explain", "session_reset.mode").out


def test_a_value_that_makes_no_sense_is_said(program: Program, home: Path) -> None:
    (home / "config.yaml").write_text("session_reset:\n  mode: weekly\n")
    done = program.run("config", "list", "--set")
    assert "session_reset.mode\tnone\tdefault; line 2 is invalid" in done.out
    assert "session_reset.mode: This is not one of the choices." in done.err


def test_a_file_that_cannot_be_understood_is_left_alone(program: Program, home: Path) -> None:
    (home / "config.yaml").write_text("a: [1\nb: 2\n")
    before = files_of(home)
    done = program.run("config", "set", "agent.max_turns", "5")
    assert done.code == 1
    assert "line 2" in done.err
    assert files_of(home) == before


def test_a_folder_that_cannot_be_written_is_said(program: Program, file: Path, home: Path) -> None:
    (home / "desktop" / "config.lock").mkdir(parents=True)
    done = program.run("config", "set", "agent.max_turns", "5")
    assert done.code == 1
    assert done.err.startswith("desktop cannot be written.")
    assert file.read_text() == FULL


def test_the_level_of_the_sandbox(program: Program) -> None:
    (found,) = json.loads(program.run("config", "sandbox", "--json").out)
    shown = program.run("config", "sandbox").out.splitlines()
    assert shown[:2] == [f"{found['title']} (level {found['level']})", found["meaning"]]
    assert (found["level"] == "A") is (found["error"] == "")
    assert len(shown) == 2 + bool(found["error"]) + bool(found["remedy"])
