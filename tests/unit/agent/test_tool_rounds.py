"""The loop: ask, do, tell, until the last word; every row as the shared file wants it."""

import itertools
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.agent.turns.tool_rounds import MOST_SENSELESS, NO_SENSE, SUM_UP, ToolTurn
from hermes_desktop.agent.turns.wire_messages import wire_messages
from hermes_desktop.agent.types import ChatRequest, ToolCall, ToolProgress
from hermes_desktop.state import SessionDB
from tests.fakes.tool_stage import SID, ToolStage, call


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ToolStage]:
    made = ToolStage(tmp_path)
    yield made
    made.close()


def test_a_call_its_result_and_the_last_word(stage: ToolStage) -> None:
    (stage.cwd / "a.txt").write_text("one\ntwo\n")
    stage.model.calls = [(call("read_file", path="a.txt"),)]
    stage.model.pieces = [["Let me look."], ["There are two lines."]]
    pieces: list[str] = []
    news: list[ToolProgress] = []
    stored: list[int] = []
    result = stage.agent().run_conversation(
        "How many lines?",
        stream_callback=pieces.append,
        tool_callback=news.append,
        persisted_callback=stored.append,
    )
    assert result["final_response"] == "There are two lines."
    assert result["completed"]
    assert result["api_calls"] == 2
    assert "".join(pieces) == "Let me look.\n\nThere are two lines."
    rows = stage.db.get_messages(SID)
    assert [(r["role"], r["finish_reason"]) for r in rows] == [
        ("user", None), ("assistant", "tool_calls"), ("tool", None), ("assistant", "stop"),
    ]  # fmt: skip
    assert [r["id"] for r in rows] == stored == result["written_message_ids"]
    assert rows[1]["tool_calls"] == [
        {
            "id": "c1",
            "type": "function",
            "function": {"name": "read_file", "arguments": '{"path": "a.txt"}'},
        }
    ]
    assert (rows[2]["tool_call_id"], rows[2]["tool_name"]) == ("c1", "read_file")
    assert json.loads(rows[2]["content"]) == {"content": "1|one\n2|two", "total_lines": 2}
    session = stage.db.get_session(SID)
    assert session is not None
    assert (session["message_count"], session["tool_call_count"]) == (4, 1)
    assert [(n.name, n.subject, n.ok) for n in news] == [
        ("read_file", "a.txt", None),
        ("read_file", "a.txt", True),
    ]


def test_the_history_replays_to_the_same_bytes(stage: ToolStage) -> None:
    calls = (call("todo", "x", todos=[{"content": "ä"}]), ToolCall("y", "nothing", "{broken"))
    stage.model.calls = [calls, (call("search_files", "z", pattern="x"),)]
    stage.model.pieces = [[" Text with blanks \n"], [], ["Done."]]
    agent = stage.agent()
    agent.run_conversation("First")
    agent.run_conversation("Second")
    last = stage.model.requests[-1]
    prompt = str(last.messages[0]["content"])
    history = stage.db.get_messages_as_conversation(SID)[:-1]
    assert wire_messages(prompt, history) == last.messages
    for shorter, longer in itertools.pairwise(stage.model.requests):
        assert longer.messages[: len(shorter.messages)] == shorter.messages
        assert longer.tools == shorter.tools
    fresh = SessionDB(stage.home / "state.db")
    assert fresh.get_messages_as_conversation(SID)[:-1] == history
    fresh.close()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (ToolCall("c1", "no_such_tool", "{}"), "There is no tool"),
        (ToolCall("c1", "read_file", '{"path": '), "not valid JSON"),
        (ToolCall("c1", "read_file", "[]"), "must be a JSON object"),
        (ToolCall("c1", "read_file", "{}"), "Missing: path"),
        (ToolCall("c1", "read_file", '{"path": 3}'), "must be of type string"),
        (ToolCall("c1", "read_file", '{"path": "a", "limit": true}'), "must be of type integer"),
        (ToolCall("c1", "read_file", '{"path": "a", "limit": 0}'), "at least 1"),
        (ToolCall("c1", "read_file", '{"path": "a\\u0000"}'), "NUL"),
        (ToolCall("c1", "read_file", '{"path": "a", "mode": 1}'), "Unknown: mode"),
        (ToolCall("c1", "search_files", '{"pattern": "a", "target": "x"}'), "one of content"),
        (ToolCall("c1", "", ""), "There is no tool"),
    ],
)
def test_calls_that_make_no_sense_are_answered(
    stage: ToolStage, wrong: ToolCall, words: str
) -> None:
    assert words in stage.result(wrong)[0]["error"]
    assert stage.db.get_messages(SID)[-1]["content"] == "reply 2"


