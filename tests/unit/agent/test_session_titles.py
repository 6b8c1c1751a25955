"""Names for conversations: after the first exchange, beside the reply, only where there is none."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.context_length import ContextWindows
from hermes_desktop.agent.providers.base import Retries
from hermes_desktop.agent.providers.offline import OFFLINE_CHOICE, OfflineProvider
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.session_titles import (
    MOST_CHARS,
    TitleSettings,
    TitleWriter,
    clean_title,
)
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.text.stored_text import SUMMARY_MARK
from hermes_desktop.services.agents.auxiliary_services import AuxiliaryServices, AuxiliarySettings
from hermes_desktop.state import SessionDB
from tests.fakes.model_server import ModelServer, error, text
from tests.fakes.prompts import prompts_beside

SID = "20260304_120000_abcdef"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    store = SessionDB(tmp_path / "state.db")
    yield store
    store.close()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def provider_of(server: ModelServer) -> Callable[[], OpenAICompatibleProvider]:
    choice = ModelChoice("fake-model", server.base_url, None, "custom", "a test")
    return lambda: OpenAICompatibleProvider(choice, retries=Retries(0))


def writer_for(db: SessionDB, server: ModelServer, **settings: Any) -> TitleWriter:
    return TitleWriter(db, provider_of(server), TitleSettings(**settings))


def said(*texts: str) -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[number % 2], "content": each}
        for number, each in enumerate(texts)
    ]


def name(writer: TitleWriter, history: list[dict[str, Any]], session_id: str = SID) -> bool:
    thread = writer.after_turn(session_id, history)
    if thread is not None:
        thread.join(60)
    return thread is not None


def test_a_conversation_is_named_after_its_first_exchange(
    db: SessionDB, server: ModelServer
) -> None:
    server.name = 'Title: "A Trip to Rome"'
    agent = AIAgent(
        provider=provider_of(server)(),
        store=db,
        prompts=prompts_beside(db),
        session_id=SID,
        source="desktop",
        clock=SystemClock(),
        titles=writer_for(db, server),
    )
    assert agent.run_conversation("Where to?")["completed"]
    for thread in threading.enumerate():
        if thread.name == "session-title":
            thread.join(60)
    agent.close()
    assert db.get_session_title(SID) == "A Trip to Rome"
    assert len(server.requests) == 1
    shown = server.naming[0].messages[1]["content"]
    assert "User: Where to?" in shown
    row = db.get_session(SID)
    assert row is not None
    assert (row["api_call_count"], row["input_tokens"]) == (1, 11)  # names are booked apart
    tasks = db.read(
        lambda conn: conn.execute("SELECT task FROM session_model_usage ORDER BY task").fetchall()
    )
    assert [each["task"] for each in tasks] == ["", "title_generation"]


def test_a_title_that_somebody_gave_stays(db: SessionDB, server: ModelServer) -> None:
    server.name = "Something else"
    db.create_session(SID, "desktop")
    db.set_session_title(SID, "Mine")
    assert name(writer_for(db, server), said("a", "b"))
    assert db.get_session_title(SID) == "Mine"
    assert not server.naming


def test_a_taken_name_is_numbered(db: SessionDB, server: ModelServer) -> None:
    server.name = "Trip"
    db.create_session("other", "desktop")
    db.set_session_title("other", "Trip")
    db.create_session(SID, "desktop")
    assert name(writer_for(db, server), said("a", "b"))
    assert db.get_session_title(SID) == "Trip #2"


def test_long_conversations_blank_ones_and_those_named_already_are_left_alone(
    db: SessionDB, server: ModelServer
) -> None:
    writer = writer_for(db, server)
    assert not name(writer, said("a", "b", "c", "d", "e", "f"))
    assert not name(writer, said("a"))
    assert not name(writer, [])
    assert not name(writer_for(db, server, enabled=False), said("a", "b"))
    server.name = "Good"
    db.create_session(SID, "desktop")
    assert name(writer, said("a", "b"))
    assert not name(writer, said("a", "b", "c", "d"))


@pytest.mark.parametrize(("questions", "wanted"), [(1, "Rome"), (3, None)])
def test_a_first_reply_that_took_much_work_was_shortened_and_is_named(
    db: SessionDB, server: ModelServer, questions: int, wanted: str | None
) -> None:
    server.name = "Rome"
    db.create_session(SID, "desktop")
    for number in range(questions):
        db.append_message(SID, "user", f"question {number}")
        db.append_message(SID, "assistant", "", tool_calls=[{"id": "1", "name": "ls"}])
        db.append_message(SID, "tool", "much", tool_call_id="1", tool_name="ls")
    kept = [
        {"role": "assistant", "content": f"{SUMMARY_MARK} Much was done."},
        {"role": "user", "content": f"question {questions - 1}"},
        {"role": "assistant", "content": "That is all."},
    ]
    db.archive_and_compact(SID, kept)
    assert name(writer_for(db, server), db.get_messages_as_conversation(SID))
    assert db.get_session_title(SID) == wanted
    assert len(server.naming) == (wanted is not None)


def test_a_model_that_fails_leaves_it_without_a_name_and_is_asked_again(db: SessionDB) -> None:
    class Failing(ModelServer):
        def answer(self, request: Any) -> Any:
            self.naming.append(request)
            return error(403) if len(self.naming) == 1 else text("Better")

    db.create_session(SID, "desktop")
    with Failing() as server:
        writer = writer_for(db, server)
        assert name(writer, said("a", "b"))
        assert db.get_session_title(SID) is None
        assert name(writer, said("a", "b", "c", "d"))
    assert db.get_session_title(SID) == "Better"


def test_one_that_is_closed_names_nothing(db: SessionDB, server: ModelServer) -> None:
    writer = writer_for(db, server)
    writer.close()
    assert not name(writer, said("a", "b"))


def test_scripted_answers_are_not_named(db: SessionDB) -> None:
    care = AuxiliaryServices(
        db, prompts_beside(db), SystemClock(), ContextWindows(), OfflineProvider
    )
    assert care.titles(AuxiliarySettings(), OFFLINE_CHOICE) is None


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("  “Rome in Spring”\nand more", "Rome in Spring"),
        ("**Title: Rome**", "Rome"),
        ("<think>hm\nhm</think>\nRome", "Rome"),
        ("标题很短", "标题很短"),
        ("\n\n", ""),
        ("```\nRome\n```", "Rome"),
        ("<think>the person wants", ""),
        ("<Thinking>hm</Thinking>Rome", "Rome"),
        ("<h1 class='x'><b>Rome</b></h1>", "Rome"),
        ("<title>Name: Rome</title>\n<p>why</p>", "Rome"),
        ("Centre a <div> in a page", "Centre a <div> in a page"),
        ("<script>alert(1)</script>", "alert(1)"),
        ("Ro\u202eme\x00\x1b[31m", "Rome[31m"),
        ('"\'"', ""),
    ],
)
def test_names_are_cleaned(answer: str, wanted: str) -> None:
    assert clean_title(answer) == wanted


@pytest.mark.parametrize("answer", ["x" * 10_000, "word " * 2_000, "é" * 10_000, "<b>" * 5_000])
def test_ten_thousand_characters_are_a_short_name(answer: str) -> None:
    assert 0 < len(clean_title(answer)) <= MOST_CHARS


def test_an_empty_answer_is_asked_for_once_more(db: SessionDB, server: ModelServer) -> None:
    db.create_session(SID, "desktop")
    writer = writer_for(db, server)
    server.name = "<think>hm"
    assert name(writer, said("a", "b"))
    assert db.get_session_title(SID) is None
    server.name = "Rome"
    assert name(writer, said("a", "b", "c", "d"))
    assert db.get_session_title(SID) == "Rome"


def test_the_name_goes_where_the_session_goes_on(db: SessionDB, server: ModelServer) -> None:
    db.create_session(SID, "desktop")
    db.end_session(SID, "compression")
    db.create_session("next", "desktop", parent_session_id=SID)
    db.append_message("next", "user", "a")
    server.name = "Rome"
    assert name(writer_for(db, server), said("a", "b"))
    assert db.get_session_title("next") == "Rome"
    assert [each["title"] for each in db.list_sessions_rich()] == ["Rome"]


def test_long_names_are_cut_at_a_word() -> None:
    title = clean_title("word " * 100)
    assert len(title) <= MOST_CHARS
    assert title.endswith("word…")


def test_the_language_of_the_settings() -> None:
    section = {"auxiliary": {"title_generation": {"language": "German", "enabled": True}}}
    assert TitleSettings.from_mapping(section) == TitleSettings(enabled=True, language="German")
    assert TitleSettings.from_mapping({"auxiliary": 3}) == TitleSettings()
    off = {"auxiliary": {"title_generation": {"enabled": False}}}
    assert not TitleSettings.from_mapping(off).enabled
