"""One turn of an agent: its text, its run on a worker thread, the relay of its output."""

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, Literal

from hermes_desktop.agent.types import (
    AgentResult,
    CallNote,
    ContextNews,
    TextRetracted,
    ToolCallAnnounced,
    ToolProgress,
    TurnAgent,
)
from hermes_desktop.agent.types import TurnNews as AgentNews
from hermes_desktop.core.concurrency.background_tasks import TaskSet
from hermes_desktop.core.concurrency.keyed_locks import KeyedLocks, WaitAbandonedError
from hermes_desktop.core.events import ContextUsed, ToolFinished, ToolStarted, TurnDelta, TurnNote
from hermes_desktop.core.session_context import set_session_vars
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.sessions.session_records import SessionSource, is_shared_session

MAX_QUOTE = 500


def inbound_text(event: MessageEvent, source: SessionSource, config: GatewayConfig) -> str:
    """Return the text of a message as its session stores it.

    Where several users share a session, each message names its sender. A reply to an older message,
    which may not be in the session, quotes its beginning.
    """
    if event.internal:
        return event.text
    text = "\n".join(part for part in (event.text, *_media_notes(event)) if part)
    shared = is_shared_session(
        source,
        group_sessions_per_user=config.group_sessions_per_user,
        thread_sessions_per_user=config.thread_sessions_per_user,
    )
    if shared:
        text = f"[{_one_line(source.user_name or source.user_id or 'somebody')}] {text}"
    quoted = _one_line(event.reply_to_text or "")
    if not quoted:
        return text
    if len(quoted) > MAX_QUOTE:
        quoted = quoted[: MAX_QUOTE - 1] + "…"
    whose = "your message" if event.reply_to_is_own_message else "the message"
    return f"[In reply to {whose}: “{quoted}”]\n{text}"


def _media_notes(event: MessageEvent) -> Iterator[str]:
    """Yield notes about attachments stored in the home, because the model does not see them."""
    for path, kind in zip(event.media_urls, event.media_types, strict=False):
        if kind.startswith("image/"):
            yield f"[A picture came with this message: {path} ({kind}). You cannot see it.]"
        else:
            yield f"[A file came with this message: {path} ({kind}).]"


def _one_line(text: str) -> str:
    """Return a text without line breaks and brackets, so that it cannot imitate other content."""
    return " ".join(text.replace("[", "(").replace("]", ")").split())


DELTA_INTERVAL_S = 0.05

DeltaKind = Literal["text", "reasoning", "retracted"]
TurnNews = TurnDelta | ToolStarted | ToolFinished | ContextUsed | TurnNote
_Told = ToolProgress | ContextNews | CallNote
_Piece = tuple[DeltaKind, str] | _Told


