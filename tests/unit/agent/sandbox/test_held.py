"""Commands that really run in a sandbox, through the tool that the assistant uses."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.sandbox.grants import Level
from hermes_desktop.agent.sandbox.launching import (
    MOST_BYTES_OF_A_FILE,
    MOST_DESCRIPTORS,
    MOST_PROCESSES,
)
from hermes_desktop.core.processes import process_tree
from tests.fakes.tool_stage import KEY, ToolStage, call

pytestmark = pytest.mark.needs()


def run(stage: ToolStage, command: str, **more: Any) -> dict[str, Any]:
    """Run a command of the assistant and return its answer."""
    [answer] = stage.result(call("terminal", command=command, **more))
    return answer


def process(stage: ToolStage, **arguments: Any) -> dict[str, Any]:
    [answer] = stage.result(call("process", **arguments))
    return answer


def test_the_folder_is_writable_and_the_home_is_not(held: ToolStage) -> None:
    (held.user_home / ".ssh").mkdir()
    (held.user_home / ".ssh/id_rsa").write_text("planted-key")
    (held.user_home / "letter.txt").write_text("dear")
    answer = run(
        held,
        "echo made > made.txt; cat ~/.ssh/id_rsa ~/letter.txt ../letter.txt;"
        " echo x > ../letter.txt; rm -f ../letter.txt; cat made.txt",
    )

    assert (held.cwd / "made.txt").read_text() == "made\n"
    assert answer["output"].startswith("made\n")
    assert "planted-key" not in answer["output"]
    assert "dear" not in answer["output"]
    assert (held.user_home / "letter.txt").read_text() == "dear"
    assert held.asked == []


def test_risky_commands_need_no_question_where_the_sandbox_holds_everything(
    closed: ToolStage,
) -> None:
    (closed.cwd / "build").mkdir()
    outside = closed.user_home / "Documents"
    outside.mkdir()
    answer = run(closed, f"rm -rf build {outside}; chmod 777 {closed.user_home}; true")

    assert (answer["exit_code"], answer["error"]) == (0, None)
    assert not (closed.cwd / "build").exists()
    assert outside.exists()
    assert closed.asked == []


def test_the_files_of_hermes_are_not_there(held: ToolStage) -> None:
    (held.home / "config.yaml").write_text("planted-setting")
    answer = run(
        held, f"cat {held.home}/config.yaml; echo 'approvals: off' > {held.home}/config.yaml"
    )

    assert "planted-setting" not in answer["output"]
    assert (held.home / "config.yaml").read_text() == "planted-setting"


def test_nothing_is_reached_over_the_network(held: ToolStage) -> None:
    code = (
        "import socket\n"
        "for kind in (1, 2):\n"
        "    try:\n"
        "        with socket.socket(2, kind) as each:\n"
        "            each.connect(('192.0.2.1', 9)); each.send(b'x'); print('REACHED')\n"
        "    except OSError as error: print(error)\n"
    )
    (held.cwd / "try.py").write_text(code)
    answer = run(held, "/usr/bin/python3 try.py")

    assert "REACHED" not in answer["output"]
    assert answer["exit_code"] == 0


def test_no_descriptor_and_no_variable_is_inherited(held: ToolStage) -> None:
    held.environ |= {"SSH_AUTH_SOCK": "/tmp/agent", "DISPLAY": ":0", "LD_PRELOAD": "/tmp/x.so"}
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        answer = run(held, "ls /proc/self/fd | wc -l; env")
    finally:
        os.close(reading)
        os.close(writing)

    assert answer["output"].startswith("4\n")  # the fourth is the folder that ls reads
    for name in ("SSH_AUTH_SOCK", "DISPLAY", "LD_PRELOAD"):
        assert name not in answer["output"]


def test_the_environment_of_other_programs_is_not_readable_for_root_either(
    held: ToolStage,
) -> None:
    with subprocess.Popen(["sleep", "60"], env={"PLANTED": "planted-value"}) as other:
        try:
            answer = run(held, f"cat /proc/{other.pid}/environ; grep CapEff /proc/self/status")
        finally:
            other.kill()

    assert "planted-value" not in answer["output"]
    assert "CapEff:\t0000000000000000" in answer["output"]


def test_only_its_own_processes_are_seen(closed: ToolStage) -> None:
    answer = run(closed, f"ls -d /proc/[0-9]* | wc -l; kill -0 {os.getpid()} && echo REACHED")

    assert int(answer["output"].splitlines()[0]) <= 5
    assert "REACHED" not in answer["output"]


def test_what_a_command_lacked_is_named(held: ToolStage) -> None:
    (held.user_home / "Documents").mkdir()
    (held.user_home / "Documents/plan.txt").write_text("plan")
    path = held.user_home / "Documents/plan.txt"

    assert run(held, f"cat {path}")["not_granted"] == [f"path {path.resolve()}"]
    made = run(held, f"echo x > {path.parent}/new.txt")
    assert made["not_granted"] == [f"path {path.parent.resolve()}"]
    assert "not_granted" not in run(held, f"cat {held.home}/state.db")
    assert "not_granted" not in run(held, "cat missing.txt")


def test_a_command_is_ended_in_time_with_all_it_started(held: ToolStage) -> None:
    answer = run(held, "(setsid sleep 97 &) ; sleep 98", timeout=1)

    assert "ended after 1 s" in answer["error"]
    _until(lambda: not _running("sleep\x0097") + _running("sleep\x0098"))


def test_nothing_outlives_a_command(held: ToolStage) -> None:
    assert run(held, "env -i setsid sleep 96 & exit 0")["exit_code"] == 0
    if held.level is Level.PARTLY_HELD:  # known: without its mark nothing finds it there
        for pid in _running("sleep\x0096"):
            os.kill(pid, signal.SIGKILL)
    _until(lambda: not _running("sleep\x0096"))


def test_the_exit_code_and_the_output_come_back(held: ToolStage) -> None:
    answer = run(held, "echo out; echo err >&2; exit 3")

    assert (answer["output"], answer["exit_code"]) == ("out\nerr\n", 3)


def test_a_background_command_runs_is_asked_to_end_and_is_listed(held: ToolStage) -> None:
    answer = run(
        held, "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done", background=True
    )
    name = answer["session_id"]
    _until(lambda: "up" in process(held, action="poll", session_id=name)["output"])
    killed = process(held, action="kill", session_id=name)

    assert killed["killed"]
    assert "bye" in process(held, action="poll", session_id=name, cursor=0)["output"]


def test_a_background_command_lasts_as_long_as_what_it_left_running(held: ToolStage) -> None:
    name = run(held, "(sleep 1; echo late) & exit 4", background=True)["session_id"]
    waited = process(held, action="wait", session_id=name, timeout=50)

    assert (waited["status"], waited["exit_code"]) == ("ended", 4)
    assert "late" in waited["output"]


def test_a_background_command_reads_its_input(held: ToolStage) -> None:
    name = run(held, "read x; echo got $x", background=True)["session_id"]
    process(held, action="submit", session_id=name, data="this")
    waited = process(held, action="wait", session_id=name, timeout=50)

    assert waited["output"] == "got this\n"


def test_a_command_of_level_a_ends_with_a_program_that_is_killed(closed: ToolStage) -> None:
    started = run(closed, "echo up; sleep 95", background=True)
    name, pid = started["session_id"], started["pid"]
    _until(lambda: "up" in process(closed, action="poll", session_id=name)["output"])
    os.kill(pid, signal.SIGKILL)
    process(closed, action="wait", session_id=name, timeout=50)

    _until(lambda: not _running("sleep\x0095"))


def test_at_level_b_every_command_is_asked_about_by_default(held: ToolStage) -> None:
    held.queue.set_free(KEY, free=False)
    held.person(lambda _request: "once")
    answer = run(held, "echo harmless")

    assert answer["output"] == "harmless\n"
    assert len(held.asked) == (held.level is Level.PARTLY_HELD)
    assert all("holds only" in each.why[0] for each in held.asked)


def test_a_folder_outside_is_asked_about(closed: ToolStage) -> None:
    other = closed.user_home / "other"
    other.mkdir()
    closed.person(lambda _request: "once")
    answer = run(closed, "pwd; echo x > here", workdir=str(other))

    assert [each.why for each in closed.asked] == [
        ("It works outside the folder of this conversation.",)
    ]
    assert answer["output"] == f"{other.resolve()}\n"
    assert (other / "here").exists()


def test_what_is_forbidden_stays_forbidden(closed: ToolStage) -> None:
    closed.config["approvals"] = {"deny": ["git push*"]}

    assert "A rule of the user" in run(closed, "git push origin")["error"]


def _until(done: Any) -> None:
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        threading.Event().wait(0.05)


def _running(words: str) -> list[int]:
    """Return the living processes whose command line holds these words."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = each.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        pid = int(each.parent.name)
        if text.startswith(words) and process_tree.began(pid) is not None:
            found.append(pid)
    return found


