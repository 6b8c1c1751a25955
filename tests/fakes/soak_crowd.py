"""Load for a soak test: senders of a bot, a failing service, and another program.

crowd = Crowd(chat, gateway, conversations(60), seed=1)
await crowd.storm(10.0, a_second=20)
await crowd.settle()
"""

import asyncio
import contextlib
import random
import sqlite3
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.soak_process import FURTHER_S, ForeignWriter, SoakHome
from tests.fakes.soak_words import ask, marked, note
from tests.fakes.socket_chat import ChatServer
from tests.support.waiting import until

COMMANDS = ("/status", "/help", "/usage", "/whoami", "/title A talk", "/sessions", "/nonsense")
ENDING = ("/new", "/stop")


MOST_PENDING = 150
"""No new messages are sent while this many await their answers."""


@dataclass
class Conversation:
    """One sender in one chat.

    Attributes:
        name: ``CHAT.USER``.
        kind: ``dm`` or ``group``.
        is_held: Another program is writing here; the sender is silent meanwhile.
    """

    chat: str
    user: str
    kind: str = "dm"
    asked: int = 0
    is_held: bool = False

    @property
    def name(self) -> str:
        return f"{self.chat}.{self.user}"

    @property
    def key(self) -> str:
        end = f":{self.user}" if self.kind == "group" else ""
        return f"agent:main:telegram:{self.kind}:{self.chat}{end}"


@dataclass
class Said:
    """A message of a sender, with the number of texts sent to all chats before it.

    Attributes:
        has_next: Whether the sender has asked another question since.
    """

    conversation: Conversation
    message_id: str
    text: str
    sent_before: int
    at: float
    has_next: bool = False

    @property
    def question(self) -> str:
        """``CONVERSATION/NUMBER``; "" for a command."""
        return next(iter(marked(self.text, "ask")), "")


def conversations(count: int) -> list[Conversation]:
    """Create this many conversations; in every tenth chat, two senders share a group."""
    found: list[Conversation] = []
    for number in range(count):
        if number % 10:
            found.append(Conversation(f"c{number}", f"p{number}"))
        else:
            found += [Conversation(f"g{number}", f"{who}{number}", "group") for who in "ab"]
    return found[:count]


def everybody(people: Sequence[Conversation]) -> str:
    """Return the ids of the senders in the format of the settings."""
    return ",".join(sorted({each.user for each in people}))


