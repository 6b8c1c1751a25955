"""Replies that grow in their chats, over real sockets: what a person sees in the end."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.hosting import HostStage, host_stage
from tests.fakes.model_server import ends_early, hang, text, tool_call

pytestmark = [pytest.mark.two_processes, pytest.mark.asyncio]

STREAMING = {"enabled": True, "edit_interval": 0.05, "buffer_threshold": 1}
WORDS = " ".join(f"w{number}" for number in range(40))


def growing(tmp_path: Path, streaming: dict[str, Any] | None = None, **extra: Any) -> Any:
    """A stage whose chat service can change texts."""

    def prepare(home: Path) -> None:
        import yaml

        path = home / "config.yaml"
        config = yaml.safe_load(path.read_text())
        config["platforms"]["telegram"]["extra"] |= {"edits": True, **extra}
        path.write_text(yaml.safe_dump(config))

    return host_stage(tmp_path, prepare=prepare, config={"streaming": streaming or STREAMING})


async def said(stage: HostStage, words: str = "hello") -> None:
    await stage.host.start()
    stage.chat.say(words, chat="c1", user="u1")


async def test_a_reply_grows_in_one_message(tmp_path: Path) -> None:
    async with growing(tmp_path) as stage:
        stage.model.script(text(WORDS, delay=0.02))
        await said(stage)
        await stage.until(lambda: stage.chat.texts("c1") == [WORDS])
        assert stage.chat.edits > 3
        assert len(stage.chat.sent) == 1


async def test_without_streaming_nothing_is_changed(tmp_path: Path) -> None:
    async with growing(tmp_path, {"enabled": False}) as stage:
        stage.model.script(text(WORDS, delay=0.01))
        await said(stage)
        await stage.until(lambda: stage.chat.texts("c1") == [WORDS])
        assert stage.chat.edits == 0


async def test_a_long_reply_goes_on_in_further_messages(tmp_path: Path) -> None:
    async with growing(tmp_path, limit=100) as stage:
        stage.model.script(text(WORDS, delay=0.02))
        await said(stage)
        await stage.until(lambda: " ".join(stage.chat.texts("c1")) == WORDS)
        assert len(stage.chat.sent) == 2
        assert all(len(each) <= 100 for each in stage.chat.texts("c1"))


async def test_what_is_said_before_a_tool_stays_by_itself(tmp_path: Path) -> None:
    async with growing(tmp_path) as stage:
        before = tool_call("todo", said="Let me write that down first, please wait.", todos=[])
        stage.model.script(before, text("All of it is written down now."))
        await said(stage)
        await stage.until(lambda: "All of it is written down now." in stage.chat.texts("c1"))
        texts = stage.chat.texts("c1")
        assert texts[-1] == "All of it is written down now."
        assert texts[:-1] in ([], ["Let me write that down first, please wait."])


async def test_a_stopped_reply_looks_like_one(tmp_path: Path) -> None:
    async with growing(tmp_path) as stage:
        stage.model.script(hang("Some words that are said before it "))
        await said(stage)
        await stage.until(lambda: any("▉" in each for each in stage.chat.texts("c1")))
        stage.chat.say("/stop", chat="c1", user="u1")
        await stage.until(lambda: not any("▉" in each for each in stage.chat.texts("c1")))
        assert stage.chat.texts("c1")[0].endswith("…")


async def test_a_broken_reply_says_so(tmp_path: Path) -> None:
    async with growing(tmp_path) as stage:
        stage.model.script(*[ends_early(WORDS)] * 8)
        await said(stage)
        await stage.until(lambda: any("⚠️" in each for each in stage.chat.texts("c1")))
        assert not any("▉" in each for each in stage.chat.texts("c1"))


async def test_changes_that_are_not_taken_cost_no_word(tmp_path: Path) -> None:
    async with growing(tmp_path) as stage:
        refused = {"error": "slow down", "kind": "rate_limited", "retryable": True}
        stage.chat.edit_refusals = [{**refused, "retry_after": 0.05}] * 3
        stage.model.script(text(WORDS, delay=0.02))
        await said(stage)
        await stage.until(lambda: stage.chat.texts("c1") == [WORDS])
        assert stage.chat.edits == 4


async def test_a_dropped_connection_costs_no_word(tmp_path: Path) -> None:
    async with growing(tmp_path) as stage:
        stage.model.script(text(WORDS, delay=0.03))
        await said(stage)
        await stage.until(lambda: any("▉" in each for each in stage.chat.texts("c1")))
        stage.chat.drop()
        await stage.until(lambda: any(each.endswith(WORDS) for each in stage.chat.texts("c1")))


async def test_secrets_are_hidden_while_it_grows(tmp_path: Path) -> None:
    async with growing(tmp_path) as stage:
        secret = "sk-abcd1234567890efghij"
        seen: list[str] = []
        stage.model.script(text(["The key is ", *secret, " and no other. ", "Done."], delay=0.06))
        await said(stage)

        def look() -> bool:
            seen.append(json.dumps(stage.chat.texts("c1")))
            return stage.chat.texts("c1")[-1:] == [
                "The key is sk-abcd…[secret] and no other. Done."
            ]

        await stage.until(look)
        assert not any("sk-abcd1" in each for each in seen)


@pytest.mark.parametrize("limit", [None, 100])
async def test_text_that_was_thinking_leaves_the_chat(tmp_path: Path, limit: int | None) -> None:
    async with growing(tmp_path, limit=limit) as stage:
        thinking = [f"{word} " for word in WORDS.split()]
        stage.model.script(text([*thinking, "\n</think>\n\n", "Hello", " you."], delay=0.03))
        await said(stage)
        await stage.until(lambda: any("w3" in each for each in stage.chat.texts("c1")))
        await stage.until(lambda: stage.chat.texts("c1")[0] == "Hello you.")
        assert not any("w" in each for each in stage.chat.texts("c1"))
