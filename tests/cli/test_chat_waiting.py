"""``hermes-desktop chat`` beside other programs that answer in the same session."""

import signal
import subprocess
import threading
from pathlib import Path

import pytest

from hermes_desktop.cli.chat.chat_turn import WaitStatusLine
from hermes_desktop.services.sessions.open_turns import OpenTurn
from hermes_desktop.state import SessionDB
from tests.fakes.foreign_program import ForeignProgram, foreign_program
from tests.fakes.model_server import ModelServer, Recorded, Reply, echo, error
from tests.fakes.program import Converse, Outcome, Program, said
from tests.fakes.rpc_client import RpcProcess
from tests.fakes.terminal import at_terminal

pytestmark = [pytest.mark.two_processes, pytest.mark.slow]
PATIENCE_S = 60.0


class HeldModel:
    """Answers the first request when it may, and all others at once."""

    def __init__(self, server: ModelServer) -> None:
        self.asked = threading.Event()
        self.may = threading.Event()
        server.responder = self._answer

    def _answer(self, request: Recorded) -> Reply:
        if not self.asked.is_set():
            self.asked.set()
            self.may.wait(PATIENCE_S)
        return echo(request)


@pytest.fixture
def held(server: ModelServer) -> HeldModel:
    return HeldModel(server)


def told_of_waiting(process: "subprocess.Popen[bytes]") -> str:
    """The line of standard error with which a program says that it waits."""
    assert process.stderr is not None
    return process.stderr.readline().decode()


def finish(process: "subprocess.Popen[bytes]") -> Outcome:
    out, err = process.communicate(timeout=PATIENCE_S)
    return Outcome(process.returncode, out.decode(), err.decode())


def test_two_at_once_in_one_session_answer_one_after_the_other(
    program: Program, configured: Path, converse: Converse, held: HeldModel, server: ModelServer
) -> None:
    converse("s", "Hello?", "Yes.")
    first = program.start("chat", "-q", "One?", "--resume", "s")
    assert held.asked.wait(PATIENCE_S)
    second = program.start("chat", "-q", "Two?", "--resume", "s")
    line = told_of_waiting(second)
    assert f"Waiting for hermes-desktop chat (process {first.pid}), which is answering" in line
    assert "Press Ctrl-C to cancel" in line
    held.may.set()
    assert finish(first).code == 0
    assert finish(second).out == "You said: Two?\n"
    assert said(configured, "s")[2:] == [
        ("user", "One?"), ("assistant", "You said: One?"),
        ("user", "Two?"), ("assistant", "You said: Two?"),
    ]  # fmt: skip
    told = [each["content"] for each in server.requests[-1].messages]
    assert told[-2:] == ["You said: One?", "Two?"], "the second request answers the second alone"
    assert list((configured / "desktop" / "turns").iterdir()) == []


def test_a_killed_holder_lets_the_next_one_in_at_once(
    program: Program, configured: Path, converse: Converse, held: HeldModel
) -> None:
    """The test itself has the file open, as an idle ``hermes`` may: that is no turn of its."""
    converse("s", "Hello?", "Yes.")
    first = program.start("chat", "-q", "One?", "--resume", "s")
    assert held.asked.wait(PATIENCE_S)
    second = program.start("chat", "-q", "Two?", "--resume", "s")
    told_of_waiting(second)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=PATIENCE_S)
    done = finish(second)
    assert done.code == 0, done.err
    assert said(configured, "s")[2:] == [
        ("user", "One?"), ("user", "Two?"), ("assistant", "You said: One?\n\nTwo?"),
    ]  # fmt: skip
    held.may.set()


def test_ctrl_c_ends_the_wait_and_nothing_is_sent(
    program: Program, configured: Path, converse: Converse, held: HeldModel, server: ModelServer
) -> None:
    converse("s", "Hello?", "Yes.")
    first = program.start("chat", "-q", "One?", "--resume", "s")
    assert held.asked.wait(PATIENCE_S)
    done = at_terminal(
        program, "chat", "-q", "Two?", "--resume", "s", interrupt_at="Waiting for hermes-desktop"
    )
    assert done.code == 5
    assert "Nothing was stored." in done.out
    held.may.set()
    assert finish(first).code == 0
    assert [row for row in said(configured, "s") if row[0] == "user"][1:] == [("user", "One?")]
    assert len(server.requests) == 1


def test_a_session_and_its_continuation_are_one(
    program: Program, configured: Path, converse: Converse, db: SessionDB, held: HeldModel
) -> None:
    converse("root", "Hello?", "Yes.")
    first = program.start("chat", "-q", "One?", "--resume", "root")
    assert held.asked.wait(PATIENCE_S)
    db.end_session("root", "compression")
    db.create_session("tip", "cli", parent_session_id="root")
    second = program.start("chat", "-q", "Two?", "--resume", "tip")
    assert f"process {first.pid}" in told_of_waiting(second)
    held.may.set()
    assert (finish(first).code, finish(second).code) == (0, 0)