class DeltaRelay:
    """Relays pieces of a reply from the turn's thread to the event loop, a few times a second.

    However fast the pieces arrive, at most one callback waits on the loop at a time. Created and
    closed on the loop; fed from any thread.

    Args:
        turn_id: The turn in the events.
        session_id: Its session in the events.
        publish: Receives the events, on the loop.
        interval_s: Minimum seconds between two rounds of events.
    """

    def __init__(
        self,
        turn_id: str,
        session_id: str,
        publish: Callable[[TurnNews], None],
        *,
        interval_s: float = DELTA_INTERVAL_S,
    ) -> None:
        self._turn_id = turn_id
        self._session_id = session_id
        self._publish = publish
        self._interval_s = interval_s
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._pieces: list[_Piece] = []
        self._waking = False
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._next_round = self._loop.time()

    def feed_text(self, text: str) -> None:
        """Add a piece of the reply."""
        if text:
            self._feed(("text", text))

    def feed_reasoning(self, text: str) -> None:
        """Add a piece of the model's reasoning."""
        if text:
            self._feed(("reasoning", text))

    def retract(self, text: str) -> None:
        """Retract the latest text: it was not part of the reply."""
        if text:
            self._feed(("retracted", text))

    def feed_news(self, news: _Told) -> None:
        """Add an event of a tool or the context, or a note; order relative to text is kept."""
        self._feed(news)

    def close(self) -> None:
        """Publish what is left; later pieces are dropped."""
        if self._timer is not None:
            self._timer.cancel()
        self._flush()
        with self._lock:
            self._closed = True

    def _feed(self, piece: _Piece) -> None:
        with self._lock:
            if self._closed:
                return
            self._pieces.append(piece)
            if self._waking:
                return
            self._waking = True
        with contextlib.suppress(RuntimeError):  # the loop is gone: there are no more listeners
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        wait = self._next_round - self._loop.time()
        if wait <= 0:
            self._flush()
        else:
            self._timer = self._loop.call_later(wait, self._flush)

    def _flush(self) -> None:
        with self._lock:
            pieces, self._pieces = self._pieces, []
            self._waking = False
            if self._closed:
                return
        self._next_round = self._loop.time() + self._interval_s
        for piece in _joined(pieces):
            self._publish(self._event(piece))

    def _event(self, piece: _Piece) -> TurnNews:
        ids = (self._turn_id, self._session_id)
        if isinstance(piece, tuple):
            return TurnDelta(*ids, piece[1], piece[0])
        if isinstance(piece, ToolProgress):
            return _tool_event(ids, piece)
        if isinstance(piece, ContextNews):
            sizes = (piece.used_tokens, piece.context_length, piece.threshold, piece.about)
            return ContextUsed(self._session_id, *sizes)
        return TurnNote(*ids, piece.text, piece.lasting)


def _tool_event(ids: tuple[str, str], news: ToolProgress) -> ToolStarted | ToolFinished:
    tool = (*ids, news.call_id, news.name, news.subject)
    if news.ok is None:
        return ToolStarted(*tool, step=news.step)
    return ToolFinished(*tool, ok=news.ok, seconds=news.seconds, step=news.step)


def _joined(pieces: list[_Piece]) -> list[_Piece]:
    """Merge neighbors of the same kind."""
    joined: list[_Piece] = []
    for key, run in groupby(pieces, lambda each: each[0] if isinstance(each, tuple) else None):
        if key is None:
            joined += run
        else:
            joined.append((key, "".join(each[1] for each in run if isinstance(each, tuple))))
    return joined


@dataclass(slots=True, eq=False)
class TurnRecord:
    """The state of a turn outside its thread.

    Attributes:
        message_id: The platform's id of the message.
        generation: The number of its claim of the session key, 0 while it waits for it.
        session_id: The session in which it runs, "" until that is known.
        note: Precedes the prompt for the model; not part of the stored message.
        rows: Ids of the rows stored so far; the first is the prompt's.
        notes: Remarks for the chat about how the reply was generated.
        began_at: When it got its claim, in monotonic seconds.
        active_at: The time of its last activity, likewise.
        stop_requested: It was asked to end; it may not have started yet.
        marked: Whether its chat is marked to be resumed should the process be killed.
        answered: It is over; its reply is being delivered.
        timed_out: It was ended because of inactivity.
        superseded: It was ended for the sake of the next message: if it did end early, nothing is
            delivered.
        unwanted: Its reply is no longer wanted: nothing is delivered.
        ending: Set with ``stop_requested``, for waiters on the loop.
        given_up: Set when it is abandoned: it was to end and did not.
        over: Set when its claim was released.
        source: The source of its message, once it runs.
        steered: By turn id: messages passed to it that it has not stored yet, to be answered in a
            separate turn.
        waits: The number of the user's answers it waits for; while it waits, it does not count as
            inactive.
        monotonic: The source of its times.
    """

    turn_id: str
    session_key: str
    prompt: str
    message_id: str | None = None
    generation: int = 0
    session_id: str = ""
    note: str = ""
    rows: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    began_at: float = 0.0
    active_at: float = 0.0
    stop_requested: bool = False
    marked: bool = False
    answered: bool = False
    timed_out: bool = False
    superseded: bool = False
    unwanted: bool = False
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    given_up: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    source: SessionSource | None = None
    steered: dict[str, partial[None]] = field(default_factory=dict)
    waits: int = 0
    monotonic: Callable[[], float] = time.monotonic

    @property
    def seen_at(self) -> float:
        """The time of its last activity; waiting for the user counts as activity."""
        return self.monotonic() if self.waits else self.active_at

    def touch(self) -> None:
        """Record activity. Any thread."""
        self.active_at = self.monotonic()

    def request_stop(self) -> None:
        """Ask it to end; on the loop."""
        self.stop_requested = True
        self.ending.set()

    def extras(self) -> dict[str, str]:
        """Return the optional arguments for the agent that have a value."""
        known = {"turn_note": self.note, "platform_message_id": self.message_id}
        return {name: value for name, value in known.items() if value}