def test_plain_bubblewrap_is_what_runs(closed: ToolStage) -> None:
    """The stage is no double: the first process of a background command is bubblewrap."""
    started = run(closed, "sleep 60", background=True)
    shown = Path(f"/proc/{started['pid']}/cmdline").read_bytes().split(b"\0")

    assert {b"--unshare-net", b"--seccomp"} <= set(shown)


def test_a_command_has_bounds(held: ToolStage) -> None:
    answer = run(held, "ulimit -c; ulimit -f; ulimit -Hn; ulimit -u")
    core, size, files, processes = answer["output"].split()

    assert core == "0"
    assert int(size) * 1024 <= MOST_BYTES_OF_A_FILE
    assert int(files) <= MOST_DESCRIPTORS
    assert int(processes) <= MOST_PROCESSES


def test_a_file_cannot_grow_without_end(held: ToolStage) -> None:
    answer = run(held, f"truncate -s {MOST_BYTES_OF_A_FILE + 1} big; ls big")

    assert answer["exit_code"] != 0 or (held.cwd / "big").stat().st_size == 0


def test_bounds_cannot_be_raised_again(closed: ToolStage) -> None:
    answer = run(closed, f"ulimit -Hn {2 * MOST_DESCRIPTORS}; ulimit -f unlimited; ulimit -Hf")

    assert "unlimited" not in answer["output"].split()