def test_other_sessions_do_not_wait(
    program: Program, configured: Path, converse: Converse, held: HeldModel
) -> None:
    converse("s", "Hello?", "Yes.")
    converse("t", "Hello there?", "Yes, yes.")
    first = program.start("chat", "-q", "One?", "--resume", "s")
    assert held.asked.wait(PATIENCE_S)
    other = program.run("chat", "-q", "Two?", "--resume", "t")
    assert (other.code, other.out, other.err) == (0, "You said: Two?\n", "")
    assert first.poll() is None
    held.may.set()
    finish(first)


def test_where_nothing_can_be_locked_it_is_said_once_and_answered(
    program: Program, configured: Path
) -> None:
    (configured / "desktop").write_text("in the way")
    done = program.run("chat", "-q", "Hello")
    assert (done.code, done.out) == (0, "You said: Hello\n")
    assert done.err.count("Sessions cannot be locked in this home.") == 1


def test_a_session_is_not_deleted_while_another_program_of_ours_answers(
    program: Program, configured: Path, converse: Converse, held: HeldModel
) -> None:
    converse("s", "Hello?", "Yes.")
    first = program.start("chat", "-q", "One?", "--resume", "s")
    assert held.asked.wait(PATIENCE_S)
    done = program.run("sessions", "delete", "s", "--yes")
    assert done.code == 5
    assert f"hermes-desktop chat (process {first.pid}) is answering “One?”" in done.err
    held.may.set()
    finish(first)


# ---------------------------------------------------------------------------------- rpc and chat


def test_rpc_waits_says_so_and_keeps_the_order(
    program: Program, configured: Path, converse: Converse, held: HeldModel
) -> None:
    converse("s", "Hello?", "Yes.")
    first = program.start("chat", "-q", "One?", "--resume", "s")
    assert held.asked.wait(PATIENCE_S)
    with RpcProcess(program) as rpc:
        sid = rpc.call("session.resume", session_id="s", cols=80)["session_id"]
        rpc.call("prompt.submit", session_id=sid, text="Two?")
        news = rpc.event("status.update", sid)
        assert news["text"].startswith(f"Waiting for hermes-desktop chat (process {first.pid})")
        queued = rpc.call("prompt.submit", session_id=sid, text="Three?")
        assert queued["status"] == "queued", "a prompt that is not stored yet is not cut off"
        with pytest.raises(AssertionError, match="busy"):
            rpc.call("session.undo", session_id=sid)
        held.may.set()
        assert rpc.event("message.complete", sid)["text"] == "You said: Two?"
        assert rpc.event("message.complete", sid)["text"] == "You said: Three?"
    assert finish(first).code == 0
    assert [text for _, text in said(configured, "s")[2:]] == [
        "One?", "You said: One?", "Two?", "You said: Two?", "Three?", "You said: Three?",
    ]  # fmt: skip


def test_a_waiting_prompt_of_rpc_is_interrupted(
    program: Program, configured: Path, converse: Converse, held: HeldModel
) -> None:
    converse("s", "Hello?", "Yes.")
    first = program.start("chat", "-q", "One?", "--resume", "s")
    assert held.asked.wait(PATIENCE_S)
    with RpcProcess(program) as rpc:
        sid = rpc.call("session.resume", session_id="s", cols=80)["session_id"]
        rpc.call("prompt.submit", session_id=sid, text="Two?")
        rpc.event("status.update", sid)
        rpc.call("session.interrupt", session_id=sid)
        assert rpc.event("message.complete", sid)["status"] == "interrupted"
        held.may.set()
        assert finish(first).code == 0
    assert ("user", "Two?") not in said(configured, "s")


def test_chat_waits_for_rpc_and_rpc_takes_nothing_back_meanwhile(
    program: Program, configured: Path, converse: Converse, held: HeldModel
) -> None:
    converse("s", "Hello?", "Yes.")
    with RpcProcess(program) as rpc:
        sid = rpc.call("session.resume", session_id="s", cols=80)["session_id"]
        rpc.call("prompt.submit", session_id=sid, text="One?")
        assert held.asked.wait(PATIENCE_S)
        chat = program.start("chat", "-q", "Two?", "--resume", "s")
        assert "Waiting for hermes-desktop rpc" in told_of_waiting(chat)
        held.may.set()
        assert finish(chat).code == 0
    assert [text for _, text in said(configured, "s")[2:]] == [
        "One?", "You said: One?", "Two?", "You said: Two?",
    ]  # fmt: skip


def test_rpc_does_not_undo_what_chat_is_answering(
    program: Program, configured: Path, converse: Converse, held: HeldModel
) -> None:
    converse("s", "Hello?", "Yes.")
    with RpcProcess(program) as rpc:
        sid = rpc.call("session.resume", session_id="s", cols=80)["session_id"]
        chat = program.start("chat", "-q", "One?", "--resume", "s")
        assert held.asked.wait(PATIENCE_S)
        with pytest.raises(AssertionError, match=f"process {chat.pid}"):
            rpc.call("session.undo", session_id=sid)
        held.may.set()
        assert finish(chat).code == 0
    assert len(said(configured, "s")) == 4


