"""A chat whose assistant asks: at a gateway that real services host, over real sockets."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.user_requests import RequestPending, RequestResolved
from tests.fakes.hosting import HostStage, host_stage, write_config
from tests.fakes.model_server import ModelServer, Recorded, Reply, echo, text, tool_call
from tests.fakes.socket_platform import chat_server

pytestmark = [pytest.mark.two_processes, pytest.mark.asyncio]


async def ask(stage: HostStage, **arguments: Any) -> None:
    choices = {"choices": ["80", "443"]} | arguments
    stage.model.script(tool_call("clarify", question="Which port?", **choices))
    stage.model.script(text("That is all."))
    stage.chat.say("Open a port", chat="c1", user="u1")
    await stage.until(lambda: any("Which port?" in each for each in stage.chat.texts("c1")))


async def told(stage: HostStage) -> dict[str, Any]:
    await stage.until(lambda: "That is all." in stage.chat.texts("c1"))
    result: dict[str, Any] = json.loads(stage.model.requests[-1].messages[-1]["content"])
    return result


@pytest.mark.parametrize(
    ("said", "answer"), [("2", "443"), ("8080, please", "8080, please"), ("yes", "yes")]
)
async def test_the_next_message_is_the_answer(tmp_path: Path, said: str, answer: str) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        await ask(stage)
        assert stage.chat.texts("c1")[-1] == (
            "Which port?\n1. 80\n2. 443\n\n"
            "Answer with a number, or in your own words; to stop me, send /stop."
        )
        stage.chat.say(said, chat="c1", user="u1")
        assert (await told(stage))["user_response"] == answer
        assert len(stage.chat.texts("c1")) == 2
        stored = stage.services.db.get_messages(stage.services.db.list_sessions_rich()[0]["id"])
        assert [each["role"] for each in stored] == ["user", "assistant", "tool", "assistant"]


async def test_without_choices(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        await ask(stage, choices=[])
        assert "Answer with your next message; to stop me, send /stop" in stage.chat.texts("c1")[-1]
        stage.chat.say("/usr/bin is a path", chat="c1", user="u1")
        assert (await told(stage))["user_response"] == "/usr/bin is a path"


async def test_commands_are_no_answers(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        await ask(stage)
        stage.chat.say("/whoami", chat="c1", user="u1")
        await stage.until(lambda: len(stage.chat.texts("c1")) == 2)
        assert stage.services.requests.pending()
        stage.chat.say("/stop", chat="c1", user="u1")
        await stage.until(lambda: not stage.services.requests.pending())
        await stage.until(lambda: not stage.host.status.running_turns)
        assert len(stage.model.requests) == 1
        stage.chat.say("And now?", chat="c1", user="u1")
        await stage.until(lambda: "That is all." in stage.chat.texts("c1"))


async def test_somebody_else_in_the_same_chat_does_not_answer(tmp_path: Path) -> None:
    extra = {
        "platforms": {
            "telegram": {
                "enabled": True,
                "token": "123:socket-token",
                "extra": {"port": 0, "allow_from": "u1,u2"},
            }
        },
        "group_sessions_per_user": False,
    }
    async with host_stage(tmp_path) as stage:
        extra["platforms"]["telegram"]["extra"]["port"] = stage.chat.port  # type: ignore[index]
        config = json.dumps({"model": {"default": "m", "base_url": stage.model.base_url}, **extra})
        (stage.home / "config.yaml").write_text(config)
        await stage.host.start()
        stage.model.script(tool_call("clarify", question="Which port?"))
        stage.model.script(text("That is all."))
        stage.chat.say("Open a port", chat="g", user="u1", chat_type="group")
        await stage.until(stage.services.requests.pending)
        stage.chat.say("443", chat="g", user="u2", chat_type="group")
        await asyncio.sleep(0.3)
        pending = stage.services.requests.pending()
        stage.chat.say("80", chat="g", user="u1", chat_type="group")
        await stage.until(lambda: len(stage.model.requests) >= 2)
        await stage.until(lambda: not stage.services.requests.pending())
        results = [
            each["content"] for each in stage.model.requests[-1].messages if each["role"] == "tool"
        ]
        assert not any("443" in each for each in results), (pending, results)


async def test_silence_is_told(tmp_path: Path) -> None:
    async with host_stage(tmp_path, config={"agent": {"clarify_timeout": 1}}) as stage:
        await stage.host.start()
        await ask(stage)
        assert "Nobody answered in time" in (await told(stage))["note"]
        assert any("continue without" in each for each in stage.chat.texts("c1"))


async def test_answered_in_the_window_instead(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        news: list[RequestPending | RequestResolved] = []
        stage.services.bus.subscribe(RequestPending, news.append)
        stage.services.bus.subscribe(RequestResolved, news.append)
        stage.services.requests.open()
        await stage.host.start()
        await ask(stage)
        await stage.until(lambda: news)
        assert news[0].request.platform == "telegram"
        assert stage.services.requests.answer(news[0].request.id, "2")
        assert (await told(stage))["user_response"] == "443"
        assert "Answered in the window: 443" in stage.chat.texts("c1")
        assert (news[1].answer.text, news[1].answer.by) == ("443", "window")
        assert not stage.services.requests.answer(news[0].request.id, "1")


async def test_answered_in_the_chat_the_window_hears_where(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        news: list[RequestResolved] = []
        stage.services.bus.subscribe(RequestResolved, news.append)
        stage.services.requests.open()
        await stage.host.start()
        await ask(stage)
        stage.chat.say("1", chat="c1", user="u1")
        assert (await told(stage))["user_response"] == "80"
        await stage.until(lambda: news)
        assert (news[0].answer.text, news[0].answer.by) == ("80", "telegram")


async def test_a_gateway_that_stops_ends_the_question(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        await ask(stage)
        await stage.host.restart()
        assert "no longer be reached" in (await told(stage))["note"]
        assert stage.host.state == "running"
        stage.model.script(text("Another."))
        stage.chat.say("2", chat="c1", user="u1")
        await stage.until(lambda: "Another." in stage.chat.texts("c1"))


async def test_fifteen_waiting_chats_silence_neither_others_nor_the_window(tmp_path: Path) -> None:
    def respond(request: Recorded) -> Reply:
        last = str(request.messages[-1]["content"])
        return tool_call("clarify", question="Which?") if "ask me" in last else echo(request)

    async with host_stage(tmp_path) as stage:
        stage.model.responder = respond
        await stage.host.start()
        for number in range(15):
            stage.chat.say("ask me", chat=f"c{number}", user="u1")
        await stage.until(lambda: len(stage.services.requests.pending()) == 15)
        stage.chat.say("hello there", chat="other", user="u1")
        await stage.until(lambda: stage.chat.texts("other"))
        submitted = await stage.services.chat.send("hello window", session_id=None)
        await stage.until(lambda: len(stage.services.db.get_messages(submitted.session_id)) == 2)
        for number in range(15):
            stage.chat.say(f"answer {number}", chat=f"c{number}", user="u1")
        await stage.until(lambda: not stage.services.requests.pending())
        await stage.until(lambda: all(len(stage.chat.texts(f"c{n}")) == 2 for n in range(15)))
        await stage.until(lambda: not stage.host.status.running_turns)


@contextlib.asynccontextmanager
async def hosted_process(home: Path, locks: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A gateway of that home in a process of its own, which is killed at the end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.integration.hosted_replier", str(home), str(locks)),
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_killed_while_it_waits_it_asks_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with ModelServer() as model:
        async with chat_server() as chat:

            async def until(condition: Callable[[], object]) -> None:
                async with asyncio.timeout(60):
                    while not condition():
                        await asyncio.sleep(0.02)

            write_config(home, model, chat.port)
            model.script(tool_call("clarify", question="Which port?"))
            async with hosted_process(home, tmp_path / "locks"):
                chat.say("Open a port", chat="c1", user="u1")
                await until(lambda: any("Which port?" in each for each in chat.texts("c1")))
            model.script(tool_call("clarify", question="Which one, then?"), text("That is all."))
            async with hosted_process(home, tmp_path / "locks"):
                await until(lambda: any("Which one, then?" in each for each in chat.texts("c1")))
                for request in model.requests:
                    asked = [
                        call["id"] for m in request.messages for call in m.get("tool_calls", ())
                    ]
                    given = [m["tool_call_id"] for m in request.messages if m["role"] == "tool"]
                    assert asked == given
                assert any(
                    "[Called clarify(" in str(each["content"])
                    for each in model.requests[-1].messages
                )
                chat.say("443", chat="c1", user="u1")
                await until(lambda: "That is all." in chat.texts("c1"))
            result = json.loads(model.requests[-1].messages[-1]["content"])
            assert result["user_response"] == "443"
