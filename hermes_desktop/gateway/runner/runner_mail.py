"""Reliable messaging of the runner: inbox for messages and outbox for replies."""

import asyncio
import contextlib
import logging
from functools import cached_property, partial

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.events import Notice
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.delivery import delivery
from hermes_desktop.gateway.delivery.delivery import Reply
from hermes_desktop.gateway.delivery.inbound_dedup import Inbox, Ticket
from hermes_desktop.gateway.delivery.mail import DeliveryDependencies, DeliveryParts, open_mail
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner import housekeeping, moved_chats
from hermes_desktop.gateway.runner.runner_restoring import RunnerRestoring
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns.turn import TurnRecord

log = logging.getLogger(__name__)

_TIDYING_S = 3600.0


class RunnerDelivery(RunnerRestoring):
    """Accepts each message once and makes sure that replies arrive. On the event loop.

    Attributes:
        mail: Inbox and outbox; None for a private runner, whose chat is on this machine.
        _tickets: By turn id: the message that is being processed.
        _left_over: By platform: messages that an earlier run did not answer.
        _to_resume: By platform: set once its interrupted chats were processed.
        _moves: Pending moves of chats to another id.
    """

    mail: DeliveryParts | None = None

    @cached_property
    def _own_inbox(self) -> Inbox:
        return Inbox()

    @cached_property
    def _tickets(self) -> dict[str, Ticket]:
        return {}

    @cached_property
    def _left_over(self) -> dict[Platform, list[Ticket]]:
        return {}

    @cached_property
    def _to_resume(self) -> dict[Platform, asyncio.Event]:
        return {}

    @cached_property
    def _moves(self) -> "set[asyncio.Task[None]]":
        return set()

    def expect(self, platform: Platform) -> None:
        """Mark a platform as connecting: its messages wait until interrupted chats are resumed."""
        self._to_resume.setdefault(platform, asyncio.Event())

    async def _resumed(self, platform: Platform) -> None:
        """Wait until the interrupted or moved chats of a platform are processed."""
        seen_to = self._to_resume.get(platform)
        if seen_to is not None:
            await seen_to.wait()
        while self._moves:
            await asyncio.wait(set(self._moves))

    def chat_moved(self, platform: Platform, old_id: str, new_id: str) -> None:
        """Move the sessions of a chat to its new id, before its next message is answered."""
        move = self._notices.start(self._follow(platform, old_id, new_id), name="moved chat")
        self._moves.add(move)
        move.add_done_callback(self._moves.discard)

    async def _follow(self, platform: Platform, old_id: str, new_id: str) -> None:
        self.bus.publish(moved_chats.notice(platform, old_id, new_id))
        try:
            await self._aside(moved_chats.follow, self.session_store, platform, old_id, new_id)
        except (HermesError, RuntimeError) as error:  # the latter: the runner stops
            log.warning("A chat cannot be followed to its new id: %s", error)

    def use_mail(self, parts: DeliveryDependencies) -> None:
        """Store messages and replies on the disk of a home. To be called before the start."""
        self.mail = open_mail(parts, self.adapters.get, self._redelivered)
        self.inbox_kept = True

    def _redelivered(self, session_key: str) -> None:
        """Clear the resume mark of a chat after a reply of an earlier run arrived."""

        async def clear() -> None:
            await self._aside(self.session_store.clear_resume_pending, session_key)
            for platform in list(self.adapters):
                await self._take_unfinished_away(platform)

        self._notices.start(clear(), name="redelivered")

    # Start

    async def _look_back(self) -> None:
        """Find out how the last run ended and which messages it did not process."""
        await super()._look_back()
        if self.mail is None:
            return
        found = await self.mail.inbox.left_over()
        for ticket in found.cut_off:  # their chats are marked and will be resumed
            await self.mail.inbox.finished(ticket)
        self._unanswered.update({each.session_key: each.event.text for each in found.overtaken})
        if found.too_old:
            self.bus.publish(_unanswered(found.too_old))
        for ticket in found.waiting:
            source = ticket.event.source
            if source is not None:
                self._left_over.setdefault(source.platform, []).append(ticket)

    async def _take_up(self) -> None:
        await super()._take_up()
        if self.mail is not None:
            tidying = housekeeping.supervised("settled mail", self._keep_mail_tidy, self.clock)
            self._watchers.start(tidying, name="settled mail")
            for platform in list(self.adapters):
                name = f"after connecting {platform.value}"
                self._notices.start(self.platform_connected(platform), name=name)

    async def _keep_mail_tidy(self) -> None:
        """Prune settled and old messages while running, too: a run may last for months."""
        while self.mail is not None:
            await asyncio.sleep(_TIDYING_S)
            await self.mail.inbox.prune()

    async def platform_connected(self, platform: Platform) -> None:
        """Process what waited for a platform: owed replies, interrupted chats, old messages."""
        with contextlib.suppress(HermesError, RuntimeError):  # the runner stops
            await self._take_unfinished_away(platform)
        if self.mail is not None:  # may take long and is not awaited
            owed = self.mail.deliverer.redeliver(platform)
            self._notices.start(owed, name=f"owed replies of {platform.value}")
        try:
            await self.resume_chats(platform)
        except HermesError as error:
            log.warning("Chats of %s cannot be taken up: %s", platform.value, error)
        finally:
            self._replay(platform)
            self._to_resume.setdefault(platform, asyncio.Event()).set()

    def _replay(self, platform: Platform) -> None:
        """Answer the messages that an earlier run did not, before any new ones."""
        for ticket in self._left_over.pop(platform, []):
            event = ticket.event
            self._tickets[event.turn_id] = ticket
            self._message_tasks.start(self._handle_message(event), name=f"turn {event.turn_id}")

    # One message

    async def _take_once(self, event: MessageEvent, session_key: str) -> bool:
        """Accept a message of an authorized sender; return False for a duplicate."""
        if event.turn_id in self._tickets:
            return True
        inbox = self.mail.inbox if self.mail is not None else self._own_inbox
        ticket = await inbox.admit(event, session_key)
        if event.source is not None and event.source.platform in self.adapters:
            self.adapters[event.source.platform].message_kept(event)
        if ticket is None:
            return False
        self._tickets[event.turn_id] = ticket
        if self.mail is not None and event.source is not None and not event.internal:
            source = event.source
            await self.mail.deliverer.chat_wrote(source.platform, source.chat_id)
        return True

    def pass_on(self, event: MessageEvent, to: MessageEvent) -> None:
        """Keep a message unprocessed until another one, which was made from it, is processed."""
        ticket = self._tickets.pop(event.turn_id, None)
        if ticket is not None:
            self._tickets[to.turn_id] = ticket

    async def _note_begun(self, record: TurnRecord) -> None:
        """Record that a turn answers a message from now on; its chat is marked."""
        ticket = self._tickets.get(record.turn_id)
        if ticket is not None and self.mail is not None:
            await self.mail.inbox.begun(ticket, record.session_id)

    async def _dealt_with(self, event: MessageEvent) -> None:
        """Mark a message as processed: its reply is delivered or owed, or there is none."""
        if event.turn_id in self._queued_turns | self._left_for_next_run:
            return  # it is answered later
        ticket = self._tickets.pop(event.turn_id, None)
        if ticket is not None and self.mail is not None:
            await self.mail.inbox.finished(ticket)

    async def _deliver(
        self, event: MessageEvent, adapter: PlatformAdapter, text: str, *, is_owed: bool = True
    ) -> None:
        """Deliver the reply to a message to its chat.

        Args:
            event: The message.
            adapter: Its platform.
            text: The reply.
            is_owed: It must arrive, now or later; False for replies to commands.
        """
        source = event.source
        if source is None:
            return
        if self.mail is None or adapter.platform is Platform.DESKTOP:
            await delivery.send(adapter, source.chat_id, text)
            return
        shown = await self._settle_stream(event, text)
        places = [(source.platform.value, source.chat_id, each.message_id) for each in shown]
        result = await self.mail.deliverer.deliver(
            Reply(
                platform=source.platform,
                session_key=self.session_store._generate_session_key(source),  # noqa: SLF001
                chat_id=source.chat_id,
                text=text,
                thread_id=source.thread_id,
                message_ref=event.message_id or event.turn_id,
                reply_to=event.message_id if self._quotes(source.platform) else None,
                is_owed=is_owed,
                shown=shown,
                arrived=partial(self._grow_no_more, places),
            )
        )
        await self._grow_no_more(places, whole=result.success)

    async def _send(self, adapter: PlatformAdapter, source: SessionSource, text: str) -> None:
        """Send a chat a text that replies to no message."""
        await self._deliver(MessageEvent(text, source=source), adapter, text, is_owed=False)

    def _cleaned_of_secrets(self, text: str) -> str:
        return self.mail.deliverer.without_secrets(text) if self.mail is not None else text

    async def _handle_message(self, event: MessageEvent) -> str | None:
        raise NotImplementedError

    # Stop

    async def _close_mail(self) -> None:
        if self.mail is not None:
            await self.mail.deliverer.close()
        self._tickets.clear()


def _unanswered(tickets: tuple[Ticket, ...]) -> Notice:
    chats = {each.event.source.description for each in tickets if each.event.source is not None}
    number = len(tickets)
    what = "A message" if number == 1 else f"{number} messages"
    return Notice(
        "warning",
        f"{what} waited for more than a day and will not be answered.",
        ", ".join(sorted(chats)),
        "Write there if it still matters.",
        key="gateway:unanswered",
    )
