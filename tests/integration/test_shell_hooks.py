"""Shell hooks of a real home: real programs, told by JSON, ended in time, without secrets."""

import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plugin_folders import enable, loaded, shell_hooks

END = {"session_id": "s", "task_id": "t", "turn_id": "x", "completed": True, "interrupted": False,
       "model": "m", "platform": "cli"}  # fmt: skip


def dump(folder: Path, answer: str = "", *, then: str = "") -> list[str]:
    """A program that notes what it was given, and answers; its command."""
    script = folder / "dump.py"
    script.write_text(
        "import json, os, sys\n"
        f"with open({str(folder / 'heard')!r}, 'a') as file:\n"
        "    told = json.load(sys.stdin)\n"
        "    file.write(json.dumps([told, dict(os.environ), os.getcwd(), sys.argv[1:]]) + '\\n')\n"
        f"print({answer!r}, flush=True)\n{then}"
    )
    return [sys.executable, str(script)]


def heard(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "heard").read_text().splitlines()]


def test_shell_hooks_are_told_by_json_without_a_shell_and_without_secrets(tmp_path: Path) -> None:
    python, script = dump(tmp_path, '{"context": "It rains."}')
    command = f"{python} {script} '$(touch x)' \"two words\" ; touch y"
    shell_hooks(
        tmp_path, pre_llm_call=[{"command": command}], on_session_end=[{"command": command}]
    )
    with loaded(tmp_path, API_TOKEN="t0k3n") as (registry, _, _):
        assert not registry.has("pre_llm_call")  # nobody agreed
    enable(tmp_path)
    environ = {"API_TOKEN": "t0k3n", "DB_URL": "pg://me:pa55word@host/x", "PLAIN": "1"}
    with loaded(tmp_path, **environ) as (registry, _, notices):
        given = {"session_id": "s", "user_message": "hi\ud800", "model": Path("m")}
        assert registry.invoke("pre_llm_call", given) == [{"context": "It rains."}]
        assert registry.invoke("on_session_end", END) == []
    told, env, cwd, args = heard(tmp_path)[0]
    assert told == {
        "hook_event_name": "pre_llm_call",
        "tool_name": None,
        "tool_input": None,
        "session_id": "s",
        "cwd": str(tmp_path),
        "extra": {"user_message": "hi?", "model": "m"},
    }
    assert (cwd, args) == (str(tmp_path), ["$(touch x)", "two words", ";", "touch", "y"])
    assert env["PLAIN"] == "1"
    assert "PATH" in env
    assert not {"API_TOKEN", "DB_URL"} & env.keys()
    assert notices == []
    assert not (tmp_path / "y").exists()


def test_a_shell_hook_whose_script_changed_does_not_run(tmp_path: Path) -> None:
    command = " ".join(dump(tmp_path))
    shell_hooks(tmp_path, on_session_end=[{"command": command}])
    enable(tmp_path)
    with (tmp_path / "dump.py").open("a") as file:
        file.write("\n")
    with loaded(tmp_path) as (registry, _, notices):
        assert not registry.has("on_session_end")
    assert notices[0].title.startswith("The shell hook for “on_session_end” was changed")
    assert notices[0].detail == f"Changed: {tmp_path / 'dump.py'}."


def test_nor_one_that_changed_while_the_program_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    command = " ".join(dump(tmp_path))
    shell_hooks(tmp_path, on_session_end=[{"command": command}])
    enable(tmp_path)
    agreed = (tmp_path / "dump.py").read_text()
    with loaded(tmp_path) as (registry, _, _):
        registry.invoke("on_session_end", {"session_id": "1"})
        (tmp_path / "dump.py").write_text(agreed + "\n")
        registry.invoke("on_session_end", {"session_id": "2"})
        (tmp_path / "dump.py").write_text(agreed)
        registry.invoke("on_session_end", {"session_id": "3"})
    assert [told["session_id"] for told, *_ in heard(tmp_path)] == ["1", "3"]
    assert "was changed since it was enabled and is not run" in caplog.text


