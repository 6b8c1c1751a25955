"""What runs beside a live session, how its model answers, and the figures of the last days."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.thinking import chosen_of
from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.agent.tools.processes.process_table import ProcessTable, Wanted
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import ContextNews
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import NotConfiguredError
from hermes_desktop.tui_gateway import ending, live_sessions, server
from hermes_desktop.tui_gateway.background_methods import CUT_OFF, END_REASON, MOST_TASKS
from hermes_desktop.tui_gateway.session_record import note_context
from tests.fakes.prompts import prompts_beside
from tests.fakes.rpc_server import PATIENCE_S, ServerStage
from tests.fakes.tool_stage import ToolStage, call


@pytest.fixture
def table(stage: ServerStage, tmp_path: Path) -> Iterator[ProcessTable]:
    made = ProcessTable(SystemClock(), tmp_path / "processes")
    program = stage.program()
    server.configure(replace(program, facts=replace(program.facts, processes=made)))
    yield made
    made.close()


def test_a_prompt_is_answered_beside_its_session(stage: ServerStage) -> None:
    sid, session = stage.begin()
    stage.say(sid, "Hello")
    task = stage.call("prompt.background", session_id=sid, text="Research tea")["task_id"]
    told = stage.peer.wait_for("background.complete")
    assert (told["task_id"], told["text"], told["error"]) == (task, "reply 2", False)
    for _ in range(200):
        row = stage.db.get_session(told["session_id"])
        if row is not None and row["end_reason"]:
            break
        threading.Event().wait(0.02)
    assert row is not None
    assert (row["source"], row["end_reason"]) == ("tui", END_REASON)
    assert row["title"].startswith("Background: Research tea")
    assert stage.model.texts() == ["user: Research tea"]
    assert [m["content"] for m in session["history"]] == ["Hello", "reply 1"]
    assert stage.call("agents.list", session_id=sid) == {"tasks": [], "processes": []}


def test_tasks_are_listed_ended_and_limited(stage: ServerStage) -> None:
    stage.model.hold.clear()
    sid, _ = stage.begin()
    names = [
        stage.call("prompt.background", session_id=sid, text=f"task {number}")["task_id"]
        for number in range(MOST_TASKS)
    ]
    assert stage.code("prompt.background", session_id=sid, text="one more") == 4009
    listed = stage.call("agents.list")["tasks"]
    assert [each["task_id"] for each in listed] == names
    told = stage.call("slash.exec", session_id=sid, command=f"/agents stop {names[0]}")
    assert told["output"] == f"Stopped: background task {names[0]}."
    assert names[1] in stage.call("slash.exec", session_id=sid, command="/tasks")["output"]
    told = stage.call("slash.exec", session_id=sid, command="/stop background")["output"]
    assert told == "3 background tasks stopped."
    stage.model.hold.set()
    assert stage.call("agents.list")["tasks"] == []
    assert stage.peer.payloads("background.complete") == []


def test_a_task_that_never_ends_is_told_to_be_cut_off_when_its_session_is_closed(
    stage: ServerStage,
) -> None:
    stage.model.hold.clear()
    stage.model.asked.clear()
    sid, _ = stage.begin()
    task = stage.call("prompt.background", session_id=sid, text="Research tea")["task_id"]
    assert stage.model.asked.wait(PATIENCE_S)
    began = time.monotonic()
    stage.call("session.close", session_id=sid)
    assert time.monotonic() - began < 10
    (told,) = stage.peer.payloads("background.complete")
    assert (told["task_id"], told["text"], told["error"]) == (task, CUT_OFF, True)
    stage.model.hold.set()
    row = stage.db.get_session(told["session_id"])
    assert row is not None
    assert row["end_reason"] == END_REASON


def test_without_a_model_nothing_is_begun(stage: ServerStage) -> None:
    sid, session = stage.begin()
    stage.trouble = NotConfiguredError("No model is set.")
    assert stage.code("prompt.background", session_id=sid, text="x") == 5032
    assert session["background"] == {}
    assert stage.code("prompt.background", session_id=sid) != 0


def test_processes_are_listed_and_ended(stage: ServerStage, table: ProcessTable) -> None:
    sid, session = stage.begin()
    key = session["session_key"]
    environ = {"PATH": "/usr/bin:/bin"}

    def start(command: str) -> str:
        argv = ("bash", "-c", command)
        return table.start(Wanted(key, key, argv, command, environ, stage.home)).id

    first, second = start("echo hi; sleep 60"), start("sleep 60")
    ended = start("exit 3")
    assert table.wait(ended, PATIENCE_S)
    listed = stage.call("process.list", session_id=sid)["processes"]
    assert [(each["session_id"], each["status"]) for each in listed] == [
        (first, "running"),
        (second, "running"),
        (ended, "exited"),
    ]
    assert listed[2]["exit_code"] == 3
    assert stage.call("process.kill", process_id=first)["killed"] is True
    assert stage.code("process.kill", process_id="proc_x") == 4004
    assert stage.call("process.stop", session_id=sid) == {"killed": 1}
    assert stage.call("process.stop") == {"killed": 0}
    assert (
        "No work is running"
        in stage.call("slash.exec", session_id=sid, command="/agents")["output"]
    )


def test_a_session_hears_of_the_end_of_what_it_left_running(
    stage: ServerStage, table: ProcessTable
) -> None:
    sid, session = stage.begin()
    stage.say(sid, "Hello")
    key = session["session_key"]
    argv, environ = ("bash", "-c", "echo built"), {"PATH": "/usr/bin:/bin"}
    table.start(Wanted(key, key, argv, "make", environ, stage.home, notify=True))
    stage.peer.wait_for("message.complete", 2)
    assert session["_turn_over"].wait(PATIENCE_S)
    told = str(stage.db.get_messages(key)[2]["content"])
    assert "not the user" in told
    assert "Command: make" in told
    assert "built" in told
    stage.model.hold.clear()
    stage.model.asked.clear()
    stage.call("prompt.submit", session_id=sid, text="Long")
    assert stage.model.asked.wait(PATIENCE_S)
    busy = table.start(Wanted(key, key, argv, "make", environ, stage.home, notify=True))
    assert table.wait(busy.id, PATIENCE_S)
    stage.model.hold.set()
    stage.peer.wait_for("message.complete", 4)


@pytest.mark.parametrize("has_agent", [True, False], ids=["with an agent", "only opened"])
def test_what_runs_beside_goes_where_its_session_goes_on(
    stage: ServerStage, table: ProcessTable, *, has_agent: bool
) -> None:
    queue = RequestQueue(SystemClock())
    server.configure(replace(server.SERVER.program, requests=queue))
    sid, session = stage.begin()
    stage.say(sid, "Hello")
    old, environ = session["session_key"], {"PATH": "/usr/bin:/bin"}
    queue.set_free(old, free=True)
    stage.places.taken["ours"] = session["active_session_lease"] = "ours"
    argv = ("bash", "-c", "read line; echo built")
    started = table.start(Wanted(old, old, argv, "make", environ, stage.home, notify=True))

    stage.db.end_session(old, "compression")
    stage.db.create_session("next", "tui", parent_session_id=old)
    if has_agent:
        session["agent"].session_id = "next"
        server._sync_session_key_after_compress(sid, session)
    else:
        session["agent"] = None
        ending.follow_to(server.SERVER, session, "next")

    assert session["session_key"] == "next"
    assert stage.places.taken["ours"] == "next"
    assert queue.is_free("next")
    listed = stage.call("process.list", session_id=sid)["processes"]
    assert [each["session_id"] for each in listed] == [started.id]
    assert len(stage.call("agents.list", session_id=sid)["processes"]) == 1
    assert "make" in stage.call("slash.exec", session_id=sid, command="/agents")["output"]
    # What still has the old key, such as a task beside it, is no stranger.
    late = table.start(Wanted(old, old, ("sleep", "60"), "late", environ, stage.home))
    assert late.session_key == "next"
    assert live_sessions.with_key(server.SERVER.state, old) == (sid, session)
    assert table.kill(late.id)
    assert table.write(started.id, "go\n", close=True)
    stage.peer.wait_for("message.complete", 2)
    assert session["_turn_over"].wait(PATIENCE_S)
    assert "built" in str(stage.db.get_messages("next")[0]["content"])


def test_a_session_that_was_shortened_has_used_what_all_its_parts_have(stage: ServerStage) -> None:
    sid, session = stage.begin()
    stage.say(sid, "Hello")
    first = session["session_key"]
    before = stage.call("session.usage", session_id=sid)
    assert before["cost_usd"] is None
    stage.db.update_token_counts(
        first, 10, 1, model="dear", api_call_count=1, actual_cost_usd=0.5, cost_status="actual"
    )
    stage.db.end_session(first, "compression")
    stage.db.create_session("next", "tui", parent_session_id=first)
    stage.db.update_token_counts("next", 5, 1, model="free", api_call_count=1)
    session["agent"].session_id = "next"
    server._sync_session_key_after_compress(sid, session)
    told = stage.call("session.usage", session_id=sid)
    assert told["input"] == before["input"] + 15
    assert told["calls"] == before["calls"] + 2
    assert (told["cost_usd"], told["cost_partial"], told["cost_estimated"]) == (0.5, True, False)


def test_how_full_a_session_is_stands_beside_what_it_used(stage: ServerStage) -> None:
    sid, session = stage.begin()
    told = stage.call("session.usage", session_id=sid)
    assert told["compressions"] == 0
    assert "context_used" not in told
    note_context(session, ContextNews(900, 3_000, 2_000))
    stage.say(sid, "Hello")
    told = stage.peer.payloads("message.complete")[-1]["usage"]
    assert (told["context_used"], told["context_max"], told["context_percent"]) == (900, 3_000, 30)
    note_context(session, ContextNews(50, about=True))
    told = stage.call("session.usage", session_id=sid)
    assert (told["context_used"], told["compressions"]) == (50, 1)
    assert "context_max" not in told
    stage.call("slash.exec", session_id=sid, command="/new")
    assert "context_used" not in stage.call("session.usage", session_id=sid)


def test_figures_of_the_last_days(stage: ServerStage) -> None:
    sid, _ = stage.begin()
    stage.say(sid, "Hello")
    told = stage.call("insights.get", days=7)
    assert (told["days"], told["sessions"], told["messages"]) == (7, 1, 2)
    assert (told["cost_usd"], told["unpriced_sessions"]) == (None, 1)
    assert stage.code("insights.get", days=0) == 4004
    assert stage.code("insights.get", days=99_999) == 4004
    assert "1 session" in stage.call("slash.exec", session_id=sid, command="/insights")["output"]


def test_how_a_model_thinks_is_chosen_and_kept(stage: ServerStage) -> None:
    wishes: list[Any] = []

    def make(wish: Any) -> Any:
        wishes.append(wish)
        return stage.plain_agent(wish)

    stage.make_agent = make
    sid, session = stage.begin(reasoning_effort="low", fast=True)
    assert session["ignored"] == ["fast"]
    assert stage.call("config.get", session_id=sid, key="reasoning")["value"] == "low"
    stage.say(sid, "Hello")
    row = stage.db.get_session(session["session_key"])
    assert row is not None
    assert chosen_of(json.loads(row["model_config"])) == {"reasoning_effort": "low"}
    told = stage.call("config.set", session_id=sid, key="reasoning", value="high")
    assert told == {"key": "reasoning", "value": "high", "scope": "session"}
    stage.call("config.set", session_id=sid, key="model", value="other")
    stage.say(sid, "And now?")
    assert dict(wishes[-1].model_override) == {"model": "other", "reasoning_effort": "high"}
    assert stage.code("config.set", session_id=sid, key="reasoning", value="silly") == 4004
    assert stage.code("config.set", session_id=sid, key="fast", value="fast") == 4004
    assert stage.call("config.get", key="fast") == {"value": "normal"}
    stage.call("config.set", session_id=sid, key="reasoning", value="show")
    assert stage.call("config.get", session_id=sid, key="reasoning")["display"] == "show"
    key = session["session_key"]
    stage.call("session.close", session_id=sid)
    sid = stage.call("session.resume", session_id=key)["session_id"]
    stage.say(sid, "Again")
    assert dict(wishes[-1].model_override)["reasoning_effort"] == "high"
    told = stage.call("slash.exec", session_id=sid, command="/reasoning default")["output"]
    assert "the settings decide" in told
    stage.say(sid, "And now?")
    assert "reasoning_effort" not in wishes[-1].model_override


def test_another_session_thinks_as_was_chosen_for_it(stage: ServerStage) -> None:
    wishes: list[Any] = []

    def make(wish: Any) -> Any:
        wishes.append(wish)
        return stage.plain_agent(wish)

    stage.make_agent = make
    sid, session = stage.begin()
    stage.say(sid, "Think well")
    stage.call("slash.exec", session_id=sid, command="/reasoning high")
    info = stage.peer.payloads("session.info")[-1]
    assert (info["reasoning_effort"], info["fast"], info["yolo"]) == ("high", False, False)
    key = session["session_key"]
    stage.call("session.close", session_id=sid)
    sid, session = stage.begin()
    stage.say(sid, "Hello")
    assert "reasoning_effort" not in wishes[-1].model_override
    stage.call("slash.exec", session_id=sid, command=f"/resume {key}")
    assert session["session_key"] == key
    stage.say(sid, "And now?")
    assert dict(wishes[-1].model_override) == {"reasoning_effort": "high"}
    assert stage.peer.payloads("session.info")[-1]["reasoning_effort"] == "high"


def test_what_a_turn_was_not_told_is_the_next_prompt(stage: ServerStage, tmp_path: Path) -> None:
    tools = ToolStage(tmp_path / "tools")

    def make(wish: Any) -> AIAgent:
        return AIAgent(
            provider=stage.model,
            store=stage.db,
            prompts=prompts_beside(stage.db),
            session_id=wish.session_id,
            source=wish.source,
            clock=stage.clock,
            tools=tools.tools(),
        )

    try:
        stage.make_agent = make
        stage.model.calls.append((call("todo"),))
        stage.model.hold.clear()
        sid, session = stage.begin()
        stage.call("prompt.submit", session_id=sid, text="Long")
        assert stage.model.asked.wait(PATIENCE_S)
        assert stage.call("session.steer", session_id=sid, text="rather tea")["status"] == "steered"

        def late(_request: Any) -> None:
            if len(stage.model.requests) == 2:
                stage.call("session.steer", session_id=sid, text="too late")

        stage.model.on_ask = late
        stage.model.hold.set()
        stage.peer.wait_for("message.complete", 2)
        assert session["_turn_over"].wait(PATIENCE_S)
        rows = stage.db.get_messages(session["session_key"])
        said = [row["content"] for row in rows if row["role"] == "user"]
        assert said == ["Long", "too late"]
        assert "rather tea" in next(row["content"] for row in rows if row["role"] == "tool")
    finally:
        tools.close()


def test_the_catalogue_names_them(stage: ServerStage) -> None:
    names = stage.call("commands.catalog")["canon"]
    for name in ("steer", "bg", "btw", "tasks", "reasoning", "fast", "memory", "insights"):
        assert f"/{name}" in names
