"""Conversations that outgrow their model: shortened, followed, never forked, never in a loop."""

import itertools
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.compression.compression_plan import is_summary
from hermes_desktop.agent.compression.compression_settings import CompressionSettings
from hermes_desktop.agent.compression.compression_turn import ContextLimiter
from hermes_desktop.agent.compression.context_compression import (
    COOLDOWN_S,
    CompactionRequest,
    Compactor,
)
from hermes_desktop.agent.context_length import ContextWindows
from hermes_desktop.agent.providers.base import Retries
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.turns.tool_rounds import ToolResult
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.session_context import get_session_env
from hermes_desktop.core.text.stored_text import SUMMARY_MARK
from hermes_desktop.state import SessionDB
from tests.fakes.model_server import Reply, chunk, event
from tests.fakes.narrow_model import NarrowModel, is_summary_request
from tests.fakes.prompts import prompts_beside

SID = "20260304_120000_abcdef"
IN_PLACE = CompressionSettings()
ROTATING = CompressionSettings(in_place=False)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    store = SessionDB(tmp_path / "state.db")
    yield store
    store.close()


def provider_at(base_url: str, length: int | None = 10_000) -> OpenAICompatibleProvider:
    choice = ModelChoice("narrow", base_url, None, "custom", "a test", "openai", length)
    return OpenAICompatibleProvider(choice, retries=Retries(0), redactor=SecretRedactor())


class Stage:
    """Makes agents and what shortens for them, and closes them."""

    def __init__(self, db: SessionDB) -> None:
        self._db = db
        self._open: list[Any] = []

    def care(
        self,
        base_url: str,
        settings: CompressionSettings = IN_PLACE,
        length: int | None = 10_000,
        auxiliary: Any = None,
    ) -> Compactor:
        care = Compactor(
            store=self._db,
            prompts=prompts_beside(self._db),
            provider=provider_at(base_url, length),
            windows=ContextWindows(),
            settings=settings,
            clock=SystemClock(),
            auxiliary=auxiliary,
        )
        self._open.append(care)
        return care

    def agent(
        self,
        base_url: str,
        settings: CompressionSettings = IN_PLACE,
        length: int | None = 10_000,
        **options: Any,
    ) -> AIAgent:
        agent = AIAgent(
            provider=provider_at(base_url, length),
            store=self._db,
            prompts=prompts_beside(self._db),
            session_id=SID,
            source="desktop",
            clock=SystemClock(),
            room=ContextLimiter(self.care(base_url, settings, length), self._db),
            **options,
        )
        self._open.append(agent)
        return agent

    def close(self) -> None:
        for each in self._open:
            each.close()


@pytest.fixture
def stage(db: SessionDB) -> Iterator[Stage]:
    made = Stage(db)
    yield made
    made.close()


def filled(db: SessionDB, count: int, words: int = 60) -> None:
    db.create_session(SID, "desktop", model="narrow", system_prompt="You help.")
    for number in range(count):
        role = ("user", "assistant")[number % 2]
        db.append_message(SID, role, f"number {number} " + "word " * words)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("settings", [IN_PLACE, ROTATING], ids=["in_place", "rotate"])