def run(
    agent: TurnAgent, record: TurnRecord, source: SessionSource, relay: DeltaRelay
) -> AgentResult:
    """Run one turn. Blocks; called on a worker thread, in a separate context.

    Raises:
        HermesError: The turn could not be stored.
    """
    if record.stop_requested:
        return AgentResult(session_id=record.session_id, interrupted=True, api_calls=0)
    record.source = source
    set_session_vars(
        HERMES_SESSION_PLATFORM=source.platform.value,
        HERMES_SESSION_CHAT_ID=source.chat_id,
        HERMES_SESSION_CHAT_NAME=source.chat_name or "",
        HERMES_SESSION_THREAD_ID=source.thread_id or "",
        HERMES_SESSION_USER_ID=source.user_id or "",
        HERMES_SESSION_USER_NAME=source.user_name or "",
        HERMES_SESSION_KEY=record.session_key,
        HERMES_SESSION_ID=record.session_id,
    )

    def row_stored(row_id: int) -> None:
        record.rows.append(row_id)
        record.touch()
        if record.stop_requested:  # an agent forgets interruptions before its turn
            agent.interrupt()

    heard: dict[str, Any] = {}
    if getattr(agent, "tells_tools", False):  # other agents do not report tools
        heard["tool_callback"] = partial(_hear, record, relay)
    return agent.run_conversation(
        record.prompt,
        stream_callback=relay.feed_text,
        reasoning_callback=relay.feed_reasoning,
        persisted_callback=row_stored,
        **heard,
        **record.extras(),
    )


def _hear(record: TurnRecord, relay: DeltaRelay, news: AgentNews) -> None:
    if isinstance(news, ToolCallAnnounced):
        record.touch()
        return
    if isinstance(news, TextRetracted):
        relay.retract(news.text)
        return
    if isinstance(news, CallNote) and news.lasting and news.text not in record.notes:
        record.notes.append(news.text)
    relay.feed_news(news)


@contextlib.asynccontextmanager
async def follow_leases(agent: Any, leases: KeyedLocks, tasks: TaskSet) -> AsyncIterator[None]:
    """Hold the lease of each session that the agent moves to, until its turn is over.

    Args:
        agent: Reports moves through its ``on_moved``, on the turn's thread; one without it never
            moves.
        leases: One turn per session.
        tasks: Runs the tasks that hold the leases.
    """
    if not hasattr(agent, "on_moved"):
        yield
        return
    loop = asyncio.get_running_loop()
    over = asyncio.Event()

    async def hold(session_id: str) -> None:
        async with leases.hold(session_id, unless=over):
            await over.wait()

    def start(session_id: str) -> None:
        if not over.is_set():
            tasks.start(_quietly(hold(session_id)), name="lease")

    def moved(session_id: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is gone, and with it all leases
            loop.call_soon_threadsafe(start, session_id)

    agent.on_moved = moved
    try:
        yield
    finally:
        agent.on_moved = None
        over.set()


async def _quietly(holding: Any) -> None:
    # The lease was held by another turn until this one was over.
    with contextlib.suppress(WaitAbandonedError):
        await holding
