"""What runs in the background: real programs, looked at, spoken to and ended."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.tools.processes.process_output import KeptOutput
from hermes_desktop.agent.tools.processes.process_records import ProcessRecords
from hermes_desktop.agent.tools.processes.process_table import (
    MOST_PER_CHAT,
    ProcessInfo,
    ProcessTable,
    Wanted,
)
from hermes_desktop.agent.turns.wire_messages import wire_messages
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import BusyError
from hermes_desktop.core.processes import process_tree
from hermes_desktop.state import SessionDB
from tests.fakes.tool_stage import SID, ToolStage, call
from tests.support.waiting import wait_until

PATIENCE_S = 60.0
USER = {"role": "user", "content": "And now?"}
ENVIRON = {"PATH": "/usr/bin:/bin"}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shells of Unix")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ToolStage]:
    made = ToolStage(tmp_path)
    yield made
    made.close()


@pytest.fixture
def table(tmp_path: Path) -> Iterator[ProcessTable]:
    made = ProcessTable(SystemClock(), tmp_path / "processes")
    yield made
    made.close()


def wanted(command: str, folder: Path, key: str = "a", *, notify: bool = False) -> Wanted:
    return Wanted(key, "s1", ("bash", "-c", command), command, ENVIRON, folder, notify)


def start(stage: ToolStage, command: str, **more: Any) -> str:
    [told] = stage.result(call("terminal", command=command, background=True, **more))
    assert told["error"] is None, told
    assert told["session_id"].startswith("proc_")
    return str(told["session_id"])


def ask(stage: ToolStage, **arguments: Any) -> dict[str, Any]:
    [told] = stage.result(call("process", **arguments))
    return told


# The tool


def test_it_comes_back_at_once_and_is_waited_for_later(stage: ToolStage) -> None:
    began = time.monotonic()
    name = start(stage, "sleep 0.5; echo done; exit 3")
    assert time.monotonic() - began < 30
    [line] = ask(stage, action="list")["processes"]
    assert (line["session_id"], line["status"]) == (name, "running")
    told = ask(stage, action="wait", session_id=name, timeout=60)
    assert (told["status"], told["exit_code"], told["output"]) == ("ended", 3, "done\n")
    assert "exit_code" in ask(stage, action="list")["processes"][0]


def test_output_comes_by_cursor(stage: ToolStage) -> None:
    name = start(stage, "echo one; read x; echo two $x; read y")
    first = wait_until(lambda: _output(stage, name, "one"))
    assert ask(stage, action="submit", session_id=name, data="now")["status"] == "ok"
    second = wait_until(lambda: _output(stage, name, "two", first["cursor"]))
    assert second["output"] == "two now\n"
    assert ask(stage, action="close", session_id=name)["status"] == "ok"
    assert ask(stage, action="wait", session_id=name)["status"] == "ended"
    assert "error" in ask(stage, action="write", session_id=name, data="late")


def _output(stage: ToolStage, name: str, words: str, cursor: int = 0) -> dict[str, Any] | None:
    told = ask(stage, action="poll", session_id=name, cursor=cursor)
    return told if words in told["output"] else None


def test_a_shell_that_waits_for_orders_gets_none_that_nobody_allowed(stage: ToolStage) -> None:
    name = start(stage, "cat > got")
    assert ask(stage, action="write", session_id=name, data="plain")["status"] == "ok"
    assert stage.asked == []
    stage.person(lambda request: "once" if request.text == "sh" else "deny")
    shell = start(stage, "sh")
    told = ask(stage, action="submit", session_id=shell, data="rm -rf ~/work")
    assert "The user denied it" in told["error"]
    assert stage.cwd.is_dir()


def test_one_that_does_not_read_holds_up_nobody(table: ProcessTable, tmp_path: Path) -> None:
    info = table.start(wanted("sleep 0.5", tmp_path))
    began = time.monotonic()
    assert not table.write(info.id, "x" * 1_000_000)
    assert time.monotonic() - began < 8
    assert table.wait(info.id, PATIENCE_S)
    deaf = table.start(wanted("sleep 60", tmp_path))
    assert not table.write(deaf.id, "x" * 1_000_000)
    assert not table.write(deaf.id, "", close=True) or table.kill(deaf.id)


def test_what_may_do_harm_is_asked_before_it_is_left_running(stage: ToolStage) -> None:
    [told] = stage.result(call("terminal", command="rm -rf ..", background=True))
    assert "error" in told
    assert stage.processes.listed() == ()


def test_killing_takes_all_that_it_has_started(stage: ToolStage) -> None:
    name = start(stage, "setsid sh -c 'echo $$ > pid; sleep 60' & sleep 60")
    pid = int(wait_until(lambda: _read(stage.cwd / "pid")))
    told = ask(stage, action="kill", session_id=name)
    assert (told["status"], told["killed"]) == ("killed", True)
    wait_until(lambda: process_tree.began(pid) is None)
    assert ask(stage, action="kill", session_id=name)["killed"] is False


def _read(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


def test_one_that_hears_no_polite_signal_is_killed(stage: ToolStage) -> None:
    stage.person(lambda _request: "once")
    name = start(stage, "trap '' TERM; echo ready; while :; do sleep 1; done")
    wait_until(lambda: _output(stage, name, "ready"))
    assert ask(stage, action="kill", session_id=name)["status"] == "killed"


def test_what_is_put_behind_itself_runs_on(stage: ToolStage) -> None:
    name = start(stage, "sleep 60 & echo $! > pid")
    pid = int(wait_until(lambda: _read(stage.cwd / "pid")))
    time.sleep(0.6)
    assert ask(stage, action="poll", session_id=name)["status"] == "running"
    assert process_tree.began(pid) is not None
    ask(stage, action="kill", session_id=name)
    wait_until(lambda: process_tree.began(pid) is None)


def test_others_are_not_seen(stage: ToolStage, tmp_path: Path) -> None:
    other = stage.processes.start(wanted("sleep 60", tmp_path, "another chat"))
    assert ask(stage, action="list") == {"processes": []}
    assert "There is no process" in ask(stage, action="kill", session_id=other.id)["error"]
    assert stage.processes.has_active("another chat")


def test_secrets_are_not_told(stage: ToolStage) -> None:
    stage.redactor.learn("hunter2hunter2")
    name = start(stage, "echo hunter2hunter2")
    told = ask(stage, action="wait", session_id=name)
    assert "hunter2hunter2" not in json.dumps([told, ask(stage, action="list")])


# The table


def test_a_chat_may_run_so_many(table: ProcessTable, tmp_path: Path) -> None:
    for _ in range(MOST_PER_CHAT):
        table.start(wanted("sleep 60", tmp_path))
    with pytest.raises(BusyError, match="Too many"):
        table.start(wanted("sleep 60", tmp_path))
    table.start(wanted("sleep 60", tmp_path, "b"))
    assert table.kill_all("a") == MOST_PER_CHAT
    assert not table.has_active("a")
    assert table.has_active("b")


def test_whoever_asks_is_told_once_of_each_end(table: ProcessTable, tmp_path: Path) -> None:
    ends: list[ProcessInfo] = []
    leave = table.on_end(ends.append)
    first = table.start(wanted("exit 4", tmp_path, notify=True))
    wait_until(lambda: ends)
    assert [(each.id, each.state, each.code, each.notify) for each in ends] == [
        (first.id, "ended", 4, True)
    ]
    leave()
    second = table.start(wanted("true", tmp_path))
    assert table.wait(second.id, PATIENCE_S)
    assert len(ends) == 1


def test_closing_ends_all_within_its_time_and_the_next_program_lists_them(
    table: ProcessTable, tmp_path: Path
) -> None:
    started = [table.start(wanted("trap '' TERM; sleep 60", tmp_path, k)) for k in "ab"]
    began = time.monotonic()
    assert [each.id for each in table.close()] == [each.id for each in started]
    assert time.monotonic() - began < 8
    assert all(process_tree.began(each.pid) is None for each in started)
    with pytest.raises(BusyError, match="closing"):
        table.start(wanted("true", tmp_path))
    # The file names this process, which is alive: only the next program takes it.
    [file] = (tmp_path / "processes").glob("*.json")
    document = json.loads(file.read_text())
    document["owner"]["began"] = 1
    file.write_text(json.dumps(document))
    after = ProcessTable(SystemClock(), tmp_path / "processes")
    assert [each.ran_on for each in after.take_lost()] == [False, False]
    assert [(each.id, each.state) for each in after.listed()] == [
        (each.id, "lost") for each in started
    ]
    assert after.take_lost() == ()
    assert list((tmp_path / "processes").iterdir()) == []


_KILLED = """
import os, signal, sys
from pathlib import Path
from hermes_desktop.agent.tools.processes.process_table import ProcessTable, Wanted
from hermes_desktop.core.clock import SystemClock
folder = Path(sys.argv[1])
table = ProcessTable(SystemClock(), folder / "processes")
wanted = Wanted("a", "s", ("bash", "-c", "setsid sleep 60 & sleep 60"), "sleep 60",
                {"PATH": "/usr/bin:/bin"}, folder, True)