def test_two_thousand_turns(db: SessionDB, stage: Stage, settings: CompressionSettings) -> None:
    model = NarrowModel()
    db.create_session(SID, "desktop", system_prompt="You help.")
    db.set_session_title(SID, "Numbers")
    with model.serve() as server:
        agent = stage.agent(server.base_url, settings)
        for number in range(2_000):
            result = agent.run_conversation(f"This is number {number} of many, and some words.")
            assert result["completed"], result
            assert result["session_id"] == agent.session_id
    assert model.refusals == 0
    shortened = stays_or_is_shortened(model.turns)
    assert 5 < shortened < 40
    assert shortened <= len(model.summaries) <= 2 * shortened
    last = model.turns[-1]
    assert last[1]["content"].startswith("This is number 0 of")
    assert sum(SUMMARY_MARK in str(each["content"]) for each in last) == 1
    told = db.get_messages_as_conversation(agent.session_id)
    assert sum(map(is_summary, told)) == 1
    assert [each["content"][:21] for each in told if each["role"] == "user"][-10:] == [
        f"This is number {number} o"[:21] for number in range(1_990, 2_000)
    ]
    assert len(db.list_sessions_rich()) == 1
    assert db.resolve_resume_session_id(SID) == agent.session_id
    lineage = db.get_compression_lineage(SID)
    assert len(lineage) == (1 if settings.in_place else 1 + shortened)
    everything = [each for sid in lineage for each in db.get_messages(sid, include_inactive=True)]
    said = {each["content"] for each in everything if each["role"] == "user"}
    assert len({each for each in said if each.startswith("This is number")}) == 2_000


def stays_or_is_shortened(turns: list[list[dict[str, Any]]]) -> int:
    """How often a request did not begin with the bytes of the one before."""
    changes = 0
    for before, after in itertools.pairwise(turns):
        same = after[: len(before)] == before
        changes += not same
        if not same:
            assert any(SUMMARY_MARK in str(each["content"]) for each in after)
            assert after[:4] == before[:4] or SUMMARY_MARK in str(after[4]["content"]) + str(
                after[3]
            )
    return changes


def test_a_refusal_shortens_once_and_asks_again(db: SessionDB, stage: Stage) -> None:
    filled(db, 120)
    model = NarrowModel(window=3_000)
    with model.serve() as server:
        agent = stage.agent(server.base_url, length=None)  # nobody said how much fits
        agent.bind(SID, db.get_messages_as_conversation(SID))
        result = agent.run_conversation("And now?")
    assert result["completed"], result
    assert model.refusals >= 1
    assert db.get_messages(SID)[-1]["content"] == model.reply
    assert "And now?" in [each["content"] for each in db.get_messages(SID)]
    assert agent.room is not None
    assert agent.room.care.window().tokens == 3_000


def test_what_cannot_be_shortened_is_said_to_be_exhausted(db: SessionDB, stage: Stage) -> None:
    filled(db, 2)
    model = NarrowModel(window=500)
    with model.serve() as server:
        agent = stage.agent(server.base_url, length=None)
        result = agent.run_conversation("long " * 5_000)
    assert result["failed"]
    assert result["compression_exhausted"]
    assert result["error_kind"] == "too_long"
    assert len(db.get_messages(SID)) == 3


def test_an_overflow_is_survived_without_a_model_for_summaries(db: SessionDB, stage: Stage) -> None:
    filled(db, 120)
    model = NarrowModel(window=3_000, summary=None)
    with model.serve() as server:
        agent = stage.agent(server.base_url, length=None)
        agent.bind(SID, db.get_messages_as_conversation(SID))
        assert agent.run_conversation("And now?")["completed"]
    assert db.get_compression_fallback_streak(SID) == 1
    assert "no model could summarize" in str(db.get_messages(SID))


def test_a_failed_summary_changes_nothing_and_is_not_tried_again_soon(
    db: SessionDB, stage: Stage
) -> None:
    filled(db, 120, words=90)
    model = NarrowModel(window=50_000, summary=None)
    with model.serve() as server:
        agent = stage.agent(server.base_url)
        agent.bind(SID, db.get_messages_as_conversation(SID))
        for text in ("one", "two"):
            assert agent.run_conversation(text)["completed"]
    assert len(model.summaries) == 1
    assert len(db.get_messages(SID)) == 124
    cooldown = db.get_compression_failure_cooldown(SID)
    assert cooldown is not None
    assert COOLDOWN_S - 60 < cooldown["remaining_seconds"] <= COOLDOWN_S
    assert db.get_compression_lock_holder(SID) is None


