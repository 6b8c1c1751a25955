"""Delivery of replies to their chats, with retries and redelivery; assembly of inbox and outbox.

A reply is cleaned, recorded in the outbox, sent, and settled. A reply that certainly was not sent
stays pending as if it had never been attempted; one that may have arrived is sent again with a note
that says so.
"""

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.concurrency.background_tasks import TaskSet, WorkerThreads
from hermes_desktop.core.concurrency.keyed_locks import KeyedLocks
from hermes_desktop.core.events import Notice
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.delivery.delivery_ledger import (
    DeadTargets,
    DeliveryLedger,
    means_unreachable,
)
from hermes_desktop.gateway.delivery.inbound_dedup import Inbox
from hermes_desktop.gateway.delivery.sending import (
    AdapterOf,
    Parcel,
    Sender,
    SendPolicy,
    failed,
    send_once,
)
from hermes_desktop.gateway.platforms.base import PlatformAdapter, SendResult
from hermes_desktop.gateway.platforms.messages import Shown
from hermes_desktop.gateway.platforms.reply_text import UNTOUCHED, without_provider_errors
from hermes_desktop.state import SessionDB
from hermes_desktop.state.shared_tables.delivery_store import DeliveryStore, Obligation, Owner
from hermes_desktop.state.shared_tables.delivery_table import ObligationState
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase

__all__ = ["MAYBE_TWICE", "Deliverer", "Reply", "SendPolicy", "send"]

log = logging.getLogger(__name__)

_CHATS_AT_ONCE = 4
_LONGEST_LATER_S = 900.0
"""Upper limit of a chat's requested delay, for the sake of other chats."""

MAYBE_TWICE = "♻️ You may have received this reply before: its delivery was interrupted.\n\n"


async def send(adapter: PlatformAdapter, chat_id: str, text: str) -> SendResult:
    """Send a text whose delivery is not guaranteed; log a failure. Never raises.

    An empty text is not sent: it means a deliberate silence.
    """
    if not text:
        return SendResult(success=True)
    result = await send_once(adapter, chat_id, text)
    if not result.success:
        log.warning("%s did not accept a message: %s", adapter.platform.value, result.error)
    return result


@dataclass(frozen=True, slots=True)
class Reply:
    """A text for a chat.

    Attributes:
        message_ref: What it answers: the message's id, else the turn's.
        reply_to: The message it is shown as a reply to, where the platform does that.
        is_owed: It must arrive. False for replies to commands and transient notices.
        maybe_twice: It may be in the chat already.
        shown: Messages in the chat that show its beginning, and are to show all of it.
        arrived: Awaited after it arrived, before that is recorded: a process killed in between must
            not leave a message marked as incomplete that no redelivery will replace.
    """

    platform: Platform
    session_key: str
    chat_id: str
    text: str
    thread_id: str | None = None
    message_ref: str = ""
    reply_to: str | None = None
    is_owed: bool = True
    maybe_twice: bool = False
    shown: tuple[Shown, ...] = ()
    arrived: Callable[[], Awaitable[None]] | None = None

    @property
    def place(self) -> str:
        """Identifies chat and thread."""
        return f"{self.platform.value}:{self.chat_id}:{self.thread_id or ''}"


