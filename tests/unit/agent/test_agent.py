"""The agent on a real store; only the model is scripted."""

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_desktop.agent.turns.agent import INTERRUPTED, AIAgent
from hermes_desktop.agent.types import AgentResult
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import (
    BrokenStreamError,
    CannotReachError,
    StateReadOnlyError,
    UsageError,
)
from hermes_desktop.core.session_context import get_session_env
from hermes_desktop.state import SessionDB
from tests.fakes.agents import ScriptedModel
from tests.fakes.prompts import prompts_beside

SID = "20260304_120000_abcdef"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    store = SessionDB(tmp_path / "state.db")
    yield store
    store.close()


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


def agent_on(db: SessionDB, model: Any, **options: Any) -> AIAgent:
    return AIAgent(
        provider=model,
        store=db,
        prompts=prompts_beside(db),
        session_id=SID,
        source="desktop",
        clock=SystemClock(),
        **options,
    )


def rows(db: SessionDB) -> list[tuple[str, str, str | None]]:
    return [(row["role"], row["content"], row["finish_reason"]) for row in db.get_messages(SID)]


def told(db: SessionDB) -> list[tuple[str, str]]:
    return [(each["role"], each["content"]) for each in db.get_messages_as_conversation(SID)]


def in_memory(result: AgentResult) -> list[tuple[str, str]]:
    return [(each["role"], each["content"]) for each in result["messages"]]


def row_of(db: SessionDB) -> dict[str, Any]:
    row = db.get_session(SID)
    assert row is not None
    return row


# ------------------------------------------------------------------------------------ a good turn