def test_passes_in_vain_come_to_an_end(db: SessionDB, stage: Stage) -> None:
    filled(db, 30, words=5)
    with NarrowModel(summary="long " * 4_000).serve() as server:
        care = stage.care(server.base_url)
        for _ in range(2):
            assert not care.is_blocked(SID)
            assert (
                care.shorten(SID, CompactionRequest("threshold"), threading.Event()).kind
                == "nothing"
            )
        assert care.is_blocked(SID)
        assert not care.is_blocked("another")
    assert len(db.get_messages(SID)) == 30


def test_the_auxiliary_model_is_asked_first_and_the_main_one_after_it(
    db: SessionDB, stage: Stage
) -> None:
    filled(db, 120)
    main, other = NarrowModel(), NarrowModel(summary=None)
    with main.serve() as server, other.serve() as side:
        care = stage.care(server.base_url, auxiliary=provider_at(side.base_url))
        assert care.shorten(SID, CompactionRequest("by_hand"), threading.Event()).kind == "done"
    assert len(other.summaries) == 1
    usage = db.read(
        lambda conn: conn.execute("SELECT task, api_call_count FROM session_model_usage").fetchall()
    )
    assert [tuple(each) for each in usage] == [("compression", len(main.summaries))]
    row = db.get_session(SID)
    assert row is not None
    assert row["api_call_count"] == 0


def test_cancelled_in_the_middle_nothing_is_changed(db: SessionDB, stage: Stage) -> None:
    filled(db, 120)
    cancel = threading.Event()
    cancel.set()
    with NarrowModel().serve() as server:
        done = stage.care(server.base_url).shorten(SID, CompactionRequest("by_hand"), cancel)
    assert done.kind == "cancelled"
    assert len(db.get_messages(SID)) == 120
    assert db.get_compression_lock_holder(SID) is None


@pytest.mark.parametrize("in_place", [True, False])
def test_what_others_say_during_a_summary_is_not_lost(
    db: SessionDB, stage: Stage, *, in_place: bool
) -> None:
    filled(db, 120)
    model = NarrowModel()

    def answer(request: Any) -> Any:
        other = SessionDB(db.db_path)
        other.append_message(SID, "user", "said meanwhile")
        other.close()
        return model(request)

    with model.serve() as server:
        server.responder = answer
        care = stage.care(server.base_url, CompressionSettings(in_place=in_place))
        done = care.shorten(SID, CompactionRequest("by_hand"), threading.Event())
    assert done.kind == "done"
    assert db.get_messages(done.session_id)[-1]["content"] == "said meanwhile"


def test_who_comes_too_late_follows(db: SessionDB, stage: Stage) -> None:
    filled(db, 120)
    model = NarrowModel()
    with model.serve() as server:
        late = stage.agent(server.base_url, ROTATING)
        late.bind(SID, db.get_messages_as_conversation(SID))
        care = stage.care(server.base_url, ROTATING)
        done = care.shorten(SID, CompactionRequest("by_hand"), threading.Event())
        assert done.session_id != SID
        asked = len(model.summaries)
        result = late.run_conversation("And now?")
        assert result["session_id"] == done.session_id
        assert get_session_env("HERMES_SESSION_ID") == done.session_id
    assert len(model.summaries) == asked
    assert db.get_compression_lineage(SID) == [SID, done.session_id]


def test_while_somebody_else_compresses_nothing_is_done(db: SessionDB, stage: Stage) -> None:
    filled(db, 120)
    assert db.try_acquire_compression_lock(SID, "pid=1:somebody")
    with NarrowModel().serve() as server:
        done = stage.care(server.base_url).shorten(
            SID, CompactionRequest("by_hand"), threading.Event()
        )
    assert (done.kind, done.session_id) == ("busy", SID)
    assert db.get_compression_lock_holder(SID) == "pid=1:somebody"