class Deliverer:
    """Deliverer of replies. Used on the event loop.

    Args:
        adapter_of: Returns the *current* adapter of a platform: the one that received the message
            may have been replaced while the reply was written.
        workers: Worker threads for file access.
        ledger: The outbox; None: undelivered replies are lost, with a notice.
        dead: The unreachable chats.
        redactor: Removes secrets that no chat may show.
        notify: Receives notices for the user.
        redelivered: Called with the session key of each reply that was redelivered.
        send_policy: Retry settings.
    """

    def __init__(  # noqa: PLR0913 - the parts it joins; all but two are optional
        self,
        adapter_of: AdapterOf,
        workers: WorkerThreads,
        *,
        ledger: DeliveryLedger | None = None,
        dead: DeadTargets | None = None,
        redactor: SecretRedactor | None = None,
        notify: Callable[[Notice], None] = lambda _: None,
        redelivered: Callable[[str], None] = lambda _: None,
        send_policy: SendPolicy | None = None,
    ) -> None:
        self._adapter_of = adapter_of
        self._workers = workers
        self._ledger = ledger
        self._dead = dead
        self._redactor = redactor or SecretRedactor()
        self._notify = notify
        self._redelivered = redelivered
        self._send_policy = send_policy or SendPolicy()
        self._sender = Sender(adapter_of, self._send_policy)
        self._order = KeyedLocks()
        self._later = TaskSet()
        self._next_round: dict[Platform, float] = {}
        self._connections: Counter[Platform] = Counter()
        self._closed = False

    async def deliver(self, reply: Reply) -> SendResult:
        """Deliver a reply to its chat. Raises only on cancellation.

        Replies to one chat arrive in the order of the calls.
        """
        text = self._cleaned(reply.platform, reply.text)
        if not text:
            return SendResult(success=True)
        reply = replace(reply, text=text)
        name = await self._note(reply) if reply.is_owed else None
        async with self._order.hold(reply.place):
            return await self._bring(reply, name)

    async def redeliver(self, platform: Platform) -> int:
        """Deliver the owed replies of a platform that has just connected.

        Each chat gets its replies in order; a chat that hangs does not block all others.

        Returns:
            The number of delivered replies.
        """
        self._connections[platform] += 1
        return await self._deliver_owed(platform)

    async def _deliver_owed(self, platform: Platform) -> int:
        ledger = self._ledger
        if ledger is None or self._closed:
            return 0
        chats: dict[str, list[Obligation]] = {}
        for owed in await ledger.left_behind(platform.value):
            chats.setdefault(f"{owed.chat_id}:{owed.thread_id or ''}", []).append(owed)
        at_once = asyncio.Semaphore(_CHATS_AT_ONCE)

        async def see_to(chat: list[Obligation]) -> int:
            async with at_once:
                return sum([await self._see_to(ledger, platform, owed) for owed in chat])

        return sum(await asyncio.gather(*map(see_to, chats.values())))

    async def _see_to(self, ledger: DeliveryLedger, platform: Platform, owed: Obligation) -> int:
        """Deliver one owed reply, or abandon it; return the number of delivered replies."""
        reply = _of_obligation(platform, owed, self._cleaned(platform, owed.content))
        hopeless = ledger.abandon_reason(owed)
        if hopeless:
            await self._give_up(owed.obligation_id, reply, owed.last_error or hopeless)
        elif ledger.was_tried_again_lately(owed, self._send_policy.later_s):
            self._try_later(platform, None)
        elif await ledger.take_over(owed):
            return await self._bring_again(ledger, reply, owed.obligation_id)
        return 0

    async def _bring_again(self, ledger: DeliveryLedger, reply: Reply, name: str) -> int:
        async with self._order.hold(reply.place):
            result = await self._bring(reply, name)
        if result.success:
            self._redelivered(reply.session_key)
        elif result.retryable:
            await ledger.forgive(name)
        return int(result.success)

    async def chat_wrote(self, platform: Platform, chat_id: str) -> None:
        """Record that a chat is reachable, because it sent a message."""
        if self._dead is not None:
            await self._workers.run(self._dead.clear, platform.value, chat_id)

    async def close(self) -> None:
        """Cancel scheduled retries; owed replies are delivered after the next start."""
        self._closed = True
        await self._later.cancel_all()

    # One reply

    def without_secrets(self, text: str) -> str:
        """Return a text with secrets removed."""
        return self._redactor.clean(text)

    def _cleaned(self, platform: Platform, text: str) -> str:
        if platform in UNTOUCHED:
            return text
        return without_provider_errors(self._redactor.clean(text)).strip()

    async def _note(self, reply: Reply) -> str | None:
        if self._ledger is None:
            return None
        return await self._ledger.owe(
            session_key=reply.session_key,
            platform=reply.platform.value,
            address=(reply.chat_id, reply.thread_id),
            message_ref=reply.message_ref,
            text=reply.text,
        )

    async def _bring(self, reply: Reply, name: str | None) -> SendResult:
        if await self._is_dead(reply):
            result = failed("the bot may not write to the chat", "forbidden")
            await self._give_up(name, reply, result.error or "")
            return result
        connection = self._connections[reply.platform]
        adapter = self._adapter_of(reply.platform)
        if adapter is None:
            result = failed("not connected", "transient", retryable=True)
        else:
            if self._ledger is not None:
                await self._ledger.attempting(name)
            result = await self._sender.send(adapter, _parcel(reply))
            if result.success and reply.arrived is not None:
                await reply.arrived()
        await self._settle(reply, name, result, connection)
        return result

    async def _settle(
        self, reply: Reply, name: str | None, result: SendResult, connection: int
    ) -> None:
        if self._dead is not None and (result.success or means_unreachable(result.error_kind)):
            await self._workers.run(_note_target, self._dead, reply, result)
        if result.success:
            await self._note_state(name, "delivered")
            return
        log.warning("%s did not accept a message: %s", reply.platform.value, result.error)
        if name is None or means_unreachable(result.error_kind):
            await self._give_up(name, reply, result.error or "it was not accepted")
            return
        surely_not_there = result.retryable and not reply.maybe_twice
        state: ObligationState = "pending" if surely_not_there else "failed"
        await self._note_state(name, state, result.error, certainly_not_sent=result.retryable)
        if self._adapter_of(reply.platform) is None or self._closed:
            return
        if result.retryable and self._connections[reply.platform] != connection:
            # It reconnected while this reply was being sent, and so skipped it.
            self._later.start(self._deliver_owed(reply.platform), name="owed replies")
        else:
            self._try_later(reply.platform, result.retry_after)

    async def _is_dead(self, reply: Reply) -> bool:
        dead = self._dead
        if dead is None:
            return False
        return await self._workers.run(dead.is_dead, reply.platform.value, reply.chat_id)

    async def _give_up(self, name: str | None, reply: Reply, why: str) -> None:
        await self._note_state(name, "abandoned", why)
        if reply.is_owed:
            self._notify(_undelivered(reply, why))

    async def _note_state(
        self,
        name: str | None,
        state: ObligationState,
        why: str | None = None,
        *,
        certainly_not_sent: bool = False,
    ) -> None:
        if self._ledger is not None:
            await self._ledger.settle(name, state, why, certainly_not_sent=certainly_not_sent)

    # Retries

    def _try_later(self, platform: Platform, retry_after: float | None) -> None:
        wait = max(self._send_policy.later_s, min(retry_after or 0.0, _LONGEST_LATER_S))
        at = asyncio.get_running_loop().time() + wait
        if at < self._next_round.get(platform, math.inf):
            self._next_round[platform] = at
            self._later.start(self._redeliver_at(platform, at, wait), name="owed replies")

    async def _redeliver_at(self, platform: Platform, at: float, wait: float) -> None:
        try:
            await self._send_policy.pause(wait)
        finally:
            is_next = self._next_round.get(platform) == at
            if is_next:
                del self._next_round[platform]
        if is_next:  # otherwise an earlier round was scheduled
            await self._deliver_owed(platform)