def test_a_first_turn(db: SessionDB, model: ScriptedModel, tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("You are Otto.")
    agent = agent_on(
        db, model, soul_path=tmp_path / "SOUL.md", session_fields={"profile_name": "work"}
    )
    assert db.get_session(SID) is None
    model.thoughts = ["hm", "m"]
    pieces: list[str] = []
    thoughts: list[str] = []
    stored: list[int] = []
    result = agent.run_conversation(
        "Hello",
        "Be brief.",
        stream_callback=pieces.append,
        reasoning_callback=thoughts.append,
        persisted_callback=stored.append,
    )
    assert pieces == ["reply ", "1"]
    assert thoughts == ["hm", "m"]
    assert result["final_response"] == "reply 1"
    assert result["completed"]
    assert result["api_calls"] == 1
    assert not any(result[name] for name in ("failed", "interrupted", "partial"))  # type: ignore[literal-required]
    assert result["session_id"] == SID
    assert result["last_reasoning"] == "hmm"
    assert result["written_message_ids"] == stored
    assert len(stored) == 2
    assert rows(db) == [("user", "Hello", None), ("assistant", "reply 1", "stop")]
    assert db.get_messages(SID)[1]["reasoning"] == "hmm"
    row = row_of(db)
    assert (row["source"], row["model"], row["profile_name"]) == ("desktop", "scripted", "work")
    assert row["message_count"] == 2
    assert row["system_prompt"] is None
    prompt = prompts_beside(db).sent(SID)
    assert prompt is not None
    assert prompt.startswith("You are Otto.\n\nBe brief.")
    assert model.requests[0].messages[0] == {"role": "system", "content": prompt}
    assert agent.model == "scripted"
    assert agent._cached_system_prompt == prompt


def test_the_text_is_stored_before_the_model_is_asked(db: SessionDB, model: ScriptedModel) -> None:
    model.hold.clear()
    agent = agent_on(db, model)
    thread = threading.Thread(target=lambda: agent.run_conversation("Hello"))
    thread.start()
    assert model.asked.wait(60)
    assert rows(db) == [("user", "Hello", None)]
    model.hold.set()
    thread.join()
    assert len(rows(db)) == 2


def test_the_prompt_is_built_once(db: SessionDB, model: ScriptedModel, tmp_path: Path) -> None:
    soul = tmp_path / "SOUL.md"
    soul.write_text("First.")
    agent = agent_on(db, model, soul_path=soul)
    agent.run_conversation("a")
    prompt = prompts_beside(db).sent(SID)
    soul.write_text("Second.")
    agent.run_conversation("b", "ignored now")
    again = agent_on(db, model, soul_path=soul)
    again.run_conversation("c")
    assert prompts_beside(db).sent(SID) == prompt
    assert {request.messages[0]["content"] for request in model.requests} == {prompt}


def test_a_row_without_prompt_stays_without(db: SessionDB, model: ScriptedModel) -> None:
    db.create_session(SID, "cli")
    agent_on(db, model).run_conversation("a")
    row = row_of(db)
    assert row["source"] == "cli"
    assert row["system_prompt"] is None
    assert prompts_beside(db).sent(SID) == model.requests[0].messages[0]["content"]


def test_a_session_with_a_prompt_in_its_row_goes_on_with_it(
    db: SessionDB, model: ScriptedModel
) -> None:
    db.create_session(SID, "cli", system_prompt=" odd \n")
    agent = agent_on(db, model)
    agent.bind(SID, [])
    agent.run_conversation("a")
    assert model.requests[0].messages[0]["content"] == " odd \n"
    assert row_of(db)["system_prompt"] == " odd \n"
    # Once we have sent it, it stays, whatever another program stores.
    another = "UPDATE sessions SET system_prompt = 'quite another'"
    db._execute_write(lambda conn: conn.execute(another))
    agent_on(db, model).run_conversation("b")
    assert model.requests[1].messages[0]["content"] == " odd \n"


def test_a_row_is_known_without_any_prompt(db: SessionDB, model: ScriptedModel) -> None:
    agent = agent_on(db, model)
    agent.bind(SID, [], has_row=True)
    assert agent.run_conversation("a")["error_kind"] == "session_gone"
    assert db.get_session(SID) is None
    agent.bind("another", [])
    assert agent.run_conversation("a")["completed"]


def test_usage_is_counted(db: SessionDB) -> None:
    from hermes_desktop.agent.types import Finished, TextDelta

    class Counted(ScriptedModel):
        def stream(self, request: Any, *, cancel: Any) -> Iterator[Any]:
            yield TextDelta("x")
            yield Finished("stop", 100, 7, 40)

    result = agent_on(db, Counted()).run_conversation("a")
    assert (result["input_tokens"], result["output_tokens"]) == (100, 7)
    row = row_of(db)
    assert (row["input_tokens"], row["cache_read_tokens"], row["output_tokens"]) == (60, 40, 7)
    assert row["api_call_count"] == 1
    assert row["billing_provider"] == "test"


def test_the_context_knows_the_session(db: SessionDB, model: ScriptedModel) -> None:
    seen: list[str] = []
    agent = agent_on(db, model)
    thread = threading.Thread(
        target=lambda: agent.run_conversation(
            "a", stream_callback=lambda _text: seen.append(get_session_env("HERMES_SESSION_ID"))
        )
    )
    thread.start()
    thread.join()
    assert set(seen) == {SID}


def test_listeners_that_fail_hurt_nobody(
    db: SessionDB, model: ScriptedModel, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_what: object) -> None:
        raise RuntimeError("broken listener")

    result = agent_on(db, model).run_conversation(
        "a", stream_callback=fail, persisted_callback=fail
    )
    assert result["completed"]
    assert len(rows(db)) == 2
    assert caplog.text.count("A listener to the reply failed") == 1


# ------------------------------------------------------------------------- memory and the store


def test_history_stays_in_memory_and_equals_the_store(db: SessionDB, model: ScriptedModel) -> None:
    agent = agent_on(db, model)
    model.pieces = [["  padded\n"], ["x"]]
    for text in (" one ", "two", "three"):
        result = agent.run_conversation(text)
        assert in_memory(result) == told(db)
    assert [
        second.messages[: len(first.messages)] == first.messages
        for first, second in zip(model.requests, model.requests[1:], strict=False)
    ] == [True, True]


@pytest.mark.slow
@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None)
def test_reading_again_gives_the_same_request(
    tmp_path_factory: pytest.TempPathFactory, turns: list[tuple[str, str]]
) -> None:
    model = ScriptedModel()
    store = SessionDB(tmp_path_factory.mktemp("home") / "state.db")
    try:
        kept = agent_on(store, model)
        for said, answered in turns:
            if said.strip():
                model.pieces = [[answered]]
                kept.run_conversation(said)
        fresh = agent_on(store, ScriptedModel())
        last = kept.run_conversation("last")
        requests = model.requests[-1].messages
        store.rewind_to_message(SID, last["written_message_ids"][0])
        fresh.run_conversation("last")
        assert fresh._provider.requests[0].messages == requests  # type: ignore[attr-defined]
    finally:
        store.close()


def test_a_resumed_session_is_read_from_the_store(db: SessionDB, model: ScriptedModel) -> None:
    db.create_session(SID, "cli", system_prompt="S")
    db.append_message(SID, "session_meta")
    db.append_message(SID, "user", "old")
    db.append_message(SID, "assistant", "answer")
    agent_on(db, model).run_conversation("new")
    assert model.texts() == ["user: old", "assistant: answer", "user: new"]


