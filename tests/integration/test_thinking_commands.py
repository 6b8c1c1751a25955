"""/reasoning and /fast: told on the wire, kept in the row, taken back; the prompt is the same."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_desktop.agent.thinking import chosen_of, stored, wire_fields, with_thinking
from hermes_desktop.core.events import TurnFinished
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.services.assembly.desktop_services import DesktopServices
from tests.fakes.agents import CHOICE
from tests.fakes.command_gateway import KEY, command_gateway
from tests.fakes.model_server import ModelServer
from tests.support.waiting import until


def test_what_is_told_on_the_wire() -> None:
    assert wire_fields(CHOICE) == {}
    high = with_thinking(CHOICE, {"reasoning_effort": "high"})
    assert wire_fields(high) == {"reasoning_effort": "high"}
    router = replace(high, provider="openrouter")
    assert wire_fields(router) == {"reasoning": {"effort": "high"}}
    off = with_thinking(router, {"reasoning_effort": "none"})
    assert wire_fields(off) == {"reasoning": {"enabled": False}}
    assert with_thinking(high, {"reasoning_effort": "silly"}).reasoning_effort == "high"
    assert with_thinking(CHOICE, {"service_tier": "fast"}).service_tier == ""
    openai = replace(CHOICE, provider="openai")
    assert with_thinking(openai, {"service_tier": "fast"}).service_tier == "priority"


def test_what_is_kept_in_the_row() -> None:
    kept = stored({"_branched_from": "x", "max_iterations": 90}, {"reasoning_effort": "low"})
    assert kept["reasoning_config"] == {"enabled": True, "effort": "low"}
    assert (kept["_branched_from"], kept["max_iterations"]) == ("x", 90)
    assert chosen_of(kept) == {"reasoning_effort": "low"}
    assert stored(kept, {})["reasoning_config"] is None
    assert chosen_of(stored({}, {"reasoning_effort": "none", "service_tier": "fast"})) == {
        "reasoning_effort": "none",
        "service_tier": "fast",
    }
    for strange in (None, [], "x", {"reasoning_config": 3}, {"reasoning_config": {"effort": []}}):
        assert chosen_of(strange) == {}


@pytest.mark.asyncio
async def test_a_chat_chooses_and_takes_it_back(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        asked: list[dict[str, str]] = []
        chat.gateway.factory.on_make = lambda request: asked.append(dict(request.model_override))
        told = await chat.tell("/reasoning high")
        assert "Thinking: high" in told
        await chat.tell("hello")
        row = chat.gateway.db.get_session(chat.session_id())
        assert row is not None
        assert chosen_of(json.loads(row["model_config"])) == {"reasoning_effort": "high"}
        assert "chosen for this session" in await chat.tell("/reasoning")
        await chat.tell("/reasoning none")
        await chat.tell("and now?")
        await chat.tell("/reasoning default")
        await chat.tell("and now?")
        assert asked == [{"reasoning_effort": "high"}, {"reasoning_effort": "none"}, {}]
        prompts = {str(request.messages[0]["content"]) for request in chat.gateway.model.requests}
        assert len(prompts) == 1
        await chat.tell("/reasoning low")
        await chat.tell("/new")
        await chat.tell("hello")
        assert asked[-1] == {}
        assert "This level does not exist" in await chat.tell("/reasoning silly")
        assert "cannot change the settings" in await chat.tell("/reasoning low --global")


@pytest.mark.asyncio
async def test_what_was_chosen_outlives_a_restart(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        await chat.tell("hello")
        await chat.tell("/reasoning high")
    async with command_gateway(tmp_path, hosted=True) as chat:
        asked: list[dict[str, str]] = []
        chat.gateway.factory.on_make = lambda request: asked.append(dict(request.model_override))
        await chat.tell("and now?")
        assert asked == [{"reasoning_effort": "high"}]


@pytest.mark.asyncio
async def test_a_chat_sees_what_is_thought_if_it_wants(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        chat.gateway.model.thoughts = ["Tea or ", "coffee?"]
        assert await chat.tell("hello") == "reply 1"
        assert "shown above replies" in await chat.tell("/reasoning show")
        assert await chat.tell("and?") == "💭 Tea or coffee?\n\nreply 2"
        assert chat.texts()[-1] == "reply 2"
        await chat.tell("/reasoning hide")
        assert await chat.tell("and?") == "reply 3"


@pytest.mark.asyncio
async def test_only_openai_answers_faster(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        assert await chat.tell("/fast") == "Speed: normal."
        refused = await chat.tell("/fast fast")
        assert "does not offer faster answers here" in refused
        assert "--provider openai" in refused
        await chat.tell("/model m --provider openai")
        assert "Speed: fast" in await chat.tell("/fast fast")
        assert await chat.tell("/fast status") == "Speed: fast."
        assert chat.gateway.runner.parts.reasoning.chosen(KEY) == {"service_tier": "fast"}
        await chat.tell("/model default")
        assert "Speed: normal. You chose fast, but" in await chat.tell("/fast status")
        await chat.tell("/model m --provider openai")
        assert "Speed: normal" in await chat.tell("/fast normal")
        assert "This speed does not exist" in await chat.tell("/fast furious")


async def say(services: DesktopServices, text: str, session_id: str | None = None) -> TurnFinished:
    ended: list[TurnFinished] = []
    leave = services.bus.subscribe(TurnFinished, ended.append)
    await services.chat.send(text, session_id=session_id)
    await until(lambda: bool(ended))
    leave()
    return ended[0]


@pytest.mark.asyncio
async def test_in_the_window_on_a_real_wire_and_for_all(tmp_path: Path) -> None:
    paths = HermesPaths(tmp_path, tmp_path)
    with ModelServer() as server:
        config = {"model": {"default": "m", "base_url": server.base_url, "provider": "custom"}}
        (tmp_path / "config.yaml").write_text(json.dumps(config))
        services = build_services(paths, redactor=SecretRedactor(), environ={}, hosts=False)
        try:
            await services.start(watch=False)
            first = await say(services, "hello")
            sid = first.session_id
            assert "Thinking: high" in (await say(services, "/reasoning high", sid)).reply
            await say(services, "and now?", sid)
            assert "collapsed above" in (await say(services, "/reasoning hide", sid)).reply
            told = await say(services, "/reasoning low --global", sid)
            assert "in all sessions" in told.reply
            await say(services, "once more", sid)
        finally:
            await services.close()
        bodies = [each.json for each in server.requests if "hello" in str(each.json["messages"])]
        main = [each for each in bodies if each.get("stream")]
        assert [each.get("reasoning_effort") for each in main] == [None, "high", "low"]
        assert len({each["messages"][0]["content"] for each in main}) == 1
        assert "reasoning_effort" in (tmp_path / "config.yaml").read_text()


@pytest.mark.asyncio
async def test_status_names_both_models_and_the_room(tmp_path: Path) -> None:
    paths = HermesPaths(tmp_path, tmp_path)
    with ModelServer() as server:
        model = {"default": "m", "base_url": server.base_url, "provider": "custom"}
        config = {"model": {**model, "context_length": 64_000}}
        (tmp_path / "config.yaml").write_text(json.dumps(config))
        services = build_services(paths, redactor=SecretRedactor(), environ={}, hosts=False)
        try:
            await services.start(watch=False)
            sid = (await say(services, "hello")).session_id
            told = (await say(services, "/status", sid)).reply
            assert "- Model: m\n" in told
            assert "of 64,000 tokens (0 %)" in told
            await say(services, "/model other", sid)
            await say(services, "/reasoning low", sid)
            told = (await say(services, "/status", sid)).reply
            assert "- Model: other, thinking low in this session, m in the settings\n" in told
            assert "Context: about" in (await say(services, "/usage", sid)).reply
        finally:
            await services.close()