def test_one_that_takes_too_long_is_ended_with_all_it_started(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pids = tmp_path / "pids"
    then = (
        "import subprocess, time\nchild = subprocess.Popen(['sleep', '300'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(300)\n"
    )
    command = " ".join(dump(tmp_path, then=then))
    shell_hooks(tmp_path, pre_llm_call=[{"command": command, "timeout": 2}])
    enable(tmp_path)
    with loaded(tmp_path) as (registry, _, _):
        assert registry.invoke("pre_llm_call", {}) == []
    assert "did not end within 2 s and was ended" in caplog.text
    for pid in pids.read_text().split():
        state = Path(f"/proc/{pid}/stat")
        while state.exists() and state.read_text().split()[2] != "Z":
            threading.Event().wait(0.01)


@pytest.mark.parametrize(
    ("answer", "event", "means"),
    [
        ('{"decision": "block", "reason": "no"}', "pre_tool_call", "no"),
        ('{"action": "block", "message": "no"}', "pre_tool_call", "no"),
        ('{"action": "block"}', "pre_tool_call", "A hook does not allow it."),
        ('{"decision": "block"}', "on_session_end", None),
        ("no json", "pre_tool_call", None),
        ("[1]", "pre_llm_call", None),
        ('{"context": 1}', "pre_llm_call", None),
        ("", "pre_llm_call", None),
    ],
)
def test_what_answers_mean(tmp_path: Path, answer: str, event: str, means: str | None) -> None:
    hook = {"command": f"printf '%s' '{answer}'", "matcher": "shell_.*"}
    shell_hooks(tmp_path, **{event: [hook]})
    enable(tmp_path)
    with loaded(tmp_path) as (registry, _, _):
        said = registry.invoke(event, {"tool_name": "shell_exec", "args": {"a": 1}})
        assert [each["message"] for each in said] == ([] if means is None else [means])
        if event == "pre_tool_call":
            assert registry.invoke(event, {"tool_name": "my_shell_exec"}) == []


def test_a_program_that_is_not_there_or_floods_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shell_hooks(
        tmp_path,
        pre_llm_call=[
            {"command": "/no/such/program"},
            {"command": "yes"},
            {"command": "false"},
            {"command": 'echo \'{"context": "still here"}\''},
            {"command": "'unfinished"},
            {"command": "x", "timeout": True},
            "nonsense",
        ],
    )
    enable(tmp_path)
    with loaded(tmp_path) as (registry, _, _):
        assert registry.invoke("pre_llm_call", {}) == [{"context": "still here"}]
    for words in ("entry 5", "entry 6", "entry 7", "ended with 1", "No such file"):
        assert words in caplog.text


def test_what_is_told_of_a_very_long_conversation_is_bounded(tmp_path: Path) -> None:
    command = " ".join(dump(tmp_path))
    shell_hooks(tmp_path, pre_llm_call=[{"command": command}])
    enable(tmp_path)
    history = [{"role": "user", "content": "x" * 1_000_000}] * 6
    with loaded(tmp_path) as (registry, _, _):
        registry.invoke("pre_llm_call", {"conversation_history": history, "is_first_turn": True})
    assert heard(tmp_path)[0][0]["extra"] == {"is_first_turn": True}


def test_closing_ends_programs_that_still_run(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    then = f"import time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(300)\n"
    shell_hooks(tmp_path, on_session_end=[{"command": " ".join(dump(tmp_path, then=then))}])
    enable(tmp_path)
    with loaded(tmp_path) as (registry, _, _):
        telling = threading.Thread(target=registry.invoke, args=("on_session_end", END))
        telling.start()
        while not (pid.exists() and pid.read_text()):
            threading.Event().wait(0.01)
    state = Path(f"/proc/{pid.read_text()}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"
    telling.join(60)


def test_a_callback_that_is_switched_off_is_told(tmp_path: Path) -> None:
    shell_hooks(tmp_path, pre_llm_call=[{"command": "sleep 300", "timeout": 0.05}])
    enable(tmp_path)
    with loaded(tmp_path) as (registry, _, _):
        told: list[str] = []
        registry.report = told.append
        for _ in range(5):
            assert registry.invoke("pre_llm_call", {}) == []
        while not told:
            registry.invoke("pre_llm_call", {})
    assert "sleep 300 of shell:pre_llm_call:" in told[0]
    assert "took longer than 0.05 s 3 times and is off" in told[0]


def test_a_program_found_by_its_name_is_part_of_what_was_agreed_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "bin" / "my-tool"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho \'{"context": "found"}\'\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    shell_hooks(tmp_path, pre_llm_call=[{"command": "my-tool x"}, {"command": "./bin/my-tool y"}])
    enable(tmp_path)
    with loaded(tmp_path) as (registry, _, _):
        assert registry.invoke("pre_llm_call", {}) == [{"context": "found"}] * 2
    tool.write_text("#!/bin/sh\n")
    with loaded(tmp_path) as (registry, _, notices):
        assert not registry.has("pre_llm_call")
        assert len(notices) == 2