print(table.start(wanted).pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_program_has_left_is_ended_by_the_next(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == -9, done.stderr
    pid = int(done.stdout)
    assert process_tree.began(pid) is not None
    table = ProcessTable(SystemClock(), tmp_path / "processes")
    [lost] = table.take_lost()
    assert (lost.command, lost.ran_on, lost.notify) == ("sleep 60", True, True)
    wait_until(lambda: process_tree.began(pid) is None)


_KILLED_WAITING = """
import os, sys, threading, time
from pathlib import Path
from hermes_desktop.state import SessionDB
from tests.fakes.tool_stage import SID, ToolStage, call
stage = ToolStage(Path(sys.argv[1]))
stage.model.calls = [(call("terminal", command="(setsid sleep 61 &); echo x > begun; sleep 61"),)]
agent = stage.agent()
threading.Thread(target=agent.run_conversation, args=("Do it",), daemon=True).start()
while not (stage.cwd / "begun").exists():
    threading.Event().wait(0.01)
(record,) = (stage.home / "desktop" / "processes").iterdir()
print(record.read_text(), flush=True)
os.kill(os.getpid(), 9)
"""


def test_a_command_of_a_killed_program_is_ended_by_the_next(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _KILLED_WAITING, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=Path(__file__).parents[4],
    )
    assert done.returncode == -9, done.stderr
    (entry,) = json.loads(done.stdout)["processes"]
    assert len(process_tree.members(entry["mark"])) >= 2
    table = ProcessTable(SystemClock(), tmp_path / "user" / ".hermes" / "desktop" / "processes")
    assert table.take_lost() == ()  # nobody was promised to hear of it
    assert not process_tree.members(entry["mark"])
    table.close()
    db = SessionDB(tmp_path / "user" / ".hermes" / "state.db")
    told = wire_messages("", [*db.get_messages_as_conversation(SID), USER])
    db.close()
    assert [each["role"] for each in told] == ["user", "assistant", "user"]
    assert "no result is recorded" in told[1]["content"]


def test_closing_ends_commands_of_turns_that_were_left_behind(stage: ToolStage) -> None:
    environ = stage.processes.covered(stage.environ)
    left = subprocess.Popen(["sleep", "60"], env=environ, start_new_session=True)
    stage.processes.close()
    assert left.wait(60) == -9
    assert not list((stage.home / "desktop" / "processes").iterdir())


def test_records_that_make_no_sense_are_left_alone(tmp_path: Path) -> None:
    for number, text in enumerate(("", "[]", "{", '{"owner": 3, "processes": [1, {"id": "x"}]}')):
        (tmp_path / f"{number}.json").write_text(text)
    assert ProcessRecords(tmp_path).take_lost() == ()
    assert ProcessRecords(tmp_path / "none").take_lost() == ()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_many_start_and_end_at_once(table: ProcessTable, tmp_path: Path) -> None:
    failures: list[BaseException] = []
    before = open_files()

    def work(key: str) -> None:
        try:
            for _ in range(5):
                info = table.start(wanted("echo x", tmp_path, key))
                assert table.wait(info.id, PATIENCE_S)
                assert table.output(info.id, 0, 10).text == "x\n"
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(str(n),)) for n in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert failures == []
    assert open_files() < before + 30, "each of the 30 commands left a file open"


def test_output_is_told_without_secrets(tmp_path: Path) -> None:
    made = ProcessTable(
        SystemClock(), tmp_path / "p", lambda text: text.replace("hunter2", "[hidden]")
    )
    info = made.start(wanted("echo hunter2", tmp_path))
    assert made.wait(info.id, PATIENCE_S)
    assert made.output(info.id, 0, 100).text == "[hidden]\n"
    made.close()


# Kept output


def test_only_the_latest_is_kept_and_what_is_missing_is_said() -> None:
    kept = KeptOutput(10)
    kept.take(b"0123456789")
    assert kept.since(0, 4) == type(kept.since(0, 4))("0123", 4)
    kept.take(b"abcde")
    piece = kept.since(0, 100)
    assert (piece.text, piece.cursor, piece.missed) == ("56789abcde", 15, 5)
    assert kept.since(99, 5).text == ""
    assert kept.tail(3).text == "cde"


def test_a_flood_is_held_back(stage: ToolStage) -> None:
    began, used = time.monotonic(), time.process_time()
    started = start(stage, "yes")
    wait_until(lambda: stage.processes.output(started, None, 10).cursor > 5_000_000)
    took = time.monotonic() - began
    assert took > 0.2  # it would be a few milliseconds
    assert time.process_time() - used < took


def test_characters_are_not_cut() -> None:
    kept = KeptOutput()
    text = "größe 日本 🎉".encode()
    got, cursor = "", 0
    for byte in text:
        kept.take(bytes([byte]))
        piece = kept.since(cursor, 100)
        got, cursor = got + piece.text, piece.cursor
    assert got == text.decode()
    kept.take(b"\xff\xfe")
    assert kept.since(cursor, 100).text == "\ufffd\ufffd"