def test_bind_to_another_session_and_back(db: SessionDB, model: ScriptedModel) -> None:
    other = "20260304_130000_abcdef"
    agent = agent_on(db, model)
    agent.run_conversation("one")
    agent.bind(other, [])
    agent.run_conversation("elsewhere")
    assert model.texts() == ["user: elsewhere"]
    agent.bind(SID, db.get_messages_as_conversation(SID))
    agent.run_conversation("two")
    assert model.texts() == ["user: one", "assistant: reply 1", "user: two"]
    agent.bind(SID, None)
    agent.run_conversation("three")
    assert len(model.texts()) == 5
    assert db.message_count(other) == 2


def test_a_given_history_replaces_the_one_in_memory(db: SessionDB, model: ScriptedModel) -> None:
    agent = agent_on(db, model)
    agent.run_conversation("one")
    agent.run_conversation("two", conversation_history=[{"role": "user", "content": "other"}])
    assert model.texts() == ["user: other\n\ntwo"]


def test_a_typed_mark_of_remembered_text_is_sent(db: SessionDB, model: ScriptedModel) -> None:
    text = "what is <memory-context>this</memory-context>?"
    agent_on(db, model).run_conversation(text)
    agent_on(db, model).run_conversation("b")
    assert [request.messages[1]["content"] for request in model.requests] == [text, text]
    assert told(db)[0] == ("user", "what is ?")


def test_a_note_is_told_and_not_shown(db: SessionDB, model: ScriptedModel) -> None:
    agent = agent_on(db, model)
    agent.run_conversation("hello", turn_note=" [Note: new.] ", platform_message_id="m7")
    assert model.texts() == ["user: [Note: new.]\n\nhello"]
    first = db.get_messages(SID)[0]
    assert (first["content"], first["platform_message_id"]) == ("hello", "m7")
    agent.run_conversation("again")
    kept = model.texts()
    assert kept[0] == "user: [Note: new.]\n\nhello"
    other = agent_on(db, model)
    other.bind(SID, None)
    other.run_conversation("from the store")
    assert model.texts()[:3] == kept


def test_half_a_character(db: SessionDB, model: ScriptedModel) -> None:
    result = agent_on(db, model).run_conversation("a\ud83d b\ud83d\ude42")
    assert rows(db)[0][1] == "a\ufffd b🙂"
    assert in_memory(result)[0] == ("user", "a\ufffd b🙂")


# ----------------------------------------------------------------------------------- a bad turn


def test_nobody_answers(db: SessionDB, model: ScriptedModel) -> None:
    model.failure = CannotReachError("Not there.", "Nobody.", "Look.")
    agent = agent_on(db, model)
    result = agent.run_conversation("a")
    assert result["failed"]
    assert not result["completed"]
    assert result["error_kind"] == "cannot_reach"
    assert result["error"] == "Not there. Nobody."
    assert result["error_title"] == "Not there."
    assert result["error_detail"] == "Nobody."
    assert result["error_hint"] == "Look."
    assert result["final_response"] == ""
    assert rows(db) == [("user", "a", None)]
    assert in_memory(result) == told(db)
    model.failure = None
    again = agent.run_conversation("b")
    assert again["completed"]
    assert model.texts() == ["user: a\n\nb"]
    assert in_memory(again) == told(db)


def test_broken_off_in_the_middle(db: SessionDB) -> None:
    from hermes_desktop.agent.types import TextDelta

    class Breaks(ScriptedModel):
        def stream(self, request: Any, *, cancel: Any) -> Iterator[Any]:
            yield TextDelta("half a ")
            raise BrokenStreamError("The reply was interrupted.", "x", "y")

    result = agent_on(db, Breaks()).run_conversation("a")
    assert result["failed"]
    assert result["partial"]
    assert result["final_response"] == "half a "
    assert rows(db)[1] == ("assistant", "half a ", INTERRUPTED)
    assert in_memory(result) == told(db)


def test_stopped_in_the_middle(db: SessionDB, model: ScriptedModel) -> None:
    agent = agent_on(db, model)
    result = agent.run_conversation("a", stream_callback=lambda _text: agent.interrupt("enough"))
    assert result["interrupted"]
    assert result["partial"]
    assert not result["failed"]
    assert not result["completed"]
    assert rows(db)[1] == ("assistant", "reply ", INTERRUPTED)
    assert agent.run_conversation("b")["completed"]
    assert model.texts() == ["user: a", "assistant: reply", "user: b"]


