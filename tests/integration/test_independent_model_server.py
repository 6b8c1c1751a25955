"""The agent against a server that we did not write; see tests/fakes/independent_model_server.py.

Every turn ends in a documented result, and in a transcript that can be told again: another agent,
on a store opened anew, takes the conversation up, and the server gets a request that is in order.
"""

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hermes_desktop.agent.compression.compression_turn import SHORTENING
from hermes_desktop.agent.providers.base import ask
from hermes_desktop.agent.providers.endpoint_check import check_endpoint
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import AgentRequest, AgentResult, CallNote, ChatRequest, ModelChoice
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.agents.agent_builder import AgentBuilder
from hermes_desktop.services.agents.agent_tools import AgentTools
from hermes_desktop.state import SessionDB
from tests.fakes.independent_model_server import KEY, IndependentServer, independent_server
from tests.fakes.program import Program, rows, said

pytestmark = pytest.mark.needs()  # the server, which npm fetches
SID = "20260304_120000_abcdef"
FAUST = "Johann Wolfgang von Goethe, over sixty years. 📖 Größe braucht Zeit."


@pytest.fixture(scope="module")
def server() -> Iterator[IndependentServer]:
    with independent_server() as running:
        yield running


class Desk:
    """A home whose model is at the independent server, with real tools in one folder."""

    def __init__(self, folder: Path, server: IndependentServer, model: str) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.server = server
        self.notes: list[CallNote] = []
        self.pieces: list[str] = []
        self.configure(model)

    def configure(self, model: str, key: str = KEY) -> None:
        (self.home / "config.yaml").write_text(
            f"model: {{default: {model}, base_url: '{self.server.base_url}', api_key: {key}}}\n"
            "agent: {api_max_retries: 2}\n"
            "compression: {protect_first_n: 1, protect_last_n: 2}\n"
            "auxiliary: {title_generation: {enabled: false}}\n",
            encoding="utf-8",
        )

    def turn(self, text: str) -> AgentResult:
        """One turn by an agent and on a store of its own, as another process would."""
        db = SessionDB(self.home / "state.db")
        agent = self._agent(db)
        agent.bind(SID, None)
        try:
            return agent.run_conversation(
                text, stream_callback=self.pieces.append, tool_callback=self._hear
            )
        finally:
            agent.close()
            db.close()

    def taken_up(self) -> list[dict[str, Any]]:
        """Go on with the conversation; the messages that the server got, which are in order."""
        before = len(self.server.asked("go on please"))
        result = self.turn("go on please")
        assert result["completed"], result["error"]
        assert result["final_response"] == "Going on."
        messages: list[dict[str, Any]] = self.server.asked("go on please")[before]["messages"]
        in_order(messages)
        return messages

    def stored(self) -> list[tuple[str, str]]:
        db = SessionDB(self.home / "state.db")
        try:
            return [(row["role"], row["content"]) for row in db.get_messages(SID)]
        finally:
            db.close()

    def _agent(self, db: SessionDB) -> AIAgent:
        paths, clock, redactor = HermesPaths(self.home, self.home), SystemClock(), SecretRedactor()
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(self.home.parent)}
        tools = AgentTools(
            paths,
            db,
            RequestQueue(clock),
            environ=environ,
            redactor=redactor,
            clock=clock,
        )
        builder = AgentBuilder(
            paths, db, redactor, environ, offline=False, clock=clock, tools=tools
        )
        fields = {"cwd": str(self.work)}
        return builder.build(AgentRequest(SID, "desktop", "key", session_fields=fields))

    def _hear(self, news: object) -> None:
        if isinstance(news, CallNote):
            self.notes.append(news)


@pytest.fixture
def desk(tmp_path: Path, server: IndependentServer) -> Desk:
    return Desk(tmp_path, server, "gpt-4o")


def in_order(messages: list[dict[str, Any]]) -> None:
    """What every endpoint asks for: who speaks after whom, no call without result, no other."""
    assert messages[0]["role"] == "system"
    open_calls: list[str] = []
    for before, message in itertools.pairwise(messages):
        role = message["role"]
        if role == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls
        assert role != before["role"]
        assert message.get("content") or message.get("tool_calls")
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
    assert not open_calls
    assert messages[-1]["role"] == "user"


# ------------------------------------------------------------------------------ good answers


def test_streamed_text(desk: Desk) -> None:
    result = desk.turn("who wrote faust?")
    assert result["completed"]
    assert result["final_response"] == FAUST
    assert len(desk.pieces) > 5
    assert result["output_tokens"] > 0
    assert desk.turn("what did i ask?")["final_response"] == "You asked who wrote Faust."
    assert [role for role, _ in desk.stored()] == ["user", "assistant"] * 2
    messages = desk.taken_up()
    assert [m["content"] for m in messages[1:3]] == ["who wrote faust?", FAUST]