@dataclass
class Crowd:
    """The environment of the gateway. Runs on one loop."""

    chat: ChatServer
    gateway: SoakHome
    people: Sequence[Conversation]
    seed: int = 0
    writer: ForeignWriter | None = None
    with_resets: bool = True
    said: list[Said] = field(default_factory=list)
    commands: list[Said] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._held: set[asyncio.Task[None]] = set()
        self._looked_at = 0
        self._answered: set[str] = set()
        self._ended_at: dict[str, float] = {}
        self._latest: dict[str, Said] = {}

    async def serve(self, *, later_s: float = FURTHER_S) -> None:
        """Start the gateway with its clock put forward, and wait until its bot has logged in."""
        logins = self.chat.logins
        self.gateway.start(later_s=later_s)
        await self.until(lambda: self.chat.logins > logins)

    # Messages

    def ask(self, who: Conversation) -> None:
        """Send a question."""
        if who.name in self._latest:
            self._latest[who.name].has_next = True
        who.asked += 1
        self._say(who, f"{ask(who.name, who.asked)} what is this?", self.said)
        self._latest[who.name] = self.said[-1]

    def command(self, who: Conversation, words: str) -> None:
        """Send a command."""
        self._say(who, words, self.commands)
        if words in ENDING:
            self._ended_at[who.name] = self.commands[-1].at

    def _say(self, who: Conversation, words: str, kept: list[Said]) -> None:
        before = len(self.chat.sent)
        message = self.chat.say(words, chat=who.chat, user=who.user, chat_type=who.kind)
        kept.append(Said(who, message, words, before, time.monotonic()))

    def answered(self) -> set[str]:
        """Return the questions that are answered by some text in a chat."""
        for sent in self.chat.sent[self._looked_at :]:
            self._answered.update(marked(sent.text, "done"))
        self._looked_at = len(self.chat.sent)
        return self._answered

    async def ask_everybody(self) -> None:
        """Send a question in each conversation, no faster than they are answered."""
        for who in self.people:
            while len(self.chat.pending) > 50:
                await asyncio.sleep(0.01)
            self.ask(who)

    # Storms

    async def storm(self, seconds: float, *, a_second: float = 20.0, quiet: bool = False) -> None:
        """Run random actions for a time; with ``quiet``, the service does not fail."""
        until = time.monotonic() + seconds
        while (now := time.monotonic()) < until:
            await asyncio.sleep(min(until - now, self._chance.expovariate(a_second)))
            if len(self.chat.pending) < MOST_PENDING:
                self._act(quiet=quiet)
        self._mend()

    def _act(self, *, quiet: bool) -> None:
        who = self._chance.choice(self.people)
        if who.is_held:
            return
        dice = self._chance.random()
        if dice < 0.06:
            self.command(who, self._chance.choice(COMMANDS))
        elif dice < 0.07 and self.with_resets:
            self.command(who, self._chance.choice(ENDING))
        elif dice < 0.09:
            for _ in range(self._chance.randint(2, 4)):
                self.ask(who)
        elif dice < 0.12 and self.writer is not None:
            self._hold(self._write_note(who, self.writer))
        elif dice < 0.15 and not quiet:
            self._fail()
        else:
            self.ask(who)

    def _fail(self) -> None:
        kind = self._chance.choice(
            ("drop", "again", "twice", "receipts", "refuse", "refuse", "slow", "silent")
        )
        self.faults[kind] = self.faults.get(kind, 0) + 1
        match kind:
            case "drop":
                self.chat.drop()
            case "again":
                self.chat.bring_again()
            case "twice":
                self.chat.set(twice=not self.chat.faults.twice)
            case "receipts":
                self.chat.set(lose_receipts=1)
            case "refuse":
                self.chat.refuse("rate_limited", retryable=True, retry_after=0.2)
            case "slow":
                self.chat.set(send_delay_s=0.0 if self.chat.faults.send_delay_s else 0.1)
            case "silent":
                self._hold(self._be_silent(self._chance.uniform(0.3, 3.0)))

    async def _be_silent(self, seconds: float) -> None:
        self.chat.set(silent=True)
        await asyncio.sleep(seconds)
        self.chat.set(silent=False)

    def _mend(self) -> None:
        self.chat.set(silent=False, twice=False, send_delay_s=0.0, lose_receipts=0)
        self.chat.refusals.clear()

    # Another program

    async def _write_note(self, who: Conversation, writer: ForeignWriter) -> None:
        """Write into a conversation in which nothing is in progress."""
        session = self._session_of(who)
        if session is None or not self._is_quiet(who):
            return
        who.is_held = True
        try:
            words = note(who.name, len(self.notes) + 1)
            role = self._chance.choice(("user", "assistant"))
            if await asyncio.to_thread(writer.write, session, role, words):
                self.notes[next(iter(marked(words, "note")))] = session
                if self._chance.random() < 0.7:
                    self.ask(who)
        finally:
            who.is_held = False

    async def write_one_note(self) -> None:
        """Write into a conversation as another program; on a slow machine no storm got to it."""
        assert self.writer is not None
        for who in self.people:
            if not self.notes:
                await self._write_note(who, self.writer)

    def _is_quiet(self, who: Conversation) -> bool:
        answered = self.answered()
        latest = [each for each in self.said[-2000:] if each.conversation is who]
        open_ones = [each for each in latest if each.question not in answered]
        pending = any(each.message_id in self.chat.pending for each in latest)
        return bool(latest) and not open_ones and not pending

    def _session_of(self, who: Conversation) -> str | None:
        """Return the session of a conversation; None if the database is busy or there is none."""
        path = self.gateway.home / "state.db"
        with (
            contextlib.suppress(sqlite3.Error),
            contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as conn,
        ):
            row = conn.execute(
                "SELECT json_extract(entry_json, '$.session_id') FROM gateway_routing "
                "WHERE session_key = ?",
                (who.key,),
            ).fetchone()
            return row[0] if row else None
        return None

    def _hold(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._held.add(task)
        task.add_done_callback(self._held.discard)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition is true."""
        await until(condition)

    def where_to_look(self) -> list[str]:
        """Return the facts that are needed to investigate a failure."""
        return [f"home: {self.gateway.home}", f"faults: {self.faults}", f"seed: {self.seed}"]

    def told_of(self) -> list[dict[str, object]]:
        """Return all messages of senders, to investigate a lost answer."""
        return [
            {"id": each.message_id, "said": each.text, "chat": each.conversation.chat,
             "sent_before": each.sent_before, "at": each.at}
            for each in (*self.said, *self.commands)
        ]  # fmt: skip

    # After the storm

    async def settle(self, seconds: float = 60.0) -> None:
        """Wait until everything has ended, without further failures or messages."""
        if self._held:
            await asyncio.wait(self._held)
        self._mend()
        until = time.monotonic() + seconds
        quiet = 0
        while time.monotonic() < until and quiet < 2:
            sent = len(self.chat.sent)
            await asyncio.sleep(1.0)
            still = not self.chat.pending and sent == len(self.chat.sent)
            quiet = quiet + 1 if still else 0
            if quiet == 1 and self.open_questions():
                self.chat.drop()  # owed replies are delivered after connecting
                await asyncio.sleep(1.0)

    def open_questions(self) -> list[Said]:
        """Return the questions without an answer that their senders still wait for."""
        answered = self.answered()
        return [
            each for each in self.said if each.question not in answered and not self.was_ended(each)
        ]

    def was_ended(self, said: Said) -> bool:
        """Return whether the sender ended the turn after this message."""
        return self._ended_at.get(said.conversation.name, -1.0) >= said.at