def test_stopped_before_a_word_came(db: SessionDB, model: ScriptedModel) -> None:
    model.hold.clear()
    agent = agent_on(db, model)
    results: list[AgentResult] = []
    thread = threading.Thread(target=lambda: results.append(agent.run_conversation("a")))
    thread.start()
    assert model.asked.wait(60)
    agent.interrupt()
    thread.join()
    assert results[0]["interrupted"]
    assert not results[0]["partial"]
    assert rows(db) == [("user", "a", None)]


def test_a_stop_between_turns_stops_nothing(db: SessionDB, model: ScriptedModel) -> None:
    agent = agent_on(db, model)
    agent.interrupt()
    assert agent.run_conversation("a")["completed"]
    agent.interrupt()
    assert agent.run_conversation("b")["completed"]


def test_an_empty_reply_leaves_no_row(db: SessionDB, model: ScriptedModel) -> None:
    model.pieces = [[" \n"]]
    result = agent_on(db, model).run_conversation("a")
    assert result["completed"]
    assert rows(db) == [("user", "a", None)]
    assert in_memory(result) == told(db)


def test_nothing_to_send(db: SessionDB, model: ScriptedModel) -> None:
    with pytest.raises(UsageError):
        agent_on(db, model).run_conversation(" \n ")
    assert db.get_session(SID) is None


# ------------------------------------------------------------------------------ the row is gone


def forget(db: SessionDB) -> None:
    def delete(conn: Any) -> None:
        conn.execute("DELETE FROM session_model_usage WHERE session_id = ?", (SID,))
        conn.execute("DELETE FROM messages WHERE session_id = ?", (SID,))
        conn.execute("DELETE FROM sessions WHERE id = ?", (SID,))

    db._execute_write(delete)


def test_deleted_between_two_turns(db: SessionDB, model: ScriptedModel) -> None:
    agent = agent_on(db, model)
    agent.run_conversation("a")
    forget(db)
    result = agent.run_conversation("b")
    assert result["failed"]
    assert result["error_kind"] == "session_gone"
    assert result["api_calls"] == 0
    assert result["written_message_ids"] == []
    assert len(model.requests) == 1
    assert db.get_session(SID) is None
    assert db.message_count() == 0


def test_deleted_while_the_model_answers(db: SessionDB, model: ScriptedModel) -> None:
    result = agent_on(db, model).run_conversation("a", stream_callback=lambda _text: forget(db))
    assert result["failed"]
    assert result["error_kind"] == "session_gone"
    assert result["final_response"] == "reply 1"
    assert db.get_session(SID) is None
    assert db.message_count() == 0


def test_bound_to_a_session_that_is_gone(db: SessionDB, model: ScriptedModel) -> None:
    agent = agent_on(db, model)
    agent.bind(SID, [{"role": "user", "content": "x"}])
    assert agent.run_conversation("a")["error_kind"] == "session_gone"
    assert db.get_session(SID) is None


# ------------------------------------------------------------------------------- the store fails


def test_a_store_that_cannot_be_written(tmp_path: Path, model: ScriptedModel) -> None:
    SessionDB(tmp_path / "state.db").close()
    store = SessionDB(tmp_path / "state.db", read_only=True)
    try:
        with pytest.raises(StateReadOnlyError):
            agent_on(store, model).run_conversation("a")
    finally:
        store.close()
    assert not model.requests


def test_a_store_that_fails_when_the_reply_is_there(
    tmp_path: Path, model: ScriptedModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    from hermes_desktop.state.database.connection import Patience

    store = SessionDB(tmp_path / "state.db", patience=Patience(attempts=2, wait_s=0.02))
    other = SessionDB(tmp_path / "state.db")
    holding = threading.Event()
    done = threading.Event()

    def hold_the_file() -> None:
        def keep(_conn: Any) -> None:
            holding.set()
            done.wait(60)

        other._execute_write(keep)

    thread = threading.Thread(target=hold_the_file)

    def take_it(_text: str) -> None:
        if not thread.is_alive():
            thread.start()
            assert holding.wait(60)

    agent = agent_on(store, model)
    result = agent.run_conversation("a", stream_callback=take_it)
    done.set()
    thread.join()
    try:
        assert result["failed"]
        assert result["error_kind"] == "state"
        assert result["final_response"] == "reply 1"
        assert rows(store) == [("user", "a", None)]
        assert in_memory(result) == told(store)
        assert agent.run_conversation("b")["completed"]
    finally:
        store.close()
        other.close()


def test_closing(db: SessionDB, model: ScriptedModel) -> None:
    agent = agent_on(db, model)
    agent.release_clients()
    agent.close()
    assert model.closed == 2