def test_the_program_that_searches_sees_what_the_sandbox_shows(held: ToolStage) -> None:
    (held.cwd / "a.txt").write_text("a needle\n")
    (held.home / "note.txt").write_text("a needle\n")
    (held.cwd / "link.txt").symlink_to(held.home / "note.txt")
    [found] = held.result(call("search_files", pattern="needle"))

    assert found == {"matches": [f"{held.cwd.resolve()}/a.txt:1:a needle"]}


def test_a_folder_that_may_be_read_is_searched(held: ToolStage) -> None:
    letters = held.user_home / "Letters"
    letters.mkdir()
    (letters / "b.txt").write_text("a needle\n")
    held.queue.set_free(KEY, free=True)
    [found] = held.result(call("search_files", pattern="needle", path=str(letters)))
    [single] = held.result(call("search_files", pattern="root:", path="/etc/passwd", limit=1))

    assert found == {"matches": [f"{letters.resolve()}/b.txt:1:a needle"]}
    assert single["matches"][0].startswith("/etc/passwd:1:root:")


def test_the_whole_home_is_not_searched(held: ToolStage) -> None:
    held.queue.set_free(KEY, free=True)
    [found] = held.result(call("search_files", pattern="x", path=str(held.user_home)))

    assert "Name a folder inside" in found["error"]


def test_output_is_plain_text(held: ToolStage) -> None:
    answer = run(held, r"printf 'a\033[31mb\033[0m\033]52;c;QQ==\007\033]0;t\007\033[6nc'")

    assert answer["output"] == "abc"
