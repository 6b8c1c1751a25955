"""Plugins and event hooks at a gateway that the real services host."""

import json
from pathlib import Path

import pytest

from hermes_desktop.core.events import Notice
from tests.fakes.hosting import host_stage
from tests.fakes.plugin_folders import enable, event_hook, plugin

pytestmark = [pytest.mark.two_processes, pytest.mark.asyncio]

HANDLER = """
import json, os
async def handle(event_type, context):
    with open(os.path.join({folder!r}, "events"), "a") as file:
        file.write(json.dumps([event_type, context]) + "\\n")
    if event_type == "command:version":
        return {{"decision": "deny", "message": "Not today."}}
"""
PLUGIN = """
def register(ctx):
    ctx.register_hook("transform_llm_output", lambda response_text, **_: response_text.upper())
    ctx.register_hook("pre_gateway_dispatch", lambda event, **_: (
        {"action": "rewrite", "text": "nothing"} if event.text == "secret" else None))
    ctx.register_command("hello", lambda args: f"Hi {args}")
"""
EVENTS = ("gateway:startup", "session:start", "agent:start", "agent:end", "command:*")


async def test_a_chat_is_told_to_event_hooks_and_plugins(tmp_path: Path) -> None:
    def prepare(home: Path) -> None:
        event_hook(home, "audit", HANDLER.format(folder=str(tmp_path)), *EVENTS)
        plugin(home, "loud", PLUGIN)
        enable(home)

    async with host_stage(tmp_path, prepare=prepare) as stage:
        await stage.host.start()
        for number, (said, answered) in enumerate(
            [
                ("hello", "HELLO FROM THE MODEL"),
                ("secret", "HELLO FROM THE MODEL"),
                ("/hello there", "Hi there"),
                ("/version", "Not today."),
            ],
            1,
        ):
            await stage.until(lambda: not stage.host.status.running_turns)
            stage.chat.say(said, chat="c1", user="u1")
            await stage.until(lambda n=number: len(stage.chat.texts("c1")) >= n)
            if said.startswith("/"):
                assert stage.chat.texts("c1")[-1] == answered
            else:
                assert stage.chat.texts("c1")[-1].isupper()
        assert stage.model.requests[-1].messages[-1]["content"].endswith("nothing")
        assert [each for each in stage.notices if isinstance(each, Notice)] == []
    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    assert events[0][1]["platforms"] == ["telegram"]
    names = [name for name, _ in events]
    assert names[:4] == ["gateway:startup", "session:start", "agent:start", "agent:end"]
    assert names[-2:] == ["command:hello", "command:version"]
    started, ended = events[2][1], events[3][1]
    assert {
        "platform": "telegram",
        "user_id": "u1",
        "chat_id": "c1",
        "chat_type": "dm",
        "message": "hello",
    }.items() <= started.items()
    assert started.keys() | {"response"} == ended.keys()


async def test_what_changed_is_told_in_the_window_and_does_not_run(tmp_path: Path) -> None:
    def prepare(home: Path) -> None:
        folder = plugin(home, "loud", PLUGIN)
        enable(home)
        (folder / "__init__.py").write_text("1 / 0\n")

    async with host_stage(tmp_path, prepare=prepare) as stage:
        await stage.until(lambda: stage.notices)
        (notice,) = stage.notices
        assert notice.key == "plugin:loud"
        sent = await stage.services.chat.send("/hello")
        finished = await stage.services.chat._adapter.wait(sent.turn_id)
        assert "There is no command /hello." in finished.reply
