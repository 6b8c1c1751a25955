"""A reply on its way out, and what becomes of it."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.events import Notice
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.delivery.delivery import (
    MAYBE_TWICE,
    Deliverer,
    Reply,
    SendPolicy,
    send,
)
from hermes_desktop.gateway.delivery.delivery_ledger import MOST_AGE_S, DeadTargets, DeliveryLedger
from hermes_desktop.gateway.platforms.base import MessageEvent, SendResult
from hermes_desktop.gateway.platforms.messages import ErrorKind, Piece, Shown
from hermes_desktop.state import SessionDB
from hermes_desktop.state.shared_tables.delivery_store import DeliveryStore, Obligation, Owner
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from tests.fakes.clock import MovableClock
from tests.fakes.platform import FakePlatform
from tests.support.waiting import until

KEY = "agent:main:telegram:dm:c1"
GONE, US = Owner(2**22 + 5, 1), Owner(2**22 + 6, 2)
OK = SendResult(success=True, message_id="1")
AWAY = SendResult(success=False, error="down", error_kind="transient", retryable=True)
UNKNOWN = SendResult(success=False, error="who knows", error_kind="unknown")
FORBIDDEN = SendResult(success=False, error="blocked", error_kind="forbidden")


class ScriptedPlatform(FakePlatform):
    """Answers as scripted, then takes everything."""

    def __init__(self) -> None:
        super().__init__()
        self.script: list[SendResult | Exception] = []
        self.asked: list[dict[str, Any]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def send(self, chat_id: str, text: str, **more: Any) -> SendResult:
        self.asked.append({"chat": chat_id, "text": text, **more})
        await self.gate.wait()
        answer = self.script.pop(0) if self.script else OK
        if isinstance(answer, Exception):
            raise answer
        if answer.success:
            self.sent.append((chat_id, text))
        return answer

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.sent]


@dataclass
class Stage:
    """A platform, the files of a home, and whoever delivers."""

    folder: Path
    platform: ScriptedPlatform = field(default_factory=ScriptedPlatform)
    clock: MovableClock = field(default_factory=MovableClock)
    workers: WorkerThreads = field(default_factory=lambda: WorkerThreads("delivery"))
    adapters: dict[Platform, Any] = field(default_factory=dict)
    pauses: list[float] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    redelivered: list[str] = field(default_factory=list)
    later: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.db = SessionDB(self.folder / "state.db", clock=self.clock)
        self.own = DesktopDatabase(self.folder / "desktop.db")
        self.dead = DeadTargets(self.folder, self.clock)
        self.adapters[Platform.TELEGRAM] = self.platform
        self.redactor = SecretRedactor()

    def store(self, owner: Owner = US) -> DeliveryStore:
        return DeliveryStore(self.db, self.own, lambda: owner, clock=self.clock)

    def deliverer(self, *, owner: Owner = US, outbox: bool = True) -> Deliverer:
        ledger = DeliveryLedger(self.store(owner), self.workers, clock=self.clock)
        return Deliverer(
            self.adapters.get,
            self.workers,
            ledger=ledger if outbox else None,
            dead=self.dead,
            redactor=self.redactor,
            notify=self.notices.append,
            redelivered=self.redelivered.append,
            send_policy=SendPolicy(
                pause=self._pause, send_timeout_s=0.2, jitter=lambda: 0.5, later_s=1000.0
            ),
        )

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if seconds >= 1000.0:
            await self.later.wait()

    def owed(self) -> list[Obligation]:
        return self.store().owed(["telegram"])

    def close(self) -> None:
        self.workers.close()
        self.db.close()
        self.own.close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.close()


def reply(text: str = "hi", **more: Any) -> Reply:
    return Reply(Platform.TELEGRAM, KEY, "c1", text, message_ref="m1", **more)


@pytest.mark.asyncio
async def test_sending_says_what_became_of_it(caplog: pytest.LogCaptureFixture) -> None:
    platform = FakePlatform()
    assert (await send(platform, "c", "hi")).success
    assert (await send(platform, "c", "")).success
    assert platform.sent == [("c", "hi")]
    platform.result = SendResult(success=False, error="forbidden")
    assert (await send(platform, "c", "hi")).error == "forbidden"
    platform.failure = OSError("down")
    assert (await send(platform, "c", "hi")).error == "down"
    platform.failure = ValueError("a bug")
    assert (await send(platform, "c", "hi")).error == "a bug"
    assert "forbidden" in caplog.text


def test_an_adapter_without_a_gateway_takes_nothing() -> None:
    with pytest.raises(RuntimeError, match="telegram"):
        FakePlatform().handle_message(MessageEvent("hi"))


@pytest.mark.asyncio
async def test_a_reply_arrives_once(stage: Stage) -> None:
    deliverer = stage.deliverer()
    assert (await deliverer.deliver(reply(thread_id="7", reply_to="m1"))).success
    assert stage.platform.asked == [
        {"chat": "c1", "text": "hi", "reply_to": "m1", "thread_id": "7"}
    ]
    assert stage.owed() == []
    assert (await deliverer.deliver(reply("  "))).success
    assert len(stage.platform.sent) == 1
    assert await deliverer.redeliver(Platform.TELEGRAM) == 0


@pytest.mark.asyncio
async def test_secrets_and_errors_of_providers_are_kept_from_chats(stage: Stage) -> None:
    stage.redactor.learn("very-secret-value")
    deliverer = stage.deliverer()
    await deliverer.deliver(reply("take sk-abcdefghijklmnop and very-secret-value"))
    await deliverer.deliver(reply("Error code: 401 - no"))
    assert stage.platform.texts[0] == "take sk-abcd…[secret] and [secret]"
    assert "401" not in stage.platform.texts[1]
    stage.adapters[Platform.DESKTOP] = stage.platform
    await deliverer.deliver(Reply(Platform.DESKTOP, KEY, "c1", "Error code: 401 - no"))
    assert stage.platform.texts[2] == "Error code: 401 - no"


@pytest.mark.asyncio
async def test_two_retries_when_it_surely_did_not_arrive(stage: Stage) -> None:
    stage.platform.script = [AWAY, AWAY]
    assert (await stage.deliverer().deliver(reply())).success
    assert stage.pauses == [2.5, 4.5]
    assert stage.platform.texts == ["hi"]


@pytest.mark.asyncio
async def test_a_platform_that_asks_to_wait_is_obeyed_once(stage: Stage) -> None:
    slow = SendResult(
        success=False, error_kind="rate_limited", retryable=True, retry_after=9.0, error="slow"
    )
    stage.platform.script = [slow, slow]
    assert (await stage.deliverer().deliver(reply())).success
    assert stage.pauses == [9.0, 4.5]


@pytest.mark.asyncio
@pytest.mark.parametrize("answer", [UNKNOWN, TimeoutError(), ConnectionResetError("reset")])
async def test_what_may_have_arrived_is_not_sent_again_at_once(
    stage: Stage, answer: SendResult | Exception
) -> None:
    stage.platform.script = [answer]
    deliverer = stage.deliverer()
    assert not (await deliverer.deliver(reply())).success
    assert len(stage.platform.asked) == 1
    assert [each.state for each in stage.owed()] == ["failed"]
    assert await deliverer.redeliver(Platform.TELEGRAM) == 1
    assert stage.platform.texts == [MAYBE_TWICE + "hi"]
    assert stage.redelivered == [KEY]
    assert stage.owed() == []
    await deliverer.close()


@pytest.mark.asyncio
async def test_a_platform_that_never_answers_costs_a_bounded_time(stage: Stage) -> None:
    stage.platform.gate.clear()
    deliverer = stage.deliverer()
    result = await deliverer.deliver(reply())
    assert (result.success, result.retryable) == (False, False)
    assert [each.state for each in stage.owed()] == ["failed"]
    await deliverer.close()


@pytest.mark.asyncio
async def test_what_surely_did_not_leave_comes_later_without_excuses(stage: Stage) -> None:
    stage.platform.script = [AWAY] * 3
    deliverer = stage.deliverer()
    assert not (await deliverer.deliver(reply())).success
    assert [each.state for each in stage.owed()] == ["pending"]
    await until(lambda: stage.pauses[-1] == 1000.0)
    stage.later.set()
    await until(lambda: stage.platform.texts == ["hi"])
    await until(lambda: stage.owed() == [])
    await deliverer.close()


@pytest.mark.asyncio
async def test_no_platform_no_attempt(stage: Stage) -> None:
    del stage.adapters[Platform.TELEGRAM]
    deliverer = stage.deliverer()
    assert not (await deliverer.deliver(reply())).success
    assert stage.pauses == []
    stage.adapters[Platform.TELEGRAM] = stage.platform
    assert await deliverer.redeliver(Platform.TELEGRAM) == 1
    assert stage.platform.texts == ["hi"]


@pytest.mark.asyncio
async def test_the_adapter_is_the_one_of_now(stage: Stage) -> None:
    new = ScriptedPlatform()
    stage.platform.script = [AWAY]

    async def swap(_: float) -> None:
        stage.adapters[Platform.TELEGRAM] = new

    stage._pause = swap  # type: ignore[method-assign]
    assert (await stage.deliverer().deliver(reply())).success
    assert new.texts == ["hi"]


@pytest.mark.asyncio
async def test_long_replies_go_in_pieces(stage: Stage) -> None:
    stage.platform.max_message_length = 100
    await stage.deliverer().deliver(reply("word " * 50, reply_to="m1"))
    assert len(stage.platform.asked) == 3
    assert [each["reply_to"] for each in stage.platform.asked] == ["m1", None, None]
    assert all(len(each["text"]) <= 100 for each in stage.platform.asked)


@pytest.mark.asyncio
async def test_a_reply_of_which_a_piece_arrived_may_be_a_duplicate(stage: Stage) -> None:
    stage.platform.max_message_length = 100
    stage.platform.script = [OK, AWAY, AWAY, AWAY]
    deliverer = stage.deliverer()
    await deliverer.deliver(reply("word " * 50))
    assert [each.state for each in stage.owed()] == ["failed"]
    stage.platform.max_message_length = None
    await deliverer.redeliver(Platform.TELEGRAM)
    assert stage.platform.texts[-1].startswith(MAYBE_TWICE)
    await deliverer.close()


@pytest.mark.asyncio
async def test_marks_that_a_platform_cannot_read_are_left_out(stage: Stage) -> None:
    bad = SendResult(success=False, error="cannot parse", error_kind="bad_format")
    stage.platform.script = [bad]
    assert (await stage.deliverer().deliver(reply("**bold** `x` " + "y" * 4000))).success
    first, second = stage.platform.texts
    assert first.startswith("bold x y")
    assert first + second == "bold x " + "y" * 4000


@pytest.mark.asyncio
async def test_a_chat_that_is_closed_to_us(stage: Stage) -> None:
    stage.platform.script = [FORBIDDEN]
    deliverer = stage.deliverer()
    await deliverer.deliver(reply())
    assert stage.dead.is_dead("telegram", "c1")
    assert [notice.title for notice in stage.notices] == ["A reply could not be delivered."]
    assert stage.owed() == []
    await deliverer.deliver(reply("second"))
    assert len(stage.platform.asked) == 1
    await deliverer.deliver(reply("only a notice", is_owed=False))
    assert len(stage.notices) == 2
    await deliverer.chat_wrote(Platform.TELEGRAM, "c1")
    assert (await deliverer.deliver(reply("third"))).success
    assert not stage.dead.is_dead("telegram", "c1")


@pytest.mark.asyncio
async def test_without_an_outbox_a_loss_is_said(stage: Stage) -> None:
    stage.platform.script = [UNKNOWN, UNKNOWN]
    deliverer = stage.deliverer(outbox=False)
    await deliverer.deliver(reply(is_owed=False))
    assert stage.notices == []
    await deliverer.deliver(reply())
    assert "who knows" in stage.notices[0].detail
    assert await deliverer.redeliver(Platform.TELEGRAM) == 0


@pytest.mark.asyncio
async def test_an_outbox_that_fails_does_not_keep_replies_back(stage: Stage) -> None:
    stage.db.close()
    assert (await stage.deliverer().deliver(reply())).success
    stage.platform.script = [UNKNOWN]
    await stage.deliverer().deliver(reply())
    assert len(stage.notices) == 1


@pytest.mark.asyncio
async def test_replies_to_one_chat_keep_their_order(stage: Stage) -> None:
    stage.platform.gate.clear()
    deliverer = stage.deliverer()
    tasks = [asyncio.create_task(deliverer.deliver(reply(str(number)))) for number in range(3)]
    await until(lambda: len(stage.platform.asked) == 1)
    assert len(stage.owed()) == 3
    stage.platform.gate.set()
    await asyncio.gather(*tasks)
    assert stage.platform.texts == ["0", "1", "2"]


# What another process left behind


def left(stage: Stage, text: str, state: str = "pending", owner: Owner = GONE) -> str:
    store = stage.store(owner)
    store.owe(Obligation(text, KEY, "telegram", "c1", None, text))
    if state != "pending":
        store.set_state(text, state)  # type: ignore[arg-type]
    return text


@pytest.mark.asyncio
async def test_owed_replies_of_the_dead_are_brought(stage: Stage) -> None:
    for text, state in (("a", "pending"), ("b", "attempting"), ("c", "failed"), ("d", "delivered")):
        left(stage, text, state)
        stage.clock.advance(1)
    assert await stage.deliverer().redeliver(Platform.TELEGRAM) == 3
    assert stage.platform.texts == ["a", MAYBE_TWICE + "b", MAYBE_TWICE + "c"]
    assert stage.owed() == []


@pytest.mark.asyncio
async def test_a_chat_that_hangs_does_not_hold_up_the_others(stage: Stage) -> None:
    store = stage.store(GONE)
    for chat in ("slow", "c2", "c3"):
        store.owe(Obligation(chat, KEY, "telegram", chat, None, chat))
    hang = stage.platform.gate

    async def send(chat_id: str, text: str, **more: Any) -> SendResult:
        if chat_id == "slow":
            await hang.wait()
        stage.platform.sent.append((chat_id, text))
        return OK

    hang.clear()
    stage.platform.send = send  # type: ignore[method-assign]
    task = asyncio.create_task(stage.deliverer().redeliver(Platform.TELEGRAM))
    await until(lambda: stage.platform.texts == ["c2", "c3"])
    hang.set()
    assert await task == 3


@pytest.mark.asyncio
async def test_owed_replies_of_the_living_are_theirs(stage: Stage) -> None:
    left(stage, "theirs", owner=Owner(1, None))
    assert await stage.deliverer().redeliver(Platform.TELEGRAM) == 0
    assert await stage.deliverer().redeliver(Platform.DISCORD) == 0


@pytest.mark.asyncio
async def test_after_three_attempts_or_a_day_it_is_given_up_and_said(stage: Stage) -> None:
    left(stage, "x", "attempting")
    stage.platform.script = [UNKNOWN] * 3
    deliverer = stage.deliverer()
    for attempt in range(1, 4):
        assert await deliverer.redeliver(Platform.TELEGRAM) == 0
        assert [(each.state, each.attempts) for each in stage.owed()] == [("failed", attempt)]
        if attempt < 3:
            assert await deliverer.redeliver(Platform.TELEGRAM) == 0, "so soon again"
            assert len(stage.platform.asked) == attempt
            stage.clock.advance(1000)
    assert await deliverer.redeliver(Platform.TELEGRAM) == 0
    assert stage.owed() == []
    assert "who knows" in stage.notices[-1].detail
    left(stage, "old")
    stage.clock.advance(MOST_AGE_S + 1)
    await deliverer.redeliver(Platform.TELEGRAM)
    assert "too old" in stage.notices[-1].detail
    assert stage.owed() == []
    await deliverer.close()


@pytest.mark.asyncio
async def test_attempts_that_surely_did_not_leave_do_not_count(stage: Stage) -> None:
    left(stage, "x", "attempting")
    stage.platform.script = [AWAY] * 15
    deliverer = stage.deliverer()
    for _ in range(5):
        assert await deliverer.redeliver(Platform.TELEGRAM) == 0
        assert [(each.state, each.attempts) for each in stage.owed()] == [("failed", 0)]
    assert await deliverer.redeliver(Platform.TELEGRAM) == 1
    assert stage.platform.texts == [MAYBE_TWICE + "x"]
    await deliverer.close()
    left(stage, "y")
    assert await deliverer.redeliver(Platform.TELEGRAM) == 0


@pytest.mark.asyncio
async def test_what_is_under_way_is_not_brought_twice(stage: Stage) -> None:
    stage.platform.gate.clear()
    deliverer = stage.deliverer()
    first = asyncio.create_task(deliverer.deliver(reply()))
    await until(lambda: len(stage.platform.asked) == 1)
    assert await deliverer.redeliver(Platform.TELEGRAM) == 0
    stage.platform.gate.set()
    assert (await first).success
    left(stage, "a")
    both = await asyncio.gather(
        deliverer.redeliver(Platform.TELEGRAM), deliverer.redeliver(Platform.TELEGRAM)
    )
    assert sum(both) == 1
    assert stage.platform.texts == ["hi", "a"]


@pytest.mark.asyncio
async def test_a_reply_that_a_lost_connection_refuses_is_sent_over_the_new_one(
    stage: Stage,
) -> None:
    deliverer = stage.deliverer()
    stage.platform.gate.clear()
    stage.platform.script = [AWAY] * 3
    sending = asyncio.ensure_future(deliverer.deliver(reply("the answer")))
    await until(lambda: stage.platform.asked)
    assert await deliverer.redeliver(Platform.TELEGRAM) == 0  # it is still being sent
    stage.platform.gate.set()
    assert not (await sending).success
    await until(lambda: stage.platform.texts == ["the answer"])
    assert not stage.later.is_set()
    await until(lambda: stage.owed() == [])
    await deliverer.close()


@pytest.mark.asyncio
async def test_so_is_one_that_may_have_arrived_before(stage: Stage) -> None:
    left(stage, "x", "attempting")
    deliverer = stage.deliverer()
    stage.platform.gate.clear()
    stage.platform.script = [AWAY] * 3
    first = asyncio.ensure_future(deliverer.redeliver(Platform.TELEGRAM))
    await until(lambda: stage.platform.asked)
    assert await deliverer.redeliver(Platform.TELEGRAM) == 0  # it is still being sent
    stage.platform.gate.set()
    assert await first == 0
    await until(lambda: stage.platform.texts == [MAYBE_TWICE + "x"])
    assert not stage.later.is_set()
    await deliverer.close()


@pytest.mark.asyncio
async def test_a_chat_that_wants_to_be_left_for_long_holds_up_no_other(stage: Stage) -> None:
    deliverer = stage.deliverer()
    flood = SendResult(
        success=False, error="slow down", error_kind="rate_limited", retryable=True,
        retry_after=86_400.0,
    )  # fmt: skip
    stage.platform.script = [flood, AWAY, AWAY, AWAY]
    await deliverer.deliver(reply("to the crowd"))
    other = Reply(Platform.TELEGRAM, f"{KEY}2", "c2", "to somebody else", message_ref="m2")
    await deliverer.deliver(other)
    await until(lambda: stage.pauses.count(1000.0) >= 1)
    assert max(stage.pauses) == 1000.0  # nobody waits for a day
    stage.later.set()
    await until(lambda: len(stage.platform.texts) == 2 and not stage.owed())
    await deliverer.close()


@pytest.mark.asyncio
async def test_it_is_told_that_a_reply_arrived_before_that_is_noted(stage: Stage) -> None:
    seen: list[str] = []

    async def arrived() -> None:
        seen.extend(owed.state for owed in stage.owed())

    deliverer = stage.deliverer()
    await deliverer.deliver(reply(arrived=arrived))
    assert seen == ["attempting"]
    assert not stage.owed()
    stage.platform.script = [UNKNOWN]
    await deliverer.deliver(reply("lost", arrived=arrived))
    assert seen == ["attempting"]
    await deliverer.close()


class Changing(ScriptedPlatform):
    """Has texts that can be changed."""

    def __init__(self) -> None:
        super().__init__()
        self.edits: list[SendResult] = []
        self.away: list[str] = []

    async def edit_piece(self, chat_id: str, message_id: str, piece: Piece) -> SendResult:
        return self.edits.pop(0) if self.edits else OK

    async def delete_message(self, chat_id: str, message_id: str) -> bool:
        self.away.append(message_id)
        return True


@pytest.mark.asyncio
@pytest.mark.parametrize("error", ["rate_limited", "transient", "forbidden"])
async def test_what_cannot_be_changed_now_stays_until_the_reply_comes_anew(
    stage: Stage, error: ErrorKind
) -> None:
    stage.platform = Changing()
    stage.adapters[Platform.TELEGRAM] = stage.platform
    refused = SendResult(
        success=False, error="no", error_kind=error, retryable=error != "forbidden",
        retry_after=3600.0 if error == "rate_limited" else None,
    )  # fmt: skip
    stage.platform.edits = [refused] * 3
    deliverer = stage.deliverer()
    half = Shown("7", Piece("half of"))
    result = await deliverer.deliver(reply("half of it", shown=(half,)))
    assert not result.success
    assert (stage.platform.texts, stage.platform.away) == ([], [])
    stage.later.set()
    if error != "forbidden":
        await until(lambda: stage.platform.texts == ["half of it"])
        await until(lambda: stage.redelivered)  # by which it is known what is to be taken away
    await deliverer.close()


@pytest.mark.asyncio
async def test_what_is_gone_comes_anew_at_once(stage: Stage) -> None:
    stage.platform = Changing()
    stage.adapters[Platform.TELEGRAM] = stage.platform
    stage.platform.edits = [SendResult(success=False, error="gone", error_kind="not_found")]
    deliverer = stage.deliverer()
    half, spare = Shown("7", Piece("half")), Shown("8", Piece("too much"))
    assert (await deliverer.deliver(reply("half of it", shown=(half, spare)))).success
    assert (stage.platform.texts, stage.platform.away) == (["half of it"], ["7", "8"])
    await deliverer.close()