# ------------------------------------------------------------------------ other people's programs


@pytest.fixture
def unanswered(converse: Converse, db: SessionDB) -> str:
    """A session whose last message waits for its reply. The test itself has the file no more."""
    converse("s", "Hello?", "Yes.", "Which train?")
    path = str(db.db_path)
    db.close()
    return path


def test_an_ended_program_is_not_waited_for(
    program: Program, configured: Path, unanswered: str
) -> None:
    done = program.run("chat", "-q", "And back?", "--resume", "s")
    assert (done.code, done.err) == (0, "")


def test_a_running_turn_of_another_program_is_waited_for(
    program: Program, configured: Path, unanswered: str
) -> None:
    with foreign_program(Path(unanswered)) as other:
        chat = program.start("chat", "-q", "And back?", "--resume", "s")
        line = told_of_waiting(chat)
        assert line.startswith("Waiting up to 5:00 min: “Which train?” had activity")
        assert f"(process {other.process.pid})" in line
        assert chat.poll() is None
        other.store("assistant", "At 6:12.")
        assert finish(chat).code == 0
    assert [text for _, text in said(configured, "s")[2:]] == [
        "Which train?", "At 6:12.", "And back?", "You said: And back?",
    ]  # fmt: skip


def test_a_failed_turn_of_ours_is_not_taken_for_one_of_theirs(
    program: Program, configured: Path, unanswered: str, server: ModelServer
) -> None:
    server.script(error(400, "No."))
    assert program.run("chat", "-q", "And back?", "--resume", "s").code == 1
    with foreign_program(Path(unanswered)):
        done = program.run("chat", "-q", "And back?", "--resume", "s")
    assert (done.code, done.err) == (0, "")


def test_its_end_is_enough(program: Program, configured: Path, unanswered: str) -> None:
    other = ForeignProgram(Path(unanswered))
    chat = program.start("chat", "-q", "And back?", "--resume", "s")
    told_of_waiting(chat)
    other.end()
    assert finish(chat).code == 0


def test_now_does_not_wait_and_says_what_is_going_on(
    program: Program, configured: Path, unanswered: str
) -> None:
    with foreign_program(Path(unanswered)):
        done = program.run("chat", "--now", "-q", "And back?", "--resume", "s")
    assert done.code == 0
    assert "may be answering here" in done.err


def test_now_waits_for_our_own_programs_all_the_same(
    program: Program, configured: Path, converse: Converse, held: HeldModel
) -> None:
    converse("s", "Hello?", "Yes.")
    first = program.start("chat", "-q", "One?", "--resume", "s")
    assert held.asked.wait(PATIENCE_S)
    second = program.start("chat", "--now", "-q", "Two?", "--resume", "s")
    lines = told_of_waiting(second) + told_of_waiting(second)
    assert f"Waiting for hermes-desktop chat (process {first.pid})" in lines
    held.may.set()
    assert (finish(first).code, finish(second).code) == (0, 0)


def test_ctrl_c_ends_that_wait_too(program: Program, configured: Path, unanswered: str) -> None:
    with foreign_program(Path(unanswered)):
        done = at_terminal(program, "chat", "-q", "And back?", "--resume", "s", interrupt_at="4:5")
    assert done.code == 5
    assert "5:00 left" in done.out, "the time is counted"
    assert ("user", "And back?") not in said(configured, "s")


def test_after_five_minutes_it_ends_with_a_code_of_its_own(
    program: Program, configured: Path, unanswered: str, server: ModelServer
) -> None:
    with foreign_program(Path(unanswered)):
        code = (
            "import sys; from hermes_desktop.services.sessions import foreign_wait;"
            "foreign_wait.PATIENCE_S = 0.0; "
            "from hermes_desktop.__main__ import main; sys.exit(main())"
        )
        done = subprocess.run(
            [program.start_arguments()[0], "-c", code, "chat", "-q", "Hi", "--resume", "s"],
            env=program.environment(), capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 7, done.stderr
    assert "Your message was not sent" in done.stderr
    assert "Your message was not stored." in done.stderr
    assert server.requests == []


def test_what_is_said_while_it_waits(capsys: pytest.CaptureFixture[str]) -> None:
    line = WaitStatusLine()
    turn = OpenTurn("Which train?", "hermes (process 12)", age_s=3.0)
    for left in (300.0, 299.0):
        line.foreign(turn, left)
    line.foreign(None, 0.0)
    assert capsys.readouterr().err == (
        "Waiting up to 5:00 min: “Which train?” had activity 3 s ago, and hermes"
        " (process 12) may still be answering. Press Ctrl-C to cancel; nothing is sent then."
        " Use --now to send immediately.\n"
    )
