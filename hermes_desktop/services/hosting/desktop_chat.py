"""The desktop's own chat: sending and stopping turns, and the checks made before sending."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hermes_desktop.agent.turns.agent import INTERRUPTED
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import HermesError, RefusedError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import GatewayStatusChanged, TurnFinished
from hermes_desktop.core.home_kind import continue_command
from hermes_desktop.core.ids import new_session_id, new_turn_id
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import Platform, platform_or_none
from hermes_desktop.gateway.platforms.desktop import DesktopAdapter, Submitted
from hermes_desktop.services.sessions.foreign_wait import ForeignWait, Tell
from hermes_desktop.services.sessions.open_turns import ForeignTurns
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.branching import Branch
from hermes_desktop.state.records.records import SessionSummary

RECENTLY_ACTIVE_S = 300.0
_FAILED_TURN_ROWS = 4
"""Rows to inspect: a prompt, at most one partial reply, and one more to detect other writes."""
LOCAL_SOURCES = frozenset(
    {"desktop", "cli", "tui", "webui", "acp", "api_server", "local", "import"}
)
_ANSWERED_ELSEWHERE = (
    "Another gateway answers this chat. Messages from here would mix with its replies, so "
    "this session is read-only."
)


@dataclass(frozen=True, slots=True)
class ChatReadiness:
    """Whether a message can be sent and, if not, what is missing.

    Attributes:
        model: Name of the model that would answer, "" when there is none.
        answered_before: Name of another model that answered in the session so far, else "".
        title: What is missing, "" when ready. ``detail`` and ``hint`` belong to it.
    """

    ready: bool
    model: str = ""
    title: str = ""
    detail: str = ""
    hint: str = ""
    answered_before: str = ""


def beside_model_before(ready: ChatReadiness, session: SessionSummary | None) -> ChatReadiness:
    """Return the readiness with the model that answered in a session, if it is another one."""
    before = (session.model if session is not None else None) or ""
    return replace(ready, answered_before=before if before != ready.model else "")


class DesktopChat:
    """The chat operations behind the composer and ``hermes-desktop chat``.

    Attributes:
        turns: Detects turns that other programs run.

    Args:
        adapter: The desktop's own platform adapter inside the gateway.
        db: The database in which a session is checked before it is written to.
        readers: The ``state-read`` worker thread.
        writers: The ``state-write`` worker thread.
        choose_model: Reads the configuration and returns the model, given the choices made for one
            conversation; blocking; raises ProviderError or ConfigError when there is none.
        bus: The event bus that reports when our own turns end.
        clock: The clock used to decide whether a session was active recently.
        paths: The home, for the command that continues a session in ``hermes``.
        turns: Detects turns that other programs run.
    """

    def __init__(  # noqa: PLR0913 - the parts that a chat uses
        self,
        adapter: DesktopAdapter,
        db: SessionDB,
        *,
        readers: WorkerThreads,
        writers: WorkerThreads,
        choose_model: Callable[[Mapping[str, str]], ModelChoice],
        bus: EventBus,
        clock: Clock,
        paths: HermesPaths,
        turns: ForeignTurns,
    ) -> None:
        self._paths = paths
        self._adapter = adapter
        self._db = db
        self._readers = readers
        self._writers = writers
        self._choose_model = choose_model
        self._clock = clock
        self.turns = turns
        self._wait: ForeignWait | None = None
        self._own_activity: dict[str, float] = {}
        self._attached = False
        bus.subscribe(TurnFinished, self._note_own_turn)
        bus.subscribe(GatewayStatusChanged, self._note_gateway)

    async def readiness(self, session: SessionSummary | None = None) -> ChatReadiness:
        """Return whether a message can be sent; reads the configuration and database again.

        Args:
            session: The conversation that the next message goes to; None for a new one. A model
                chosen for it with ``/model`` takes precedence over the one in the settings.
        """
        chosen = {} if session is None else self._adapter.chosen_model(session.root_id)
        ready = await self._readers.run(self._readiness, chosen)
        return beside_model_before(ready, session)

    async def foreign_activity_warning(self, session: SessionSummary) -> str:
        """Return a warning about foreign programs before a session is written to, or "".

        The session that a foreign program works on is unknown, because the file it has open holds
        every session.
        """
        if self._adapter.running(session.id) or self.read_only_reason(session):
            return ""
        return await self._readers.run(self._others_in, session.id)

    def enable_foreign_wait(self, tell: Tell) -> None:
        """Make messages wait for turns of foreign programs, and report each wait to ``tell``."""
        self._wait = ForeignWait(self.turns, self._readers, self._clock, tell)

    async def pass_gate(self, session_id: str, ending: asyncio.Event) -> None:
        """Wait until a turn may begin; see :meth:`ForeignWait.pass_gate`."""
        if self._wait is not None:
            await self._wait.pass_gate(session_id, ending)

    async def send(
        self,
        text: str,
        *,
        session_id: str | None = None,
        source: str = "desktop",
        again: bool = False,
        folder: str = "",
    ) -> Submitted:
        """Submit a message to the gateway; the reply arrives as events.

        Args:
            text: The message text, not blank.
            session_id: The session to continue, None for a new one.
            source: Source tag of a session row that this message creates: ``desktop`` or ``cli``.
            again: Whether this is a retry of a turn that has just failed. The stored prompt, and
                the partial reply that may follow it, are removed first, so that the session holds
                the message once.
            folder: The working folder of a new session; "": the usual one.

        Returns:
            The ids that the resulting events and rows carry.

        Raises:
            StateError: The database may not be written.
            NotFoundError: The session is gone.
            RefusedError: Another gateway answers this chat; see :meth:`read_only_reason`.
        """
        condition = self._db.condition
        if not condition.writable:
            raise condition.refusal()
        if self._attached and session_id is not None:
            await self._readers.run(self._refuse_foreign, session_id)
        if again and session_id is not None:
            await self._writers.run(self._take_back, session_id, text)
        return await self._adapter.submit(
            text=text,
            session_id=session_id,
            turn_id=new_turn_id(),
            source_tag=source,
            folder=folder,
        )

    async def stop(self, session_id: str) -> bool:
        """Interrupt the running turn of a session; return False when there is none."""
        return await self._adapter.stop_turn(session_id)

    def is_running(self, session_id: str) -> bool:
        """Return whether a turn of this session runs or waits in this program."""
        return self._adapter.running(session_id)

    def note_for(self, session: SessionSummary | None) -> str:
        """Return the composer's note about where an answer goes, "" if nothing is special."""
        if session is None or session.source in LOCAL_SOURCES or session.source == "cron":
            return ""
        if self._attached:
            return ""
        place = session.source.replace("_", " ").title()
        return f"Your message is stored in this session; it is not sent to {place}."

    def read_only_reason(self, session: SessionSummary | None) -> str:
        """Return why nothing may be written to a session at the moment, or "" if it may.

        While another gateway hosts the home, chats of messaging platforms are read-only here. Where
        Hermes' gateway is the only writer, every session is.
        """
        home = self._db.condition.home
        if not home.may_write:
            where = "Start a new chat" if session is None else "Continue this chat"
            return f"{home.title} {home.reason} {where} in hermes:"
        if not self._attached or session is None or not _is_answered_by_gateways(session.source):
            return ""
        return _ANSWERED_ELSEWHERE

    def hermes_command(self, session: SessionSummary | None) -> str:
        """Return the command that continues in ``hermes``, or "" where messages are sent from here.

        Args:
            session: The session to continue; None for a new one.
        """
        if self._db.condition.home.may_write:
            return ""
        return continue_command(self._paths, None if session is None else session.id)

    async def continue_in_copy(self, session: SessionSummary) -> str:
        """Copy a conversation into a new desktop session and return its id.

        Raises:
            NotFoundError: The session is gone.
            StateError: The copy cannot be written; no copy exists then.
        """
        copy_id = new_session_id(self._clock.now())
        branch = Branch(session.id, copy_id, source="desktop")
        await self._writers.run(self._db.create_branch, branch)
        return copy_id

    def _others_in(self, session_id: str) -> str:
        fresh = self._db.summary(session_id)
        if fresh is None or fresh.ended_at is not None or fresh.is_empty:
            return ""
        if fresh.last_active <= self._own_activity.get(fresh.id, 0.0):
            return ""
        age = self._clock.time() - fresh.last_active
        turn = self.turns.foreign(fresh.id)
        if turn is not None and turn.certain:
            return f"{turn.who} is answering here. If you write now, the two replies may mix."
        if turn is not None:
            return f"{turn.who} may be answering here. If so, the two replies may mix."
        if not 0 <= age < RECENTLY_ACTIVE_S:
            return ""
        who = self.turns.holders()
        return f"{who} may have this session open and may not notice your message." if who else ""

    def _refuse_foreign(self, session_id: str) -> None:
        summary = self._db.summary(session_id)
        if self.read_only_reason(summary):
            raise RefusedError(
                "This chat is answered by another gateway.",
                "Your message would mix with its replies.",
                "Continue in a copy.",
            )

    def _note_gateway(self, status: GatewayStatusChanged) -> None:
        self._attached = status.state == "attached"

    def _take_back(self, session_id: str, text: str) -> None:
        newest = self._db.read_messages(session_id, limit=_FAILED_TURN_ROWS)
        prompts = [message for message in newest if message.role == "user"]
        if not prompts or prompts[-1].content.strip() != text.strip():
            return
        after = newest[newest.index(prompts[-1]) + 1 :]
        if all(row.role == "assistant" and row.finish_reason == INTERRUPTED for row in after):
            self._db.rewind_to_message(session_id, prompts[-1].id)

    def _note_own_turn(self, turn: TurnFinished) -> None:
        self._own_activity[turn.session_id] = self._clock.time()

    def _readiness(self, chosen: Mapping[str, str]) -> ChatReadiness:
        condition = self._db.condition
        if not condition.writable:
            return ChatReadiness(
                ready=False,
                title=condition.title,
                detail=condition.reason,
                hint=condition.hint,
            )
        try:
            choice = self._choose_model(chosen)
        except HermesError as error:
            return ChatReadiness(
                ready=False, title=error.title, detail=error.detail, hint=error.hint
            )
        return ChatReadiness(ready=True, model=choice.model)


def _is_answered_by_gateways(source: str) -> bool:
    """Return whether sessions of this source are chats of a messaging platform."""
    platform = platform_or_none(source)
    return source not in LOCAL_SOURCES and platform not in {None, Platform.LOCAL, Platform.DESKTOP}