def test_a_tool_call_in_single_characters(desk: Desk) -> None:
    (desk.work / "notes.txt").write_text("buy 🥚 and Käse\n", encoding="utf-8")
    result = desk.turn("please read my notes")
    assert result["completed"]
    assert result["final_response"] == "Your notes say: buy 🥚 and Käse."
    assert result["api_calls"] == 2
    assert [role for role, _ in desk.stored()] == ["user", "assistant", "tool", "assistant"]
    told = desk.server.asked("read my notes")[-1]["messages"]
    assert "buy 🥚 and Käse" in told[-1]["content"]
    again = desk.taken_up()
    assert again[: len(told)] == told  # it is told again as it was told


def test_calls_at_once(desk: Desk) -> None:
    (desk.work / "a.txt").write_text("first\n", encoding="utf-8")
    (desk.work / "b.txt").write_text("second\n", encoding="utf-8")
    result = desk.turn("compare both lists")
    assert result["completed"]
    assert result["final_response"] == "The lists differ in one line."
    told = desk.server.asked("compare both lists")[-1]["messages"]
    assert [call["id"] for call in told[2]["tool_calls"]] == ["call_a", "call_b"]
    assert [(m["tool_call_id"], m["role"]) for m in told[3:]] == [
        ("call_a", "tool"),
        ("call_b", "tool"),
    ]
    assert "first" in told[3]["content"]
    assert "second" in told[4]["content"]
    desk.taken_up()


def test_reasoning_and_a_short_breath(tmp_path: Path, server: IndependentServer) -> None:
    desk = Desk(tmp_path, server, "deepseek-reasoner")
    result = desk.turn("a puzzle")
    assert (result["last_reasoning"], result["final_response"]) == (
        "Two hens are not three hens.",
        "Two eggs.",
    )
    cut = desk.turn("a short breath")
    assert cut["completed"]
    assert any("cut off" in note.text and note.lasting for note in desk.notes)
    desk.taken_up()


# -------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("question", "title", "hint"),
    [
        ("the locked door", "{host} rejected the key.", "valid key"),
        ("members only", "{host} rejected the key.", "allows this model"),
        ("an unknown model", "“gpt-4o” was not found.", ""),
        ("an empty purse", "The account at {host} has no credit left.", "Add credit"),
        ("always busy", "{host} does not accept requests right now.", "3600 seconds"),
        ("a power failure", "{host} has an internal problem.", "Try again"),
    ],
)
def test_refused(desk: Desk, question: str, title: str, hint: str) -> None:
    desk.turn("who wrote faust?")
    result = desk.turn(question)
    assert (result["failed"], result["completed"]) == (True, False)
    expected = ("refused", title.format(host=desk.server.host))
    assert (result["error_kind"], result["error_title"]) == expected
    assert hint in result["error_hint"]
    assert KEY not in str(result["error"])
    # The question is kept, and told together with what is said next.
    assert desk.stored()[-1] == ("user", question)
    assert desk.taken_up()[-1]["content"].startswith(question)


def test_another_key(desk: Desk) -> None:
    desk.configure("gpt-4o", "sk-of-somebody-else")
    result = desk.turn("who wrote faust?")
    assert result["error_title"] == f"{desk.server.host} rejected the key."
    desk.configure("gpt-4o")
    desk.taken_up()


def test_busy_then_free(desk: Desk) -> None:
    result = desk.turn("a busy hour")
    assert result["completed"]
    assert result["final_response"] == "Now there is room."
    assert desk.notes[0].text.startswith(f"{desk.server.host} asks to wait ")
    assert desk.notes[-1] == CallNote("")
    desk.taken_up()


def test_a_hiccup_is_passed_over(desk: Desk) -> None:
    assert desk.turn("a hiccup")["final_response"] == "Excuse me."
    desk.taken_up()


# ------------------------------------------------------------------------------------- too long


def test_too_long_with_nothing_to_shorten(desk: Desk) -> None:
    result = desk.turn("the whole library")
    assert (result["failed"], result["error_kind"]) == (True, "too_long")
    assert result["compression_exhausted"]
    assert "131072" in result["error_detail"]
    assert CallNote(SHORTENING) not in desk.notes  # there is nothing that could be
    desk.taken_up()


