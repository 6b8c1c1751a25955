"""What Telegram says no to. The other side is a small server of our own, not Telegram itself."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.gateway.config.gateway_config import Platform, PlatformConfig
from hermes_desktop.gateway.platforms.checks import answered
from hermes_desktop.gateway.platforms.messages import MessageEvent, Piece, Question, SendResult
from hermes_desktop.gateway.platforms.registry import AdapterContext
from hermes_desktop.gateway.platforms.shipped import shipped_platforms
from hermes_desktop.gateway.platforms.telegram.adapter import TelegramAdapter, menu
from hermes_desktop.gateway.platforms.telegram.serving import Serving
from tests.fakes.bot_api_emulator import TOKEN
from tests.fakes.model_server import ends_early, text
from tests.fakes.telegram_server import TelegramServer, telegram_server
from tests.fakes.telegram_stage import TelegramStage, telegram_stage
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio

STREAMING = {"enabled": True, "edit_interval": 0.05, "buffer_threshold": 1}


class Taken:
    """Messages that came in; kept as soon as they are taken unless told otherwise."""

    def __init__(self, adapter: TelegramAdapter) -> None:
        self.adapter = adapter
        self.events: list[MessageEvent] = []
        self.keeps = True

    def take(self, event: MessageEvent) -> "asyncio.Task[str | None]":
        async def end() -> str | None:
            if not self.keeps:
                await asyncio.sleep(3600)
            return "done"

        self.events.append(event)
        if self.keeps:
            self.adapter.message_kept(event)
        return asyncio.create_task(end())


def config_of(telegram: TelegramServer, token: str = TOKEN, **extra: Any) -> PlatformConfig:
    return PlatformConfig(
        enabled=True, token=token, extra={"base_url": telegram.base_url, "poll_timeout": 2} | extra
    )


@contextlib.asynccontextmanager
async def connected(
    telegram: TelegramServer, home: Path = Path(), **extra: Any
) -> AsyncIterator[tuple[TelegramAdapter, Taken]]:
    context = AdapterContext(Platform.TELEGRAM, home)
    adapter = TelegramAdapter(config_of(telegram, **extra), context)
    taken = Taken(adapter)
    adapter.set_message_handler(taken.take)
    try:
        assert await adapter.connect()
        yield adapter, taken
    finally:
        await adapter.disconnect()


@contextlib.asynccontextmanager
async def growing(folder: Path) -> AsyncIterator[tuple[TelegramServer, TelegramStage]]:
    """A gateway whose replies grow in their chats."""
    async with (
        telegram_server() as telegram,
        telegram_stage(folder, telegram.base_url, streaming=STREAMING) as stage,
    ):
        yield telegram, stage


async def test_a_wrong_token_is_refused_in_telegrams_words_and_never_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    planted = "987654:AAPlantedTokenThatNobodyMaySee1234567"
    async with telegram_server() as telegram:
        config = config_of(telegram, token=planted)
        context = AdapterContext(Platform.TELEGRAM)
        adapter = TelegramAdapter(config, context)
        assert not await adapter.connect()
        failure = adapter.fatal_error
        await adapter.disconnect()
        check = shipped_platforms().check_of(Platform.TELEGRAM)
        assert check is not None
        refused = await check(config, context)
        taken = await check(config_of(telegram), context)
        nothing = await check(PlatformConfig(), context)
        telegram.refuse("getMe", 400, f"Bad Request: {TOKEN} is odd")
        echoed = await check(config_of(telegram), context)
    gone = await check(config_of(telegram), context)
    assert failure is not None
    assert (failure.code, failure.retryable) == ("bad_token", False)
    assert "Unauthorized" in failure.message
    assert (refused.kind, refused.words) == ("refused", "Unauthorized")
    assert (taken.kind, taken.name) == ("ok", "@our_bot")
    assert (nothing.kind, gone.kind) == ("misconfigured", "unreachable")
    assert TOKEN not in echoed.words
    said = f"{failure} {refused} {gone} {echoed} {adapter.token!r} {config!r} {caplog.text}"
    assert planted not in said
    assert TOKEN not in said
    assert "[secret]" in echoed.words


@pytest.mark.parametrize(
    ("token", "extra"),
    [
        ("12:ab\ncdPLANTED", {}),
        ("12:ab cd/../PLANTED", {}),
        ("PLANTED", {}),
        (TOKEN, {"base_url": "nonsense"}),
        (TOKEN, {"base_url": "ftp://x/bot"}),
        (TOKEN, {"proxy": "foo://user:PLANTED@x"}),
        (TOKEN, {"proxy": "socks5://user:PLANTED@x"}),
        (TOKEN, {"proxy": "http://user:PLANTED@[::1"}),
        (TOKEN, {"proxy": "not a url"}),
    ],
)
async def test_settings_that_make_no_sense_are_named_and_nobody_is_asked(
    token: str, extra: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    config, context = PlatformConfig(True, token, extra=extra), AdapterContext(Platform.TELEGRAM)
    adapter = TelegramAdapter(config, context)
    assert not await adapter.connect()
    await adapter.disconnect()
    check = shipped_platforms().check_of(Platform.TELEGRAM)
    assert check is not None
    answer = await answered(check(config, context))
    failure = adapter.fatal_error
    assert failure is not None
    assert (failure.code, failure.retryable, answer.kind) == ("misconfigured", False, answer.kind)
    assert answer.kind == "misconfigured"
    assert "PLANTED" not in f"{failure} {answer} {caplog.text} {config!r}"


async def test_a_missing_package_is_named_with_the_command_that_brings_it() -> None:
    def make_api(token: str, options: Any) -> Any:
        raise ModuleNotFoundError("No module named 'telegram'", name="telegram")

    config, context = PlatformConfig(True, TOKEN), AdapterContext(Platform.TELEGRAM)
    adapter = TelegramAdapter(config, context, make_api=make_api)
    assert not await adapter.connect()
    await adapter.disconnect()
    answer = await Serving(make_api).check(config, context)
    failure = adapter.fatal_error
    assert failure is not None
    assert (failure.code, failure.retryable) == ("missing_package", False)
    assert "pip install 'python-telegram-bot" in failure.message
    assert answer.kind == "missing_package"
    assert "pip install" in answer.hint


async def test_a_token_that_is_taken_back_ends_the_connection_for_good() -> None:
    async with telegram_server() as telegram, connected(telegram) as (adapter, _):
        telegram.token_is_good = False
        await until(lambda: adapter.fatal_error)
        assert adapter.fatal_error is not None
        assert (adapter.fatal_error.code, adapter.fatal_error.retryable) == ("bad_token", False)


async def test_edits_that_change_nothing_or_cannot_be_made() -> None:
    async with telegram_server() as telegram, connected(telegram) as (adapter, _):
        sent = await adapter.send("42", "**same**")
        assert sent.message_id is not None
        (piece,) = adapter.cut("**same**")
        assert (await adapter.edit_piece("42", sent.message_id, piece)).success
        assert (await adapter.edit_piece("42", sent.message_id, Piece("other"))).success
        gone = await adapter.edit_piece("42", "99999", piece)
        assert (gone.success, gone.error_kind) == (False, "not_found")
        assert telegram.texts() == ["other"]


@pytest.mark.parametrize(
    ("code", "words", "kind"),
    [
        (400, "Bad Request: can't parse entities", "bad_format"),
        (400, "Bad Request: message is too long", "too_long"),
        (403, "Forbidden: bot was blocked by the user", "forbidden"),
        (400, "Bad Request: chat not found", "not_found"),
    ],
)
async def test_texts_that_are_not_taken(code: int, words: str, kind: str) -> None:
    async with telegram_server() as telegram, connected(telegram) as (adapter, _):
        telegram.refuse("sendMessage", code, words)
        result = await adapter.send("42", "hello")
        assert (result.success, result.error_kind, result.retryable) == (False, kind, False)
        assert (await adapter.send("nonsense", "hello")).error_kind == "not_found"


async def test_a_flood_is_waited_for(tmp_path: Path) -> None:
    async with telegram_server() as telegram, telegram_stage(tmp_path, telegram.base_url) as stage:
        telegram.refuse("sendMessage", 429, "Too Many Requests: retry after 1", retry_after=1)
        began = time.monotonic()
        telegram.say("hello")
        await stage.until(telegram.texts)
        assert time.monotonic() - began >= 1
        assert len(telegram.texts()) == 1


async def test_what_nobody_knows_is_not_sent_twice(tmp_path: Path) -> None:
    async with telegram_server() as telegram, telegram_stage(tmp_path, telegram.base_url) as stage:
        telegram.drop("sendMessage")
        telegram.say("hello")
        await stage.until(lambda: stage.finished)
        await asyncio.sleep(0.5)
        assert len(telegram.texts()) == 1  # it arrived, although nobody said so
        telegram.say("again")
        await stage.until(lambda: len(stage.finished) == 2)
        await stage.until(lambda: "You said: again" in telegram.texts())


async def test_sends_that_surely_did_not_leave_may_be_tried_again() -> None:
    async with telegram_server() as telegram:
        async with connected(telegram) as (adapter, _):
            telegram.drop("sendMessage")
            with pytest.raises(TimeoutError):
                await adapter.send("42", "hello")
            telegram.refuse("sendMessage", 502, "Bad Gateway")
            with pytest.raises(TimeoutError):
                await adapter.send("42", "hello")
            port, telegram.port = telegram.port, 1
            lost = TelegramAdapter(config_of(telegram), AdapterContext(Platform.TELEGRAM))
            telegram.port = port
            with pytest.raises(OSError, match="does not respond"):
                await lost.connect()
            assert lost._api is not None
            result = await lost.send("42", "hello")
            await lost.disconnect()
        assert (result.retryable, result.error_kind) == (True, "transient")
        assert (await adapter.send("42", "hello")).retryable  # left, and never again


async def test_a_chat_that_blocked_the_bot_is_not_written_to_again(tmp_path: Path) -> None:
    async with telegram_server() as telegram, telegram_stage(tmp_path, telegram.base_url) as stage:
        telegram.refuse("sendMessage", 403, "Forbidden: bot was blocked by the user")
        telegram.say("hello")
        await stage.until(lambda: any("could not be delivered" in n.title for n in stage.notices))
        assert "telegram:42" in (stage.home / "gateway" / "dead_targets.json").read_text()
        telegram.say("I am back")
        await stage.until(telegram.texts)


async def test_a_growing_reply_slows_down_and_then_waits_for_its_end(tmp_path: Path) -> None:
    async with growing(tmp_path) as (telegram, stage):
        words = " ".join(f"w{number}" for number in range(300))
        stage.model.script(text(words, delay=0.01))
        for _ in range(3):
            telegram.refuse("editMessageText", 429, "Too Many Requests", retry_after=0.1)
        telegram.say("much, please")
        await stage.until(lambda: telegram.texts() == [words])
        edits = telegram.called("editMessageText")
        assert len(edits) == 4  # three that were refused, and the last one
        assert len(telegram.called("sendMessage")) == 1


async def test_a_growing_reply_whose_message_is_taken_away_comes_anew(tmp_path: Path) -> None:
    async with growing(tmp_path) as (telegram, stage):
        stage.model.script(text("one two three four five six seven eight", delay=0.1))
        telegram.say("count")
        await stage.until(telegram.texts)
        telegram.messages.clear()
        await stage.until(lambda: stage.finished)
        await stage.until(lambda: telegram.texts()[-1:] == [
            "one two three four five six seven eight"
        ])  # fmt: skip
        assert len(telegram.texts()) == 1


async def test_a_failed_reply_says_so_below_what_stands_there(tmp_path: Path) -> None:
    async with growing(tmp_path) as (telegram, stage):
        long = "some words that were said before everything broke and nobody knew why"
        stage.model.script(*[ends_early(long)] * 8)
        telegram.say("count")
        await stage.until(lambda: stage.finished)
        await stage.until(lambda: telegram.texts() and not any(
            "▉" in each for each in telegram.texts()))  # fmt: skip
        assert stage.finished[0].outcome == "failed"
        assert len(telegram.texts()) >= 1
        assert telegram.texts()[-1] != long


async def test_updates_that_nobody_understands_do_not_stop_the_others() -> None:
    async with telegram_server() as telegram, connected(telegram) as (_, taken):
        telegram.update(message={"message_id": "x", "nonsense": [1]})
        telegram.update(some_future_thing={"a": 1})
        telegram.update(callback_query={"id": "1"})
        telegram.say("hello")
        await until(lambda: taken.events)
        await until(lambda: not telegram.updates)
        assert [event.text for event in taken.events] == ["hello"]


async def test_what_is_not_written_down_stays_at_the_server() -> None:
    async with telegram_server() as telegram:
        async with connected(telegram) as (_, taken):
            taken.keeps = False
            telegram.say("hello")
            await until(lambda: taken.events)
            for task in asyncio.all_tasks():
                if "Taken.take" in repr(task.get_coro()):
                    task.cancel()
        assert [each["message"]["text"] for each in telegram.updates] == ["hello"]


async def test_the_menu_is_set_only_when_it_is_another() -> None:
    async with telegram_server() as telegram:
        async with connected(telegram):
            await until(lambda: telegram.commands)
        assert [(c["command"], c["description"]) for c in telegram.commands] == menu()
        async with connected(telegram):
            await until(lambda: len(telegram.called("getMyCommands")) == 2)
            await asyncio.sleep(0.1)
        assert len(telegram.called("setMyCommands")) == 1
        assert len(telegram.commands) <= 60


async def test_a_group_that_moved_and_a_topic_that_is_gone() -> None:
    async with telegram_server() as telegram, connected(telegram) as (adapter, _):
        telegram.refuse(
            "sendMessage", 400, "Bad Request: group chat was upgraded", migrate_to_chat_id=-1009
        )
        assert (await adapter.send("-9", "hello")).success
        assert (await adapter.send("-9", "again")).success
        assert [each["chat_id"] for each in telegram.called("sendMessage")] == [
            "-9", "-1009", "-1009",
        ]  # fmt: skip
        telegram.refuse("sendMessage", 400, "Bad Request: message thread not found")
        assert (await adapter.send("-9", "x", thread_id="5")).success
        assert "message_thread_id" not in telegram.called("sendMessage")[-1]


async def test_a_question_has_buttons_and_who_presses_hears() -> None:
    async with telegram_server() as telegram, connected(telegram) as (adapter, taken):
        assert adapter.has_buttons
        question = Question("q1", "May I?", (("Yes", "yes"), ("No", "no")))
        result: SendResult = await adapter.ask("42", question)
        assert result.success
        markup = telegram.called("sendMessage")[0]["reply_markup"]
        assert '"callback_data": "answer:q1:yes"' in markup
        telegram.press("answer:q1:yes")
        await until(lambda: telegram.called("answerCallbackQuery"))
        (event,) = taken.events
        assert (event.text, event.metadata["answers"]) == ("yes", "q1")
        assert telegram.called("answerCallbackQuery")[0]["text"] == "done"
        telegram.press("something old")
        await until(lambda: len(telegram.called("answerCallbackQuery")) == 2)
        assert len(taken.events) == 1


async def test_files_are_fetched_up_to_a_size(tmp_path: Path) -> None:
    async with telegram_server() as telegram:
        telegram.files = {"small": b"abc", "large": b"x" * 2000}
        async with connected(telegram, tmp_path, max_download_bytes=1000) as (adapter, taken):
            for name in telegram.files:
                document = {"file_id": name, "file_name": f"{name}.txt", "mime_type": "text/plain"}
                telegram.say("", document=document)
            await until(lambda: len(taken.events) == 2)
            small, large = [await adapter.with_media(event) for event in taken.events]
        assert [Path(path).read_bytes() for path in small.media_urls] == [b"abc"]
        assert large.media_urls == ()
        assert "could not be fetched: the file has 2000 bytes" in large.text


async def test_nothing_is_left_behind(tmp_path: Path) -> None:
    before = set(asyncio.all_tasks())
    threads = {each.name for each in threading.enumerate()}
    async with telegram_server() as telegram:
        served = set(asyncio.all_tasks())
        async with connected(telegram, tmp_path) as (_, taken):
            telegram.say("hello")
            await until(lambda: taken.events)
        lost = TelegramAdapter(config_of(telegram, token="1:x"), AdapterContext(Platform.TELEGRAM))
        await lost.disconnect()  # never connected
        assert not await lost.connect()
        await lost.disconnect()
        await lost.disconnect()
        async with telegram_stage(tmp_path, telegram.base_url, streaming=STREAMING) as stage:
            telegram.say("hello")
            await stage.until(lambda: stage.finished and telegram.texts())
            shown = {"typing", "growing reply"}
            await stage.until(lambda: not shown & {each.get_name() for each in asyncio.all_tasks()})
            typed = len(telegram.called("sendChatAction"))
            assert typed >= 1
        names = {each.get_name() for each in asyncio.all_tasks() - served - before}
        assert not {each for each in names if "telegram" in each or "typing" in each}
    left = {each.name for each in threading.enumerate()} - threads
    assert not {each for each in left if "telegram" in each}
