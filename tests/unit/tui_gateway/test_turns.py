"""One prompt after the other: stored, answered, told, whatever happens in between."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from hermes_desktop import plugins
from hermes_desktop.core.errors import NotConfiguredError, ProviderError, StateError
from hermes_desktop.tui_gateway import server
from hermes_desktop.tui_gateway.methods.prompt_methods import MOST_QUEUED
from tests.fakes.rpc_server import PATIENCE_S, FailingDB, ServerStage

HOOKS = ("on_session_start", "on_session_end", "on_session_finalize", "on_session_reset")


def said(db: FailingDB, key: str) -> list[str]:
    return [str(row["content"]) for row in db.get_messages(key)]


def test_hooks_are_told_in_order_and_with_what_they_carry(stage: ServerStage) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []
    undo = [
        plugins.register_hook(name, lambda _name=name, **kwargs: heard.append((_name, kwargs)))
        for name in HOOKS
    ]
    try:
        sid, session = stage.begin()
        key = session["session_key"]
        stage.say(sid, "One")
        stage.say(sid, "Two")
        stage.call("session.close", session_id=sid)
    finally:
        for take_back in undo:
            take_back()

    assert [name for name, _ in heard] == [
        "on_session_reset",
        "on_session_start",
        "on_session_end",
        "on_session_end",
        "on_session_end",
        "on_session_finalize",
    ]
    assert heard[0][1] == heard[-1][1] == {"session_id": key, "platform": "tui"}
    assert heard[1][1] == {"session_id": key, "model": "scripted", "platform": "tui"}
    assert [kwargs["completed"] for name, kwargs in heard if name == "on_session_end"] == [
        True,
        True,
        False,
    ]


def test_a_hook_that_raises_hurts_nobody(stage: ServerStage) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("on purpose")

    undo = [plugins.register_hook(name, broken) for name in HOOKS]
    try:
        sid, _ = stage.begin()
        assert stage.say(sid, "Hi")["status"] == "complete"
        assert stage.call("session.close", session_id=sid)["closed"]
    finally:
        for take_back in undo:
            take_back()


def test_a_wish_to_stop_that_comes_early_loses_no_message(stage: ServerStage) -> None:
    """Between taking a prompt and storing it there is a moment; the prompt is stored first."""
    sid, session = stage.begin()
    build = stage.plain_agent

    def interrupted_while_made(wish: Any) -> Any:
        stage.call("session.interrupt", session_id=sid)
        return build(wish)

    stage.make_agent = interrupted_while_made

    assert stage.say(sid, "Keep this")["status"] == "interrupted"
    assert said(stage.db, session["session_key"]) == ["Keep this"]


def test_messages_that_interrupt_become_one(stage: ServerStage) -> None:
    stage.model.hold.clear()
    sid, session = stage.begin()
    stage.call("prompt.submit", session_id=sid, text="One")
    assert stage.model.asked.wait(PATIENCE_S)
    with session["history_lock"]:  # so that nothing is taken out of the queue meanwhile
        session["queued_prompt"].append("Two")
    stage.call("prompt.submit", session_id=sid, text="Three")
    stage.model.hold.set()

    stage.peer.wait_for("message.complete", 2)

    assert session["_turn_over"].wait(PATIENCE_S)
    assert said(stage.db, session["session_key"])[0] == "One"
    assert "Two\n\nThree" in said(stage.db, session["session_key"])


def test_a_queue_has_an_end(stage: ServerStage) -> None:
    stage.settings.mode = "queue"
    stage.model.hold.clear()
    sid, _ = stage.begin()
    stage.call("prompt.submit", session_id=sid, text="One")
    assert stage.model.asked.wait(PATIENCE_S)
    for number in range(MOST_QUEUED):
        answer = stage.call("prompt.submit", session_id=sid, text=f"{number}")
        assert answer == {"status": "queued", "waiting": number + 1}

    assert stage.code("prompt.submit", session_id=sid, text="Too many") == 4009
    assert stage.code("prompt.submit", session_id=sid, text="x", truncate_before_user_ordinal=0)
    dropped = stage.call("session.interrupt", session_id=sid)["dropped"]
    assert dropped == [str(number) for number in range(MOST_QUEUED)]


def test_an_agent_that_can_be_steered_is(stage: ServerStage) -> None:
    hints: list[str] = []

    def steerable(wish: Any) -> Any:
        agent: Any = stage.plain_agent(wish)
        agent.steer = lambda text: not hints.append(text)
        return agent

    stage.make_agent = steerable
    stage.settings.mode = "steer"
    stage.model.hold.clear()
    sid, _ = stage.begin()
    assert stage.code("session.steer", session_id=sid, text="No work is running") == 4009
    stage.call("prompt.submit", session_id=sid, text="One")
    assert stage.model.asked.wait(PATIENCE_S)

    assert stage.call("session.steer", session_id=sid, text="Left")["status"] == "steered"
    assert stage.call("prompt.submit", session_id=sid, text="Right")["status"] == "steered"

    assert hints == ["Left", "Right"]


def test_what_must_not_be_cut_in_two_is_awaited(stage: ServerStage) -> None:
    stage.model.hold.clear()
    sid, session = stage.begin()
    key = session["session_key"]
    stage.call("prompt.submit", session_id=sid, text="One")
    assert stage.model.asked.wait(PATIENCE_S)
    assert stage.db.try_acquire_compression_lock(key, "somebody who shortens it")

    assert stage.call("prompt.submit", session_id=sid, text="Two")["status"] == "queued"

    assert not session["_turn_cancel_requested"]
    stage.db.release_compression_lock(key, "somebody who shortens it")
    stage.model.hold.set()
    assert stage.peer.wait_for("message.complete", 2)["status"] == "complete"
    assert stage.peer.payloads("message.complete")[0]["status"] == "complete"


def test_tools_are_told(stage: ServerStage) -> None:
    def with_tools(wish: Any) -> Any:
        agent: Any = stage.plain_agent(wish)
        plain = agent.run_conversation

        def run(*args: Any, tool_callback: Any, **kwargs: Any) -> Any:
            told = {"call_id": "c1", "name": "read_file", "subject": "notes.txt"}
            tool_callback(SimpleNamespace(**told, ok=None, seconds=0.0))
            tool_callback(SimpleNamespace(**told, ok=True, seconds=0.25))
            return plain(*args, **kwargs)

        agent.run_conversation = run
        return agent

    stage.make_agent = with_tools
    sid, _ = stage.begin()
    stage.say(sid, "Read it")

    assert stage.peer.payloads("tool.start") == [
        {"tool_id": "c1", "name": "read_file", "context": "notes.txt"}
    ]
    assert stage.peer.payloads("tool.complete")[0]["duration_s"] == 0.25


def test_a_model_that_fails_is_told_and_the_prompt_is_kept(stage: ServerStage) -> None:
    stage.model.failure = ProviderError("It is down.", "No answer.", "Wait.")
    sid, session = stage.begin()

    complete = stage.say(sid, "Hi")

    assert complete["status"] == "error"
    assert complete["hint"] == "Wait."
    assert said(stage.db, session["session_key"]) == ["Hi"]
    stage.model.failure = None
    assert stage.say(sid, "Again")["status"] == "complete"
    told = [each["content"] for each in stage.model.requests[-1].messages if each["role"] == "user"]
    assert "\n".join(told).split() == ["Hi", "Again"]


def test_a_store_that_fails_is_told_and_the_session_goes_on(stage: ServerStage) -> None:
    sid, _ = stage.begin()
    stage.db.failing = frozenset({"append_message"})

    complete = stage.say(sid, "Hi")

    assert complete == {"text": "", "usage": {}, "status": "error"}
    assert "append_message failed" in stage.peer.payloads("error")[0]["message"]
    stage.db.failing = frozenset()
    assert stage.say(sid, "Again")["status"] == "complete"


def test_a_crash_is_told_and_the_session_goes_on(stage: ServerStage) -> None:
    def crashing(wish: Any) -> Any:
        agent: Any = stage.plain_agent(wish)

        def crash(*_: object, **__: object) -> None:
            raise RuntimeError("on purpose")

        agent.run_conversation = crash
        return agent

    stage.make_agent = crashing
    sid, _ = stage.begin()

    assert stage.say(sid, "Hi")["status"] == "error"

    assert "RuntimeError" in stage.peer.payloads("error")[0]["message"]
    stage.make_agent = None
    stage.settings.fingerprint = "2"
    assert stage.say(sid, "Again")["status"] == "complete"


def test_without_an_agent_nothing_is_begun(stage: ServerStage) -> None:
    stage.trouble = NotConfiguredError("No model is set.", "", "Set one.")
    sid, session = stage.begin()

    answer = stage.request("prompt.submit", session_id=sid, text="Hi")

    assert answer["error"]["code"] == 5032
    assert answer["error"]["data"]["hint"] == "Set one."
    assert stage.db.get_session(session["session_key"]) is None
    assert session["running"] is False
    stage.trouble = None
    assert stage.say(sid, "Hi")["status"] == "complete"


def test_an_agent_that_takes_for_ever_to_make_is_not_awaited(stage: ServerStage) -> None:
    from hermes_desktop.tui_gateway.agents import ensure_agent
    from hermes_desktop.tui_gateway.protocol import RpcError

    may_go_on = threading.Event()

    def slow(wish: Any) -> Any:
        may_go_on.wait(PATIENCE_S)
        return stage.plain_agent(wish)

    stage.make_agent = slow
    _, session = stage.begin()

    with pytest.raises(RpcError) as caught:
        ensure_agent(server.SERVER, session, limit_s=0.01)

    assert caught.value.code == 5032
    may_go_on.set()
    ensure_agent(server.SERVER, session)
    assert session["agent"] is not None


def test_places_are_counted(stage: ServerStage) -> None:
    stage.settings.limit = 1
    first, _ = stage.begin()
    second, _ = stage.begin()
    stage.say(first, "Hi")
    stage.say(first, "Again")

    assert stage.code("prompt.submit", session_id=second, text="Hi") == 4090

    stage.call("session.close", session_id=first)
    assert stage.places.taken == {}
    stage.say(second, "Now")
    assert list(stage.places.taken.values()) == [server._sessions[second]["session_key"]]


def test_what_was_typed_meanwhile_keeps_the_history_of_the_turn_out(stage: ServerStage) -> None:
    sid, session = stage.begin()
    stage.say(sid, "One")

    def meddle(_: object) -> None:
        with session["history_lock"]:
            session["history_version"] += 1

    stage.model.on_ask = meddle
    stage.say(sid, "Two")
    stage.model.on_ask = lambda _: None

    assert stage.say(sid, "Three")["status"] == "complete"
    told = [each["content"] for each in stage.model.requests[-1].messages if each["role"] == "user"]
    assert told == ["One", "Two", "Three"]


def test_a_store_that_cannot_be_asked_stops_nothing_for_good(stage: ServerStage) -> None:
    sid, _ = stage.begin()
    stage.say(sid, "One")
    stage.db.failing = frozenset({"session_mark"})

    assert stage.say(sid, "Two")["status"] == "error"

    stage.db.failing = frozenset()
    assert stage.say(sid, "Three")["status"] == "complete"


def test_the_error_of_a_crashed_request_has_a_code(
    stage: ServerStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hermes_desktop.tui_gateway.methods import methods

    def crash(_: object) -> dict[str, Any]:
        raise RuntimeError("on purpose")

    monkeypatch.setitem(methods.METHODS, "session.list", crash)  # type: ignore[arg-type]

    assert stage.code("session.list") == -32000


def test_failures_of_the_store_have_the_codes_of_what_failed(stage: ServerStage) -> None:
    sid, session = stage.begin()
    stage.say(sid, "Hi")
    key = session["session_key"]
    for failing, code, method, params in [
        ("list_summaries", 5006, "session.list", {}),
        ("set_session_title", 5007, "session.title", {"session_id": sid, "title": "x"}),
        ("create_branch", 5008, "session.branch", {"session_id": sid}),
        ("get_session", 5011, "session.save", {"session_id": sid}),
        ("get_session_title", 5036, "session.active_list", {}),
        ("get_session", 5000, "session.usage", {"session_id": sid}),
        ("get_messages", 5000, "session.undo", {"session_id": sid}),
    ]:
        stage.db.failing = frozenset({failing})
        assert stage.code(method, **params) == code, method
        stage.db.failing = frozenset()
    assert stage.db.get_session(key) is not None
    assert isinstance(StateError("x"), Exception)


def test_notes_are_told(stage: ServerStage) -> None:
    def with_note(wish: Any) -> Any:
        agent: Any = stage.plain_agent(wish)
        plain = agent.run_conversation

        def run(*args: Any, tool_callback: Any, **kwargs: Any) -> Any:
            tool_callback(SimpleNamespace(text="Trying again at 14:02.", lasting=False))
            tool_callback(SimpleNamespace(text="Another model answers.", lasting=True))
            return plain(*args, **kwargs)

        agent.run_conversation = run
        return agent

    stage.make_agent = with_note
    sid, _ = stage.begin()
    stage.say(sid, "Hello")

    assert stage.peer.payloads("status.update") == [
        {"kind": "status", "text": "Trying again at 14:02."},
        {"kind": "warning", "text": "Another model answers."},
    ]
