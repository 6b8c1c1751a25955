"""Whole turns: agent, provider, store and a model server on loopback."""

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from hermes_desktop.agent.models.config import AgentConfig, resolve_model
from hermes_desktop.agent.providers.base import Retries
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.settings.env_file import read_env_file
from hermes_desktop.state import SessionDB
from tests.fakes import model_server as fake
from tests.fakes.model_server import ModelServer
from tests.fakes.prompts import prompts_beside

ROOT = Path(__file__).parents[2]
SID = "20260304_120000_abcdef"
KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    store = SessionDB(tmp_path / "state.db")
    yield store
    store.close()


def agent_in(home: Path, db: SessionDB) -> AIAgent:
    """Everything as the program puts it together, from the files of a home."""
    config = read_config(home / "config.yaml").data
    choice = resolve_model(config, read_env_file(home / ".env").get)
    retries = Retries(AgentConfig.from_mapping(config).api_max_retries, base_s=0.01)
    return AIAgent(
        provider=OpenAICompatibleProvider(choice, retries=retries),
        store=db,
        prompts=prompts_beside(db),
        session_id=SID,
        source="desktop",
        clock=SystemClock(),
        soul_path=home / "SOUL.md",
    )


@pytest.fixture
def agent(tmp_path: Path, server: ModelServer, db: SessionDB) -> Iterator[AIAgent]:
    (tmp_path / "config.yaml").write_text(
        f"model:\n  default: fake-model\n  base_url: {server.base_url}\n  api_key: ${{THE_KEY}}\n"
        "agent: {api_max_retries: 2}\n"
    )
    (tmp_path / ".env").write_text(f"THE_KEY={KEY}\n")
    made = agent_in(tmp_path, db)
    yield made
    made.close()


def prefix_of(body: bytes) -> bytes:
    """A request without the brackets that close it."""
    assert body.endswith(b"]}")
    return body.removesuffix(b"]}")


def test_from_the_files_to_the_rows(agent: AIAgent, server: ModelServer, db: SessionDB) -> None:
    server.script(fake.text("Grüße, 世界 🙂", reasoning=["think"], usage=(20, 5)))
    pieces: list[str] = []
    result = agent.run_conversation("Hello", stream_callback=pieces.append)
    assert "".join(pieces) == result["final_response"] == "Grüße, 世界 🙂"
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    said = [(row["role"], row["content"]) for row in db.get_messages(SID)]
    assert said == [("user", "Hello"), ("assistant", "Grüße, 世界 🙂")]
    row = db.get_session(SID)
    assert row is not None
    assert (row["input_tokens"], row["output_tokens"], row["api_call_count"]) == (20, 5, 1)


def test_bytes_of_a_request_begin_with_those_of_the_one_before(
    agent: AIAgent, server: ModelServer, db: SessionDB, tmp_path: Path
) -> None:
    words = ["  one\n", 'quotes " and \\ and \x07', "half \ud800 a pair", "日本 🙂", "five"]
    for text in words[:-1]:
        server.script(fake.text(f"  re: {text}\u2028 ".replace("\ud800", "?")))
        assert agent.run_conversation(text)["completed"]
    bodies = [each.body for each in server.requests]
    for before, after in itertools.pairwise(bodies):
        assert after.startswith(prefix_of(before))
    # Another agent, which reads the history from the store, goes on with the same bytes.
    other = agent_in(tmp_path, db)
    other.run_conversation(words[-1])
    other.close()
    assert server.requests[-1].body.startswith(prefix_of(bodies[-1]))
    assert len(server.requests[-1].messages) == 2 * len(words)


def test_half_a_character_makes_a_valid_request(agent: AIAgent, server: ModelServer) -> None:
    agent.run_conversation("a\udfffb")
    assert json.loads(server.requests[0].body.decode("utf-8"))["messages"][-1]["content"] == (
        "a\ufffdb"
    )


def test_a_failure_then_the_same_question_again(
    agent: AIAgent, server: ModelServer, db: SessionDB
) -> None:
    server.script(fake.error(401, f"Bad key {KEY}"))
    failed = agent.run_conversation("Hello")
    assert failed["error_kind"] == "refused"
    assert KEY not in json.dumps(failed)
    assert agent.run_conversation("Again")["completed"]
    assert server.requests[-1].messages[1:] == [{"role": "user", "content": "Hello\n\nAgain"}]
    assert [row["role"] for row in db.get_messages(SID)] == ["user", "user", "assistant"]


def test_retries_as_configured(agent: AIAgent, server: ModelServer) -> None:
    server.script(*[fake.error(503)] * 3)
    assert agent.run_conversation("Hello")["failed"]
    assert len(server.requests) == 3


def test_cut_in_the_middle_and_going_on(agent: AIAgent, server: ModelServer, db: SessionDB) -> None:
    server.script(fake.cut_after("one two three", 2))
    result = agent.run_conversation("Count")
    assert result["error_kind"] == "broken_stream"
    assert result["partial"]
    assert db.get_messages(SID)[-1]["content"] == "one two"
    agent.run_conversation("Go on")
    assert server.requests[-1].messages[2:] == [
        {"role": "assistant", "content": "one two"},
        {"role": "user", "content": "Go on"},
    ]


def test_stop_while_waiting_for_the_first_byte(agent: AIAgent, server: ModelServer) -> None:
    server.script(fake.hang())
    results = []
    thread = threading.Thread(target=lambda: results.append(agent.run_conversation("Hello")))
    thread.start()
    server.wait_for_requests(1)
    agent.interrupt()
    thread.join(60)
    assert results[0]["interrupted"]
    assert server.requests[0].client_gone.wait(60)
    assert agent.run_conversation("Again")["completed"]


def test_released_clients_come_back(agent: AIAgent, server: ModelServer) -> None:
    for _ in range(3):
        assert agent.run_conversation("Hello")["completed"]
        agent.release_clients()
    assert len(server.requests) == 3


def test_tool_calls_of_another_program(agent: AIAgent, server: ModelServer, db: SessionDB) -> None:
    db.create_session(SID, "cli", system_prompt="S")
    db.append_message(SID, "user", "look")
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    lost = {"id": "c2", "type": "function", "function": {"name": "rm", "arguments": "{}"}}
    db.append_message(SID, "assistant", None, tool_calls=[call, lost], finish_reason="tool_calls")
    db.append_message(SID, "tool", '{"output": "a"}', tool_call_id="c1", tool_name="ls")
    agent.run_conversation("and now?")
    roles = [each["role"] for each in server.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    assert server.requests[-1].messages[2]["tool_calls"] == [call]


@pytest.mark.two_processes
def test_the_server_as_a_process() -> None:
    command = [sys.executable, "-m", "tests.fakes.model_server", "--port", "0"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ.copy()
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        base_url = json.loads(process.stdout.readline())["base_url"]
        messages = [{"role": "user", "content": "hi"}]
        with httpx.Client(trust_env=False) as client:
            answer = client.post(f"{base_url}/chat/completions", json={"messages": messages})
            assert "You" in answer.text
            seen = client.get(base_url.removesuffix("/v1") + "/requests").json()
        assert json.loads(seen[0]["body"])["messages"] == messages
        process.stdin.close()
        assert process.wait(60) == 0