def _note_target(dead: DeadTargets, reply: Reply, result: SendResult) -> None:
    if result.success:
        dead.clear(reply.platform.value, reply.chat_id)
    else:
        reason = f"{result.error_kind}: {result.error or ''}"
        dead.mark(reply.platform.value, reply.chat_id, reason)


def _parcel(reply: Reply) -> Parcel:
    text = MAYBE_TWICE + reply.text if reply.maybe_twice else reply.text
    where = (reply.thread_id, reply.reply_to)
    return Parcel(reply.platform, reply.chat_id, text, *where, shown=reply.shown)


def _of_obligation(platform: Platform, owed: Obligation, text: str) -> Reply:
    return Reply(
        platform=platform,
        session_key=owed.session_key,
        chat_id=owed.chat_id,
        text=text,
        thread_id=owed.thread_id,
        maybe_twice=owed.state != "pending",
    )


def _undelivered(reply: Reply, why: str) -> Notice:
    return Notice(
        "warning",
        "A reply could not be delivered.",
        f"{reply.platform.value}, chat {reply.chat_id}: {why}",
        "You can read it in the session.",
        key=f"undelivered:{reply.place}",
    )


@dataclass(frozen=True, slots=True)
class DeliveryParts:
    """Inbox and outbox of a gateway."""

    inbox: Inbox
    deliverer: Deliverer


@dataclass(frozen=True, slots=True)
class DeliveryDependencies:
    """The dependencies of a hosted gateway's inbox and outbox.

    Attributes:
        own: Our own store of the home.
        owner: Returns the process that holds the home's identity now.
        workers: Worker threads for file access.
        keeps_outbox: False where ``gateway.delivery_ledger`` is switched off.
    """

    home: Path
    db: SessionDB
    own: DesktopDatabase
    owner: Callable[[], Owner]
    workers: WorkerThreads
    redactor: SecretRedactor | None = None
    notify: Callable[[Notice], None] = lambda _: None
    clock: Clock = field(default_factory=SystemClock)
    send_policy: SendPolicy | None = None
    keeps_outbox: bool = True


def open_mail(
    parts: DeliveryDependencies,
    adapter_of: AdapterOf,
    redelivered: Callable[[str], None] = lambda _: None,
) -> DeliveryParts:
    """Assemble inbox and outbox. Opens nothing yet.

    Args:
        parts: Their dependencies.
        adapter_of: Returns the current adapter of a platform.
        redelivered: Called with the session key of each reply that was redelivered.
    """
    store = DeliveryStore(parts.db, parts.own, parts.owner, clock=parts.clock)
    ledger = DeliveryLedger(store, parts.workers, clock=parts.clock)
    return DeliveryParts(
        Inbox(store, parts.workers, clock=parts.clock),
        Deliverer(
            adapter_of,
            parts.workers,
            ledger=ledger if parts.keeps_outbox else None,
            dead=DeadTargets(parts.home, parts.clock),
            redactor=parts.redactor,
            notify=parts.notify,
            redelivered=redelivered,
            send_policy=parts.send_policy,
        ),
    )
