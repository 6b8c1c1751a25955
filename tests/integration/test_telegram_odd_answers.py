"""Servers, networks and updates that are not as the Bot API says. The server is one of our own."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.gateway.config.gateway_config import Platform, PlatformConfig
from hermes_desktop.gateway.platforms.messages import MessageEvent
from hermes_desktop.gateway.platforms.registry import AdapterContext
from hermes_desktop.gateway.platforms.telegram.adapter import TelegramAdapter
from hermes_desktop.gateway.platforms.telegram.serving import check
from tests.fakes.bot_api_emulator import TOKEN
from tests.fakes.model_server import text
from tests.fakes.program import rows
from tests.fakes.telegram_server import BOT, TelegramServer, telegram_server
from tests.fakes.telegram_stage import TelegramStage, telegram_stage
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio

STREAMING = {"enabled": True, "edit_interval": 0.05, "buffer_threshold": 1}
GROUP = {"id": -100, "type": "supergroup", "title": "Team"}


def config_of(telegram: TelegramServer, **extra: Any) -> PlatformConfig:
    given = {"base_url": telegram.base_url, "poll_timeout": 1} | extra
    return PlatformConfig(enabled=True, token=TOKEN, extra=given)


@contextlib.asynccontextmanager
async def connected(
    telegram: TelegramServer, home: Path = Path(), **extra: Any
) -> AsyncIterator[tuple[TelegramAdapter, list[MessageEvent]]]:
    context = AdapterContext(Platform.TELEGRAM, home)
    adapter = TelegramAdapter(config_of(telegram, **extra), context)
    events: list[MessageEvent] = []

    def take(event: MessageEvent) -> "asyncio.Task[str | None]":
        async def end() -> str | None:
            return ""

        events.append(event)
        adapter.message_kept(event)
        return asyncio.create_task(end())

    adapter.set_message_handler(take)
    try:
        assert await adapter.connect()
        yield adapter, events
    finally:
        await adapter.disconnect()


def is_idle(stage: TelegramStage) -> bool:
    return stage.services.gateway.look().running_turns == 0


def about_numbers(telegram: TelegramServer) -> list[str]:
    return [each for each in telegram.texts() if "number " in each]


# What is not Telegram


@pytest.mark.parametrize("code", [200, 302, 401, 403, 404, 429, 502])
async def test_a_page_in_between_says_nothing_about_token_and_chats(
    tmp_path: Path, code: int
) -> None:
    async with telegram_server() as telegram:
        for method in ("getMe", "deleteWebhook"):
            telegram.page(method, code)
            adapter = TelegramAdapter(config_of(telegram), AdapterContext(Platform.TELEGRAM))
            with pytest.raises(OSError, match="Telegram does not respond"):
                await adapter.connect()
            await adapter.disconnect()
        telegram.page("getMe", code)
        found = await check(config_of(telegram))
        assert found.kind == "unreachable"
        assert code >= 500 or found.words == f"something else answered in its place (HTTP {code})"
        async with connected(telegram) as (adapter, events):
            telegram.page("sendMessage", code)
            with pytest.raises(TimeoutError):
                await adapter.send("42", "hello")
            telegram.page("getUpdates", code)
            telegram.say("hello")
            await until(lambda: events)
            assert adapter.fatal_error is None
        async with telegram_stage(tmp_path, telegram.base_url) as stage:
            telegram.page("sendMessage", code)
            telegram.say("and now?")
            await stage.until(lambda: stage.finished)
            await stage.until(lambda: telegram.called("sendMessage")[1:])
            assert not (stage.home / "gateway" / "dead_targets.json").exists()
            assert not any("could not be delivered" in each.title for each in stage.notices)


@pytest.mark.parametrize(
    "answer",
    [
        {"ok": True}, {"ok": True, "result": None}, {"ok": True, "result": {}},
        {"ok": True, "result": [1]}, {"ok": True, "result": "x"}, [], "nonsense", {}, None,
        {"ok": "yes", "result": BOT},
    ],
)  # fmt: skip
async def test_answers_that_make_no_sense_are_no_answers(answer: Any) -> None:
    async with telegram_server() as telegram:
        telegram.answer("getMe", answer)
        found = await check(config_of(telegram))
        assert (found.kind, found.name) == ("unreachable", "")
        telegram.answer("getMe", answer)
        adapter = TelegramAdapter(config_of(telegram), AdapterContext(Platform.TELEGRAM))
        with pytest.raises(OSError, match="does not respond"):
            await adapter.connect()
        await adapter.disconnect()
        async with connected(telegram) as (adapter, events):
            for _ in range(2):
                telegram.answer("getUpdates", answer)
            telegram.say("hello")
            await until(lambda: events)
            assert adapter.fatal_error is None


async def test_a_no_that_comes_as_if_all_were_well_is_a_no() -> None:
    async with telegram_server() as telegram, connected(telegram) as (adapter, _):
        refusal = {"ok": False, "error_code": 403, "description": "Forbidden: bot was blocked"}
        telegram.answer("sendMessage", refusal)
        assert (await adapter.send("42", "hello")).error_kind == "forbidden"


async def test_a_very_long_pause_is_told_and_not_waited_for(tmp_path: Path) -> None:
    async with telegram_server() as telegram, telegram_stage(tmp_path, telegram.base_url) as stage:
        for _ in range(3):
            telegram.refuse(
                "getUpdates", 429, "Too Many Requests: retry after 43200", retry_after=43200
            )
        telegram.say("hello")
        await stage.until(lambda: stage.health().state != "connected")
        await stage.until(lambda: "requires a pause of 43200 s" in stage.health().detail)
        await stage.connected()
        await stage.until(telegram.texts)


@pytest.mark.parametrize("wait", [float("inf"), float("nan"), -5, "soon", None, 10**30, [1]])
async def test_pauses_that_make_no_sense_end_nothing(wait: Any) -> None:
    async with telegram_server() as telegram, connected(telegram) as (adapter, events):
        telegram.refuse("sendMessage", 429, "Too Many Requests", retry_after=wait)
        result = await adapter.send("42", "hello")
        assert (result.error_kind, result.retryable) == ("rate_limited", True)
        assert result.retry_after is None or 0 <= result.retry_after <= 86400
        if wait != 10**30:
            telegram.refuse("getUpdates", 429, "Too Many Requests", retry_after=wait)
        telegram.say("hello")
        await until(lambda: events)


# Updates


async def test_a_server_that_forgets_nothing_is_not_asked_without_end() -> None:
    async with telegram_server() as telegram:
        telegram.forgets = False
        async with connected(telegram) as (_, events):
            telegram.say("hello")
            await until(lambda: events)
            before = len(telegram.called("getUpdates"))
            await asyncio.sleep(1.5)
            assert len(telegram.called("getUpdates")) - before <= 3
            telegram.say("more")
            await until(lambda: any(event.text == "more" for event in events))


async def test_a_server_that_does_not_wait_is_not_asked_without_end() -> None:
    async with telegram_server() as telegram, connected(telegram) as (_, events):
        for _ in range(200):
            telegram.answer("getUpdates", {"ok": True, "result": []})
        before = len(telegram.called("getUpdates"))
        await asyncio.sleep(1.5)
        assert len(telegram.called("getUpdates")) - before <= 4
        telegram.forget_faults()
        telegram.say("hello")
        await until(lambda: events)


async def test_numbers_that_come_twice_or_go_backwards_lose_and_double_nothing(
    tmp_path: Path,
) -> None:
    async with telegram_server() as telegram, telegram_stage(tmp_path, telegram.base_url) as stage:
        telegram.say("one")
        await stage.until(lambda: len(telegram.texts()) == 1 and is_idle(stage))
        telegram.say("two", update_id=3)
        first = dict(telegram.updates[-1])
        telegram.updates += [first, dict(first)]
        telegram.updates[-3]["update_id"] = 7
        await stage.until(lambda: len(telegram.texts()) == 2 and is_idle(stage))
        telegram.updates = []
        telegram.say("three")
        telegram.updates[-1]["update_id"] = 1
        await stage.until(lambda: len(telegram.texts()) == 3)
        await asyncio.sleep(0.5)
        assert [each.removeprefix("You said: ") for each in telegram.texts()] == [
            "one", "two", "three",
        ]  # fmt: skip


async def test_very_many_updates_at_once(tmp_path: Path) -> None:
    people = [str(1000 + number) for number in range(30)]
    extra = {"allow_from": people}
    async with telegram_server() as telegram:
        for number in range(330):
            person = {"id": 1000 + number % 30, "is_bot": False, "first_name": "A"}
            if number % 11 == 0:
                telegram.update(edited_message={"message_id": number})
            else:
                telegram.say(f"number {number}.", chat=person["id"], **{"from": person})
        async with telegram_stage(
            tmp_path, telegram.base_url, extra=extra, display={"busy_input_mode": "queue"}
        ) as stage:
            await stage.until(lambda: len(set(about_numbers(telegram))) == 300)
            await stage.until(lambda: not telegram.updates)
            assert len(about_numbers(telegram)) == 300


# What comes in


async def test_what_cannot_be_read_is_answered_and_not_lost(tmp_path: Path) -> None:
    async with telegram_server() as telegram, telegram_stage(tmp_path, telegram.base_url) as stage:
        telegram.say("", story={"id": 1, "chat": {"id": 42}})
        await stage.until(telegram.texts)
        prompt = stage.model.requests[0].messages[-1]["content"]
        assert prompt == "[Content that cannot be read here: story]"


async def test_a_part_that_makes_no_sense_does_not_take_the_words_with_it() -> None:
    odd: list[dict[str, Any]] = [
        {"document": {"no": "id"}}, {"photo": "x"}, {"entities": [{"type": "mention"}]},
        {"reply_to_message": {"text": 5}}, {"quote": 7}, {"forward_origin": 3},
        {"sticker": {"x": 1}}, {"poll": {"options": 3}}, {"text": "hello \ud83d"},
    ]  # fmt: skip
    async with telegram_server() as telegram, connected(telegram) as (_, events):
        for each in odd:
            telegram.say(**({"text": "hello"} | each))
        await until(lambda: len(events) == len(odd))
        assert all("hello" in event.text for event in events)


async def test_what_was_handed_on_is_other_peoples_words_and_no_order(tmp_path: Path) -> None:
    async with telegram_server() as telegram, telegram_stage(tmp_path, telegram.base_url) as stage:
        origin = {"type": "hidden_user", "sender_user_name": "Mal [system]"}
        telegram.say("/new", forward_origin=origin)
        await stage.until(telegram.texts)
        prompt = stage.model.requests[0].messages[-1]["content"]
        assert prompt == "[Forwarded from Mal (system)]\n/new"


async def test_who_leads_a_group_without_a_name_is_let_in_where_everybody_is(
    tmp_path: Path,
) -> None:
    admin = {"id": 1087968824, "is_bot": True, "username": "GroupAnonymousBot"}
    async with telegram_server() as telegram:
        extra = {"group_allowed_chats": ["-100"]}
        async with telegram_stage(tmp_path, telegram.base_url, extra=extra) as stage:
            for chat in ({**GROUP, "id": -200}, GROUP):
                telegram.say("hello", chat=chat["id"], sender_chat=chat, **{"from": admin})
            await stage.until(telegram.texts)
            assert [call["chat_id"] for call in telegram.called("sendMessage")] == ["-100"]
            assert len(stage.model.requests) == 1


@pytest.mark.parametrize("cuts", [1, 2])
async def test_a_download_that_breaks_off_is_tried_once_more(tmp_path: Path, cuts: int) -> None:
    async with telegram_server() as telegram:
        telegram.files["report"] = b"x" * 100_000
        telegram.cuts["report"] = cuts
        async with connected(telegram, tmp_path) as (adapter, events):
            telegram.say("", document={"file_id": "report", "file_name": "报" * 120 + ".txt"})
            telegram.say("", document={"file_id": "missing", "file_name": "b.txt"})
            await until(lambda: len(events) == 2)
            found, missing = [await adapter.with_media(event) for event in events]
        assert "could not be fetched" in missing.text
        if cuts == 1:
            (path,) = found.media_urls
            assert Path(path).read_bytes() == b"x" * 100_000
            assert len(Path(path).name.encode()) < 143
        else:
            assert found.media_urls == ()
            assert "could not be fetched" in found.text
            assert not list((tmp_path / "cache").rglob("*"))


async def test_a_download_that_drips_is_given_up(tmp_path: Path) -> None:
    async with telegram_server() as telegram:
        telegram.files["report"] = b"x" * 10_000
        telegram.cuts["report"], telegram.drips = 5, True
        async with connected(telegram, tmp_path, download_timeout=0.5) as (adapter, events):
            telegram.say("", document={"file_id": "report", "file_name": "a.txt"})
            await until(lambda: events)
            async with asyncio.timeout(60):
                found = await adapter.with_media(events[0])
        assert found.text.endswith("could not be fetched: it took longer than 0.5 s.]")
        assert telegram.cuts["report"] == 4  # and not tried again


# What goes out


async def test_nothing_behind_a_link_is_fetched_before_somebody_follows_it(tmp_path: Path) -> None:
    async with (
        telegram_server() as telegram,
        telegram_stage(tmp_path, telegram.base_url, streaming=STREAMING) as stage,
    ):
        words = "Look at https://evil.example/?secret=abc now, " + "word " * 20
        stage.model.script(text(words, delay=0.05))
        telegram.say("hello")
        await stage.until(lambda: telegram.texts() == [words.strip()])
        calls = telegram.called("sendMessage") + telegram.called("editMessageText")
        assert len(calls) > 1
        assert all(json.loads(c["link_preview_options"]) == {"is_disabled": True} for c in calls)
    async with telegram_server() as telegram, connected(telegram, link_previews=True) as (a, _):
        await a.send("42", "https://x.org")
        options = telegram.called("sendMessage")[0]["link_preview_options"]
        assert json.loads(options) == {"is_disabled": False}


async def test_halves_of_characters_are_sent_as_what_they_are_not() -> None:
    async with telegram_server() as telegram, connected(telegram) as (adapter, _):
        assert (await adapter.send("42", "a \ud83d **b** \ude00")).success
        assert telegram.texts() == ["a \ufffd b \ufffd"]
        (mark,) = json.loads(telegram.called("sendMessage")[0]["entities"])
        assert (mark["offset"], mark["length"]) == (4, 1)


async def test_a_text_whose_marks_are_refused_comes_whole_without_them(tmp_path: Path) -> None:
    async with telegram_server() as telegram, telegram_stage(tmp_path, telegram.base_url) as stage:
        code = "\n".join(f"def __init__(self, `a{number}`): **kw" for number in range(115))
        assert 3500 < len(code) < 4096
        stage.model.script(text(f"```\n{code}\n```"))
        telegram.refuse("sendMessage", 400, "Bad Request: can't parse entities: odd")
        telegram.say("hello")
        await stage.until(telegram.texts)
        assert telegram.texts() == [code]
        assert "entities" not in telegram.called("sendMessage")[1]


async def test_links_of_a_refused_text_keep_their_addresses(tmp_path: Path) -> None:
    async with telegram_server() as telegram, telegram_stage(tmp_path, telegram.base_url) as stage:
        links = [f"[w{n}](https://example.org/{'p' * 60}/{n})" for n in range(40)]
        stage.model.script(text(" ".join(links)))
        telegram.refuse("sendMessage", 400, "Bad Request: entities_too_long")
        telegram.say("hello")
        await stage.until(lambda: len(telegram.texts()) > 1)
        shown = " ".join(telegram.texts())
        assert all(f"w{n} (https://example.org/{'p' * 60}/{n})" in shown for n in range(40))


async def test_a_long_text_is_read_beside_the_loop() -> None:
    dense = "- **a** `b` [c](https://x.org) *d*\n  - e ~~f~~\n" * 3000
    async with telegram_server() as telegram, connected(telegram) as (adapter, _):
        alone = time.monotonic()
        expected = adapter.cut(dense)
        alone = time.monotonic() - alone
        longest, before = 0.0, time.monotonic()
        reading = asyncio.create_task(adapter.cut_aside(dense))
        while not reading.done():
            await asyncio.sleep(0.001)
            longest, before = max(longest, time.monotonic() - before), time.monotonic()
        assert await reading == expected
        assert longest < alone / 2
    assert await adapter.cut_aside(dense) == expected  # it was left


async def test_a_reply_whose_last_change_was_cut_off_stands_there_once(tmp_path: Path) -> None:
    async with (
        telegram_server() as telegram,
        telegram_stage(tmp_path, telegram.base_url, streaming=STREAMING) as stage,
    ):
        words = " ".join(f"w{number}" for number in range(40))
        stage.model.script(text(words, delay=0.02))
        telegram.say("count")
        await stage.until(telegram.texts)
        telegram.hangs_up = True  # nobody gets through from now on
        await stage.until(lambda: stage.finished)
        telegram.hangs_up = False
        await stage.connected()
        await stage.until(lambda: any(each.endswith(words) for each in telegram.texts()))
        await stage.until(lambda: len(telegram.texts()) == 1)
        growing = stage.home / "desktop" / "growing-replies.json"
        await stage.until(lambda: growing.read_text() == "[]")


async def test_a_group_that_becomes_a_supergroup_goes_on_with_its_session(tmp_path: Path) -> None:
    async with telegram_server() as telegram, telegram_stage(tmp_path, telegram.base_url) as stage:
        telegram.say("my name is Quentin", chat=-9)
        await stage.until(telegram.texts)
        telegram.say("", chat=-9, migrate_to_chat_id=-1009)
        telegram.say("", chat=-1009, migrate_from_chat_id=-9)
        telegram.say("who am I?", chat=-1009)
        await stage.until(lambda: len(telegram.texts()) == 2)
        assert "Quentin" in json.dumps(stage.model.requests[-1].messages)
        assert [call["chat_id"] for call in telegram.called("sendMessage")] == ["-9", "-1009"]
        assert any("-1009" in each.detail for each in stage.notices)
        assert len(rows(stage.home)) == 1


async def test_who_changes_a_message_is_answered_anew(tmp_path: Path) -> None:
    async with telegram_server() as telegram, telegram_stage(tmp_path, telegram.base_url) as stage:
        telegram.say("How high is the Mount Blank?")
        await stage.until(lambda: telegram.texts() and is_idle(stage))
        sent = telegram.called("sendMessage")[0]
        number = json.loads(sent["reply_parameters"])["message_id"]
        changed = {
            "message_id": number, "date": 1, "chat": {"id": 42, "type": "private"},
            "from": {"id": 42, "is_bot": False, "first_name": "Alice"},
        }  # fmt: skip
        telegram.update(edited_message=changed | {"edit_date": 2, "location": {"latitude": 1}})
        telegram.update(
            edited_message=changed | {"edit_date": 3, "text": "How high is the Mount Blank?"}
        )
        new = "/new How high is Mont Blanc?"
        for _ in range(2):  # it is told twice
            telegram.update(edited_message=changed | {"edit_date": 4, "text": new})
        await stage.until(lambda: len(telegram.texts()) == 2)
        telegram.update(edited_message=changed | {"message_id": 3, "edit_date": 5, "text": "old"})
        await stage.until(lambda: not telegram.updates)
        prompt = stage.model.requests[-1].messages[-1]["content"]
        assert prompt == (
            "[I have changed my message “How high is the Mount Blank?”. Now it says:]\n" + new
        )
        assert len(stage.model.requests) == 2
        again = json.loads(telegram.called("sendMessage")[1]["reply_parameters"])
        assert again["message_id"] == number


async def test_who_opens_the_chat_is_told_what_there_is(tmp_path: Path) -> None:
    async with telegram_server() as telegram, telegram_stage(tmp_path, telegram.base_url) as stage:
        telegram.say("/start")
        await stage.until(telegram.texts)
        assert "/new" in telegram.texts()[0]
        assert "/help" in telegram.texts()[0]
        assert not stage.model.requests


async def test_an_album_is_one_message_whoever_writes_between() -> None:
    async with (
        telegram_server() as telegram,
        connected(telegram, require_mention=True) as (
            adapter,
            events,
        ),
    ):
        other = {"id": 43, "is_bot": False, "first_name": "Bob"}
        name = [{"type": "mention", "offset": 0, "length": 8}]
        for number, words in enumerate(("@our_bot what are these?", "", "")):
            picture = [{"file_id": f"p{number}", "width": 1, "height": 1}]
            album = {"photo": picture, "media_group_id": "g"}
            caption = {"caption": words, "caption_entities": name} if words else {}
            telegram.say("", chat=-100, **album, **caption)
            telegram.say("@our_bot me, too", chat=-100, entities=name, **{"from": other})
        await until(lambda: len(events) == 4)
        await until(lambda: not telegram.updates)  # each was acknowledged
        assert [event.text for event in events] == ["what are these?"] + ["me, too"] * 3
        assert len(json.loads(events[0].metadata["telegram_files"])) == 3
        assert adapter.fatal_error is None