def test_neighbours_that_change_nothing_run_at_once(stage: ToolStage) -> None:
    for name in "ab":
        (stage.cwd / name).write_text(name)
    calls = [
        call("read_file", "1", path="a"),
        call("write_file", "2", path="a", content="new"),
        call("read_file", "3", path="a"),
        call("read_file", "4", path="b"),
    ]
    results = stage.result(*calls)
    assert [each.get("content") for each in results] == ["1|a", None, "1|new", "1|b"]


def test_at_the_limit_it_sums_up(stage: ToolStage) -> None:
    stage.model.calls = [(call("todo", str(n)),) for n in range(20)]
    result = stage.agent(max_turns=3).run_conversation("Go on for ever")
    assert result["api_calls"] == 4
    assert result["completed"]
    last = stage.model.requests[-1]
    assert last.tools == ()
    assert last.messages[-1] == {"role": "user", "content": SUM_UP}
    assert not any(row["content"] == SUM_UP for row in stage.db.get_messages(SID))


def test_senseless_calls_come_to_an_end(stage: ToolStage) -> None:
    wrong = [(ToolCall(str(n), "no_such_tool", "{}"),) for n in range(30)]
    stage.model.calls = [*wrong[:4], (call("todo"), wrong[4][0]), *wrong[5:]]
    result = stage.agent().run_conversation("Do it")
    assert result["completed"]
    assert result["api_calls"] == 5 + MOST_SENSELESS + 1  # a call that makes sense begins anew
    last = stage.model.requests[-1]
    assert last.tools == ()
    assert last.messages[-1] == {"role": "user", "content": NO_SENSE}
    assert not any(row["content"] == NO_SENSE for row in stage.db.get_messages(SID))


def test_an_answer_that_was_cut_off_does_nothing(stage: ToolStage) -> None:
    agent = stage.agent()
    results = agent._tools.run(  # type: ignore[union-attr]
        [call("write_file", path="a", content="half")],
        _turn(cut_off=True),
    )
    assert "cut off" in results[0].content
    assert not (stage.cwd / "a").exists()


def _turn(*, cut_off: bool = False) -> ToolTurn:

    return ToolTurn(SID, "t", threading.Event(), None, cut_off)


def test_an_interrupt_ends_it_and_every_call_is_answered(stage: ToolStage) -> None:
    agent = stage.agent()
    stage.model.calls = [
        (call("terminal", "1", command="sleep 30"), call("terminal", "2", command="echo x"))
    ]
    began = threading.Event()
    stopped_at: list[float] = []

    def listen(news: ToolProgress) -> None:
        if news.ok is None:
            began.set()

    def stop() -> None:
        assert began.wait(60)
        time.sleep(0.3)  # the shell has started its program by now, or will not
        stopped_at.append(time.monotonic())
        agent.interrupt()

    stopper = threading.Thread(target=stop)
    stopper.start()
    result = agent.run_conversation("Wait", tool_callback=listen)
    stopper.join()
    assert result["interrupted"]
    assert not result["completed"]
    rows = stage.db.get_messages(SID)
    assert [row["role"] for row in rows] == ["user", "assistant", "tool", "tool"]
    assert "stopped" in rows[2]["content"]
    assert len(stage.model.requests) == 1


def test_a_session_that_is_deleted_meanwhile_ends_the_turn(stage: ToolStage) -> None:
    stage.model.calls = [(call("todo"),)]

    def delete(_request: ChatRequest) -> None:
        stage.db.delete_sessions([SID])

    stage.model.on_ask = delete
    result = stage.agent().run_conversation("Hello")
    assert result["failed"]
    assert result["error_kind"] == "session_gone"


def test_without_tools_nothing_is_offered(stage: ToolStage) -> None:
    stage.config["agent"] = {"disabled_toolsets": ["file", "terminal"]}
    names = {each["function"]["name"] for each in stage.tools().definitions()}
    assert names == {"session_search", "web_fetch", "todo", "memory", "clarify"}
    elsewhere = {each["function"]["name"] for each in stage.tools("telegram").definitions()}
    assert elsewhere == {"web_fetch", "todo", "clarify"}
    stage.config["platform_toolsets"] = {"telegram": ["memory", "hermes-telegram"]}
    named = {each["function"]["name"] for each in stage.tools("telegram").definitions()}
    assert named == {"memory"}
