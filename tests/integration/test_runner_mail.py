"""Messages that are brought twice, replies that do not arrive at once, restarts in between."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.delivery.delivery import MAYBE_TWICE
from hermes_desktop.gateway.delivery.resume_after_restart import note_for
from hermes_desktop.gateway.delivery.sending import SendPolicy
from hermes_desktop.state.shared_tables.delivery_store import DeliveryStore, Owner
from tests.fakes.socket_gateway import socket_gateway
from tests.fakes.socket_platform import ChatServer, chat_server
from tests.support.waiting import until


async def no_pause(_: float) -> None:
    await asyncio.sleep(0.01)


HASTY = SendPolicy(pause=no_pause, send_timeout_s=2.0, jitter=lambda: 0.0)


def wait_long(seconds: float) -> Any:
    return asyncio.sleep(3600 if seconds >= 60 else 0.01)


PATIENT = SendPolicy(pause=wait_long, send_timeout_s=2.0, jitter=lambda: 0.0)


@pytest.mark.asyncio
async def test_what_is_brought_twice_is_answered_once(tmp_path: Path) -> None:
    async with chat_server() as chat:
        chat.set(twice=True)
        async with socket_gateway(tmp_path, chat.port) as gateway:
            chat.say("hello")
            await until(lambda: chat.texts() == ["reply 1"] and gateway.is_idle)
            chat.bring_again()
            chat.say("next")
            await until(lambda: chat.texts() == ["reply 1", "reply 2"] and gateway.is_idle)
        assert chat.pending == {}


@pytest.mark.asyncio
async def test_a_message_brought_again_after_a_restart_is_not_answered_again(
    tmp_path: Path,
) -> None:
    async with chat_server() as chat:
        async with socket_gateway(tmp_path, chat.port) as gateway:
            chat.say("hello", id="m1")
            await until(lambda: chat.texts() == ["reply 1"] and gateway.is_idle)
        async with socket_gateway(tmp_path, chat.port) as gateway:
            chat.say("hello", id="m1")
            chat.say("something new", id="m2")
            await until(lambda: len(chat.texts()) == 2 and gateway.is_idle)
        assert len(gateway.model.requests) == 1
        assert chat.pending == {}


@pytest.mark.asyncio
async def test_a_connection_that_breaks_while_a_reply_is_written(tmp_path: Path) -> None:
    async with chat_server() as chat, socket_gateway(tmp_path, chat.port) as gateway:
        gateway.model.hold.clear()
        chat.say("hello")
        await until(gateway.model.asked.is_set)
        port = chat.port
        await chat.stop()
        gateway.model.hold.set()
        await until(lambda: gateway.db.open_deliveries(["telegram"]) != [])
        await until(lambda: not gateway.runner.adapters.get(Platform.TELEGRAM))
        await chat.start(port)
        await until(lambda: "reply 1" in "".join(chat.texts()) and gateway.is_idle)
        assert chat.texts() in (["reply 1"], [MAYBE_TWICE + "reply 1"])


@pytest.mark.asyncio
async def test_a_receipt_that_is_lost(tmp_path: Path) -> None:
    async with chat_server() as chat:
        chat.set(lose_receipts=1)
        async with socket_gateway(
            tmp_path, chat.port, send_policy=PATIENT, send_timeout_s=0.1
        ) as gateway:
            chat.say("hello")
            await until(lambda: chat.texts() == ["reply 1"])
            await until(lambda: gateway.db.open_deliveries(["telegram"]) != [])
            assert len(gateway.model.requests) == 1
        async with socket_gateway(tmp_path, chat.port) as gateway:
            await until(lambda: len(chat.texts()) == 2 and gateway.is_idle)
        assert chat.texts() == ["reply 1", MAYBE_TWICE + "reply 1"]


@pytest.mark.asyncio
async def test_a_chat_that_is_busy_for_a_moment(tmp_path: Path) -> None:
    async with (
        chat_server() as chat,
        socket_gateway(tmp_path, chat.port, send_policy=HASTY) as gateway,
    ):
        chat.refuse("rate_limited", retryable=True, retry_after=0.01)
        chat.say("hello")
        await until(lambda: chat.texts() == ["reply 1"] and gateway.is_idle)


@pytest.mark.asyncio
async def test_a_chat_that_is_closed_and_writes_again(tmp_path: Path) -> None:
    async with chat_server() as chat, socket_gateway(tmp_path, chat.port) as gateway:
        chat.refuse("forbidden", "the bot was blocked")
        chat.say("hello")
        await until(lambda: bool(gateway.notices) and gateway.is_idle)
        assert "blocked" in gateway.notices[0].detail
        chat.say("hello again")
        await until(lambda: chat.texts() == ["reply 2"] and gateway.is_idle)


@pytest.mark.asyncio
async def test_long_replies_are_cut_and_answer_the_message(tmp_path: Path) -> None:
    async with chat_server() as chat, socket_gateway(tmp_path, chat.port, limit=100) as gateway:
        gateway.model.pieces = [["word " * 50]]
        chat.say("tell me a lot", id="m1", thread="5")
        await until(lambda: len(chat.sent) == 3 and gateway.is_idle)
        assert [each.reply_to for each in chat.sent] == ["m1", None, None]
        assert {each.thread for each in chat.sent} == {"5"}


@pytest.mark.asyncio
async def test_answers_to_commands_are_not_owed(tmp_path: Path) -> None:
    async with chat_server() as chat, socket_gateway(tmp_path, chat.port) as gateway:

        async def dispatch(event: Any, session_key: str) -> Any:
            return "pong" if event.get_command() == "ping" else event

        gateway.runner.state.command_dispatch = dispatch
        chat.refuse("unknown", "no")
        chat.say("/ping")
        await until(lambda: chat.acked == ["m1"])
        assert gateway.unsettled() == []
        chat.say("/ping")
        await until(lambda: chat.texts() == ["pong"])


@pytest.mark.asyncio
async def test_messages_an_earlier_run_did_not_answer_come_first(tmp_path: Path) -> None:
    async with chat_server() as chat:
        async with socket_gateway(tmp_path, chat.port) as gateway:
            gateway.model.hold.clear()
            chat.say("first")
            await until(gateway.model.asked.is_set)
            await _wait_for_rows(gateway, 1)
            await _kill(gateway)
        assert chat.acked == []
        chat.say("second")
        async with socket_gateway(tmp_path, chat.port) as gateway:
            await until(lambda: len(chat.texts()) == 2 and gateway.is_idle)
            said = [text for text in gateway.model.texts() if text.startswith("user")]
        assert "second" in said[-1]
        assert chat.pending == {}


@pytest.mark.asyncio
@pytest.mark.parametrize("answered", [True, False], ids=["answered there", "open there"])
async def test_what_others_say_meanwhile_is_not_taken_for_the_answer(
    tmp_path: Path, *, answered: bool
) -> None:
    """A gateway is killed in a turn, and another program goes on in that conversation."""
    async with chat_server() as chat:
        async with socket_gateway(tmp_path, chat.port) as gateway:
            gateway.model.hold.clear()
            chat.say("What about tea?")
            await until(gateway.model.asked.is_set)
            await _wait_for_rows(gateway, 1)
            await _kill(gateway)
            (session,) = gateway.db.list_sessions_rich()
            gateway.db.append_message(session["id"], "user", "Said at the machine.")
            if answered:
                gateway.db.append_message(session["id"], "assistant", "Told at the machine.")
        async with socket_gateway(tmp_path, chat.port) as gateway:
            await until(lambda: bool(chat.texts()) and gateway.is_idle)
            told = gateway.model.texts()[-1]
        assert chat.texts() == ["reply 1"]
        assert note_for("What about tea?") in told
        assert chat.pending == {}


async def _kill(gateway: Any) -> None:
    """Let its turns end as if it had been killed."""
    tasks = list(gateway.runner.state.message_tasks._tasks)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def _wait_for_rows(gateway: Any, count: int) -> None:
    await until(lambda: gateway.db.message_count() >= count)


@pytest.mark.asyncio
async def test_a_message_of_yesterday_is_named_and_not_answered(tmp_path: Path) -> None:
    async with chat_server() as chat:
        async with socket_gateway(tmp_path, chat.port) as gateway:
            store = DeliveryStore(gateway.db, gateway.own, lambda: Owner(0))
            source = {"platform": "telegram", "chat_id": "c1"}
            event = {"text": "old", "source": source, "message_type": "text", "media": [[], []]}
            store.receive(("telegram", "c1"), "m0", "key", event)
            gateway.own.write(lambda conn: conn.execute("UPDATE inbox SET received_at = 5"))
        async with socket_gateway(tmp_path, chat.port) as gateway:
            await until(lambda: bool(gateway.notices))
            assert gateway.notices[0].title.startswith("A message waited for more than a day")
            assert gateway.unsettled() == []
        assert chat.texts() == []


@pytest.mark.asyncio
async def test_strangers_leave_no_trace(tmp_path: Path) -> None:
    async with chat_server() as chat, socket_gateway(tmp_path, chat.port) as gateway:
        chat.say("let me in", user="stranger")
        await until(lambda: chat.acked == ["m1"])
        assert chat.texts() == []
        assert (
            gateway.own.read(lambda c: c.execute("SELECT 1 FROM inbox").fetchall(), default=[])
            == []
        )


@pytest.mark.asyncio
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
async def test_whatever_goes_wrong_nothing_is_lost_or_doubled_without_a_word(
    tmp_path: Path, seed: int
) -> None:
    """Drops, silence, lost receipts, refusals, repetitions and restarts, at random."""
    chance = random.Random(seed)
    send_policy = SendPolicy(pause=no_pause, send_timeout_s=1.0, jitter=lambda: 0.0, later_s=0.5)
    patience = {"expected_silence_s": 0.3, "send_timeout_s": 0.3}
    number = 0
    notices: list[Any] = []
    async with chat_server(tick_s=0.05) as chat:
        for _ in range(3):
            async with socket_gateway(
                tmp_path, chat.port, send_policy=send_policy, **patience
            ) as gateway:
                for _ in range(60):
                    if chance.random() < 0.5:
                        number += 1
                        chat.say(f"q{number}", chat=f"c{number}", id=f"m{number}")
                    else:
                        _do_harm(chat, chance)
                    await asyncio.sleep(chance.random() * 0.03)
            notices += gateway.notices
        chat.set(silent=False, lose_receipts=0, twice=False)
        chat.refusals.clear()
        async with socket_gateway(tmp_path, chat.port, send_policy=send_policy) as gateway:
            await until(lambda: not chat.pending and gateway.is_idle)
    assert number > 50
    told = " ".join(notice.detail for notice in [*notices, *gateway.notices])
    for each in range(1, number + 1):
        texts = chat.texts(f"c{each}")
        plain = [text for text in texts if not text.startswith(MAYBE_TWICE)]
        assert texts or f"chat c{each}:" in told, f"q{each} was lost without a word"
        assert len(plain) <= 1, texts


def _do_harm(chat: ChatServer, chance: random.Random) -> None:
    kind = chance.choice(
        ("drop", "silent", "speak", "speak", "receipt", "refuse", "again", "twice")
    )
    if kind == "drop":
        chat.drop()
    elif kind == "silent":
        chat.set(silent=True)
    elif kind == "speak":
        chat.set(silent=False)
    elif kind == "receipt":
        chat.set(lose_receipts=1)
    elif kind == "refuse":
        chat.refuse("transient", retryable=True)
    elif kind == "again":
        chat.bring_again()
    else:
        chat.set(twice=not chat.faults.twice)