def test_a_gateway_shortens_what_is_nearly_too_long_before_a_turn(
    db: SessionDB, stage: Stage
) -> None:
    def stored() -> int:
        mark = db.session_mark(SID)
        return mark.message_count if mark is not None else 0

    filled(db, 120)
    model, never = NarrowModel(), threading.Event()
    with model.serve() as server:
        room = ContextLimiter(stage.care(server.base_url), db)
        assert room.tidy(SID, stored(), 5_000, never) is None
        done = room.tidy(SID, stored(), 8_600, never)
        assert done is not None
        assert done.kind == "done"
        many = replace(CompressionSettings(), most_messages=50)
        filled_again = ContextLimiter(stage.care(server.base_url, many), db)
        for number in range(60):
            db.append_message(SID, ("user", "assistant")[number % 2], f"again {number}")
        done = filled_again.tidy(SID, stored(), 10, never)
        assert done is not None
        assert done.kind == "done"
        unknown = ContextLimiter(stage.care(server.base_url, length=None), db)
        assert unknown.tidy(SID, stored(), 127_000, never) is None  # a guess is not trusted


def test_nothing_of_what_was_said_is_logged(
    db: SessionDB, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "hermes_desktop")
    filled(db, 120)
    with NarrowModel().serve() as server:
        stage.care(server.base_url).shorten(SID, CompactionRequest("by_hand"), threading.Event())
    assert "number 5" not in caplog.text


def test_who_comes_too_late_in_place_reads_what_the_other_made(db: SessionDB, stage: Stage) -> None:
    filled(db, 120)
    model = NarrowModel()
    with model.serve() as server:
        late = stage.agent(server.base_url)
        late.bind(SID, db.get_messages_as_conversation(SID))
        stage.care(server.base_url).shorten(SID, CompactionRequest("by_hand"), threading.Event())
        asked, left = len(model.summaries), len(db.get_messages(SID))
        assert late.run_conversation("And now?")["completed"]
    assert len(model.summaries) == asked
    assert len(db.get_messages(SID)) == left + 2
    assert len(model.turns[-1]) < left + 4


class Reader:
    """A tool that puts out much, as often as it is called."""

    def definitions(self) -> tuple[dict[str, Any], ...]:
        function = {"name": "read", "description": "QueryRunner.", "parameters": {"type": "object"}}
        return ({"type": "function", "function": function},)

    def prompt_part(self, session_id: str) -> str:
        return ""

    def run(self, calls: Any, turn: Any) -> list[ToolResult]:
        return [ToolResult(each.id, each.name, "a long line\n" * 400) for each in calls]

    def close(self) -> None:
        pass


@pytest.mark.parametrize("settings", [IN_PLACE, ROTATING], ids=["in_place", "rotate"])
def test_a_turn_whose_tools_fill_the_room_goes_on(
    db: SessionDB, stage: Stage, settings: CompressionSettings
) -> None:
    filled(db, 4)
    model = NarrowModel()
    calls = 25

    def answer(request: Any) -> Any:
        said = model(request)
        if is_summary_request(request) or said.status != 200 or len(model.turns) > calls:
            return said
        number = len(model.turns)
        call = {"index": 0, "id": f"c{number}", "function": {"name": "read", "arguments": "{}"}}
        piece = chunk()
        piece["choices"][0]["delta"]["tool_calls"] = [call]
        size = sum(len(str(each)) for each in request.messages) // 4
        ends = (chunk(finish="tool_calls"), chunk(usage=(size, 5)))
        return Reply([event(piece), *map(event, ends), event("[DONE]")])

    with model.serve() as server:
        server.responder = answer
        agent = stage.agent(server.base_url, settings, tools=Reader())
        agent.bind(SID, db.get_messages_as_conversation(SID))
        result = agent.run_conversation("Read all of it.")
    assert result["completed"], result
    assert result["api_calls"] == calls + 1
    assert model.summaries
    assert model.refusals == 0
    assert (result["session_id"] != SID) is not settings.in_place
    assert db.get_messages(result["session_id"])[-1]["content"] == model.reply
    for request in model.turns:
        said = str(request)
        assert "Read all of it." in said
        assert "its call is not recorded" not in said
    assert len(db.list_sessions_rich()) == 1