def test_too_long_is_shortened_and_asked_again(desk: Desk) -> None:
    for number in range(6):
        desk.turn(f"who wrote faust? {'And why so long? ' * 100} {number}")
    result = desk.turn("one more page")
    assert result["completed"], result["error"]
    assert result["final_response"] == "That page fits now."
    assert desk.notes.count(CallNote(SHORTENING)) == 1
    first, second = desk.server.asked("one more page")[-2:]
    assert len(second["messages"]) < len(first["messages"])
    assert "Faust was discussed" in str(second["messages"])
    assert "Faust was discussed" in str(desk.taken_up())


# -------------------------------------------------------------------------------- broken, or empty


def test_cut_in_the_middle(desk: Desk) -> None:
    result = desk.turn("a thin rope")
    assert (result["failed"], result["error_kind"]) == (True, "broken_stream")
    assert result["partial"]
    reply = result["final_response"]
    assert reply
    assert "The rope holds as long as".startswith(reply)
    assert desk.stored()[-1] == ("assistant", reply)
    assert desk.taken_up()[2] == {"role": "assistant", "content": reply}


def test_half_a_call_is_not_done(desk: Desk) -> None:
    result = desk.turn("half a call")
    assert result["failed"]
    assert [role for role, _ in desk.stored()] == ["user"]
    desk.taken_up()


def test_an_empty_answer_is_asked_for_once_more(desk: Desk) -> None:
    assert desk.turn("shy today")["final_response"] == "Here I am."
    assert len(desk.server.asked("shy today")) == 2
    desk.taken_up()


def test_nothing_but_empty_answers(desk: Desk) -> None:
    result = desk.turn("never a word")
    assert (result["completed"], result["final_response"]) == (True, "")
    assert [role for role, _ in desk.stored()] == ["user"]
    desk.taken_up()


def test_answers_that_only_thought(tmp_path: Path, server: IndependentServer) -> None:
    desk = Desk(tmp_path, server, "deepseek-reasoner")
    assert desk.turn("only think")["final_response"] == "I have thought."
    result = desk.turn("think for ever")
    assert result["completed"]
    assert result["final_response"] == result["last_reasoning"]  # shown rather than nothing at all
    desk.taken_up()


# ------------------------------------------------------------------------- any cut of the bytes


class Splitting(httpx.BaseTransport):
    """Hands the bytes of answers on in pieces of one size, wherever that cuts."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._real = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._real.handle_request(request)
        body = answer.read()
        pieces = [body[at : at + self._size] for at in range(0, len(body), self._size)]
        headers = {"content-type": answer.headers.get("content-type", "")}
        return httpx.Response(answer.status_code, headers=headers, content=iter(pieces))

    def close(self) -> None:
        self._real.close()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64])
@pytest.mark.parametrize("question", ["read my notes", "compare both lists", "who wrote faust"])
def test_bytes_cut_anywhere(server: IndependentServer, size: int, question: str) -> None:
    choice = ModelChoice("gpt-4o", server.base_url, KEY, "custom", "a test")
    cut = OpenAICompatibleProvider(choice, transport=Splitting(size))
    whole = OpenAICompatibleProvider(choice)
    request = ChatRequest("gpt-4o", ({"role": "user", "content": question},))
    first, second = (ask(each, request, threading.Event()) for each in (cut, whole))
    cut.close()
    whole.close()
    assert first.error is None
    assert first.text == second.text
    assert first.finished is not None
    assert second.finished is not None
    assert first.finished.tool_calls == second.finished.tool_calls
    assert bool(first.finished.tool_calls) == (question != "who wrote faust")


# ----------------------------------------------------------------------------------- as a program


def test_as_a_program(tmp_path: Path, server: IndependentServer) -> None:
    desk = Desk(tmp_path, server, "gpt-4o")
    program = Program(desk.home)
    done = program.run("chat", "-q", "who wrote faust?")
    assert (done.code, done.out) == (0, FAUST + "\n")
    (row,) = rows(desk.home)
    again = program.run("chat", "--resume", row["id"], "-q", "what did i ask?")
    assert (again.code, again.out) == (0, "You asked who wrote Faust.\n")
    refused = program.run("chat", "--resume", row["id"], "-q", "the locked door")
    assert refused.code == 1
    assert refused.err.startswith(f"{server.host} rejected the key.")
    assert KEY not in refused.err
    last = program.run("chat", "--resume", row["id"], "-q", "go on please")
    assert (last.code, last.out) == (0, "Going on.\n")
    in_order(server.asked("the locked door")[-1]["messages"])
    assert [role for role, _ in said(desk.home, row["id"])] == [
        *("user", "assistant") * 2,
        *("user", "user", "assistant"),
    ]


def test_a_check_of_it(server: IndependentServer) -> None:
    choice = ModelChoice("", server.base_url, KEY, "custom", "a test")
    answer = check_endpoint(choice, cancel=threading.Event())
    assert answer.kind == "ok"
    assert answer.models
