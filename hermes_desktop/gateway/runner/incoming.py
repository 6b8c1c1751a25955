"""Messages on their way in: each is accepted once, and kept until it has been answered."""

import asyncio
import logging
from dataclasses import replace

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.events import Notice
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.delivery.inbound_dedup import Inbox, Ticket
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.runner.chats import Chats
from hermes_desktop.gateway.runner.state import RunnerState
from hermes_desktop.gateway.session import SessionStore
from hermes_desktop.gateway.turns.turn import TurnRecord

log = logging.getLogger(__name__)

_TIDYING_S = 3600.0


class IncomingMessages:
    """The messages that are being processed, and those that an earlier run left. On the loop.

    Attributes:
        tickets: By turn id: the message that is being processed.
    """

    def __init__(self, state: RunnerState, chats: Chats) -> None:
        self._state = state
        self._chats = chats
        self._memory_inbox = Inbox()
        self.tickets: dict[str, Ticket] = {}
        self._left_over: dict[Platform, list[Ticket]] = {}
        self._ready: dict[Platform, asyncio.Event] = {}
        self._moves: set[asyncio.Task[None]] = set()

    def expect(self, platform: Platform) -> None:
        """Mark a platform as connecting: its messages wait until interrupted chats are resumed."""
        self._ready.setdefault(platform, asyncio.Event())

    def platform_is_ready(self, platform: Platform) -> None:
        """Let the messages of a platform in: its interrupted chats were resumed."""
        self._ready.setdefault(platform, asyncio.Event()).set()

    async def wait_for_platform(self, platform: Platform) -> None:
        """Wait until the interrupted or moved chats of a platform are processed."""
        ready = self._ready.get(platform)
        if ready is not None:
            await ready.wait()
        while self._moves:
            await asyncio.wait(set(self._moves))

    def chat_moved(self, platform: Platform, old_id: str, new_id: str) -> None:
        """Move the sessions of a chat to its new id, before its next message is answered."""
        move = self._state.notices.start(self._follow(platform, old_id, new_id), name="moved chat")
        self._moves.add(move)
        move.add_done_callback(self._moves.discard)

    async def _follow(self, platform: Platform, old_id: str, new_id: str) -> None:
        self._state.bus.publish(moved_notice(platform, old_id, new_id))
        store = self._state.session_store
        try:
            await self._state.aside(follow_moved_chat, store, platform, old_id, new_id)
        except (HermesError, RuntimeError) as error:  # the latter: the runner stops
            log.warning("A chat cannot be followed to its new id: %s", error)

    # Messages of an earlier run

    async def look_back(self) -> None:
        """Find out which messages the last run did not process."""
        if self._state.mail is None:
            return
        found = await self._state.mail.inbox.left_over()
        for ticket in found.cut_off:  # their chats are marked and will be resumed
            await self._state.mail.inbox.finished(ticket)
        for ticket in found.overtaken:
            self._chats[ticket.session_key].unanswered = ticket.event.text
        if found.too_old:
            self._state.bus.publish(_unanswered(found.too_old))
        for ticket in found.waiting:
            source = ticket.event.source
            if source is not None:
                self._left_over.setdefault(source.platform, []).append(ticket)

    def take_left_over(self, platform: Platform) -> list[MessageEvent]:
        """Return the messages of a platform that an earlier run did not answer, once."""
        left_over = self._left_over.pop(platform, [])
        self.tickets.update({each.event.turn_id: each for each in left_over})
        return [each.event for each in left_over]

    async def keep_tidy(self) -> None:
        """Prune settled and old messages while running, too: a run may last for months."""
        while self._state.mail is not None:
            await asyncio.sleep(_TIDYING_S)
            await self._state.mail.inbox.prune()

    # One message

    async def take_once(self, event: MessageEvent, session_key: str) -> bool:
        """Accept a message of an authorized sender; return False for a duplicate."""
        if event.turn_id in self.tickets:
            return True
        inbox = self._state.mail.inbox if self._state.mail is not None else self._memory_inbox
        ticket = await inbox.admit(event, session_key)
        if event.source is not None and event.source.platform in self._state.adapters:
            self._state.adapters[event.source.platform].message_kept(event)
        if ticket is None:
            return False
        self.tickets[event.turn_id] = ticket
        if self._state.mail is not None and event.source is not None and not event.internal:
            source = event.source
            await self._state.mail.deliverer.chat_wrote(source.platform, source.chat_id)
        return True

    def pass_on(self, event: MessageEvent, to: MessageEvent) -> None:
        """Keep a message unprocessed until another one, which was made from it, is processed."""
        ticket = self.tickets.pop(event.turn_id, None)
        if ticket is not None:
            self.tickets[to.turn_id] = ticket

    async def note_begun(self, record: TurnRecord) -> None:
        """Record that a turn answers a message from now on; its chat is marked."""
        ticket = self.tickets.get(record.turn_id)
        if ticket is not None and self._state.mail is not None:
            await self._state.mail.inbox.begun(ticket, record.session_id)

    async def finished(self, event: MessageEvent) -> None:
        """Mark a message as processed: its reply is delivered or owed, or there is none."""
        if event.turn_id in self._state.queued_turns | self._state.left_for_next_run:
            return  # it is answered later
        ticket = self.tickets.pop(event.turn_id, None)
        if ticket is not None and self._state.mail is not None:
            await self._state.mail.inbox.finished(ticket)

    def close(self) -> None:
        """Forget the messages that are being processed; the next run finds them in the inbox."""
        self.tickets.clear()


def follow_moved_chat(store: SessionStore, platform: Platform, old_id: str, new_id: str) -> int:
    """Move the sessions of a chat to its new id. Blocking.

    A session that already exists under the new id stays.

    Returns:
        The number of moved sessions.

    Raises:
        HermesError: state.db is not available.
    """
    moved = 0
    for entry in store.list_sessions():
        origin = entry.origin
        if entry.platform is not platform or origin is None or origin.chat_id != old_id:
            continue
        source = replace(origin, chat_id=new_id)
        key = store._generate_session_key(source)  # noqa: SLF001 - see session
        if store.peek_session_id(key) is None:
            there = store.bind(key, entry.session_id, source=source)
            there.display_name, there.chat_type = entry.display_name, entry.chat_type
            store.set_model_override(key, entry.model_override)
            store.record_rotation(there)
            moved += 1
        store.forget(entry.session_key)
    return moved


def moved_notice(platform: Platform, old_id: str, new_id: str) -> Notice:
    """Return the notice for the user: lists in the settings name a chat by its id."""
    return Notice(
        "info",
        f"A group of {platform.value} has a new id.",
        f"The old ID is {old_id}, the new one {new_id}. Its sessions continue.",
        f"Replace {old_id} by {new_id} in your settings.",
        key=f"moved:{platform.value}:{old_id}",
    )


def _unanswered(tickets: tuple[Ticket, ...]) -> Notice:
    chats = {each.event.source.description for each in tickets if each.event.source is not None}
    number = len(tickets)
    what = "A message" if number == 1 else f"{number} messages"
    return Notice(
        "warning",
        f"{what} waited for more than a day and will not be answered.",
        ", ".join(sorted(chats)),
        "Write there if it is still important.",
        key="gateway:unanswered",
    )
