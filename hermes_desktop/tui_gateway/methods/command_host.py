"""A live session's implementation of the operations that commands need, and the added commands.

The program's own commands take precedence, then the user's, then those of plugins, as in chats.
"""

import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TypeVar

from hermes_desktop import plugins
from hermes_desktop.agent.thinking import CHOSEN_KEYS
from hermes_desktop.agent.types import CancelSignal
from hermes_desktop.commands import registry
from hermes_desktop.commands.added_commands import AddedCommand, added_commands
from hermes_desktop.commands.context import CommandContext, Sender, Work
from hermes_desktop.core.errors import BusyError, HermesError, NotFoundError, RefusedError
from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.core.ids import new_session_id
from hermes_desktop.state import SessionDB
from hermes_desktop.tui_gateway import (
    background_methods,
    ending,
    live_sessions,
    session_record,
    session_row,
)
from hermes_desktop.tui_gateway.agents import drop_agent
from hermes_desktop.tui_gateway.conversation_lock import held_now
from hermes_desktop.tui_gateway.methods import settings_methods
from hermes_desktop.tui_gateway.methods.settings_methods import choose_model
from hermes_desktop.tui_gateway.protocol import Code, RpcError
from hermes_desktop.tui_gateway.serving_state import Server, Session
from hermes_desktop.tui_gateway.session_record import source_of
from hermes_desktop.tui_gateway.turns import claim, release, tell_info

log = logging.getLogger(__name__)

MOST_CHARACTERS = 20_000
"""Length limit of the reply of a plugin's command; as in chats."""


def all_added(server: Server) -> dict[str, AddedCommand]:
    """Return all added commands by name. Blocks: settings are read, plugins waited for."""
    return added_commands(server.program.own_commands(), plugins.COMMANDS)


def category_of(command: AddedCommand) -> str:
    """Return the heading of a command in lists."""
    return "Plugins" if command.plugin else "Added"


def find_added(server: Server, name: str) -> AddedCommand | None:
    """Return the added command of a name; built-in names cannot be taken. Blocks likewise."""
    return all_added(server).get(name.strip().lstrip("/").lower())


def meant(server: Server, name: str, args: str) -> tuple[str, str]:
    """Return the name and arguments to execute: an alias is resolved, once only."""
    found = find_added(server, name)
    if found is None or not found.stands_for:
        return name, args
    other, _, before = found.stands_for.lstrip("/").partition(" ")
    return other, f"{before} {args}".strip()


def doable(server: Server, name: str) -> AddedCommand | None:
    """Return the command like :func:`find_added`, but no alias: an alias of an alias is invalid."""
    found = find_added(server, name)
    return None if found is not None and found.stands_for else found


def run_added(command: AddedCommand, session: Session, args: str) -> str:
    """Run a command; return its reply. Bounded; interrupting the session ends it.

    Raises:
        RpcError: It failed, or took too long.
    """
    name = command.definition.name
    interrupts = session.get("interrupts", 0)

    def given_up() -> bool:
        return bool(session.get("_closing")) or session.get("interrupts", 0) != interrupts

    try:
        return command.run(args, given_up)[:MOST_CHARACTERS]
    except TimeoutError as error:
        words = f"/{name} was interrupted" if given_up() else f"/{name} took too long"
        raise RpcError(Code.HOST, words) from error
    except BaseException as error:  # third-party code
        log.warning("/%s (%s) failed", name, category_of(command), exc_info=True)
        words = f"/{name} failed: {type(error).__name__}; the log says more"
        raise RpcError(Code.HOST, words) from error


T = TypeVar("T")
_OF_A_GATEWAY = "Gateway"
_LISTING = frozenset({"help", "commands", "whoami"})


def usable_commands() -> tuple[registry.CommandDef, ...]:
    """Return the commands that are usable in a session without messaging platforms."""
    return tuple(each for each in registry.available_commands() if each.category != _OF_A_GATEWAY)


async def _at_once(call: Callable[[], T]) -> T:
    """Run a call directly: commands run on threads that may block."""
    return call()


def context_of(
    server: Server, sid: str, session: Session, db: SessionDB, command: str, args: str
) -> CommandContext:
    """Return the context of a command that was typed in a live session.

    The sender is the user of this machine and may use all commands. Only commands that list others
    omit those that are not usable here.
    """
    added = all_added(server).values() if command in _LISTING else ()
    added_definitions = tuple(each.definition for each in added)
    names = (each.name for each in (*usable_commands(), *added_definitions))
    sender = Sender(
        platform=source_of(session),
        chat_id=sid,
        user_id="the owner of this computer",
        session_key=session["session_key"],
        restricted=True,
        is_admin=command not in _LISTING,
        command_names=frozenset(names),
    )
    return CommandContext(
        args=args,
        sender=sender,
        host=SessionHost(server, sid, session, db),
        store=db,
        run=_at_once,
        clock=server.program.clock,
        facts=server.program.facts,
        listed=session.setdefault("listed", []),
        added=added_definitions,
    )


class SessionHost:
    """A :class:`~hermes_desktop.commands.context.CommandHost` for one live session.

    Its methods block and never wait for a loop.
    """

    def __init__(self, server: Server, sid: str, session: Session, db: SessionDB) -> None:
        self._server = server
        self._sid = sid
        self._session = session
        self._db = db

    async def session_id(self, *, begin: bool = False) -> str | None:
        """Return the session id if the session has a row or ``begin`` is set."""
        key = str(self._session["session_key"])
        return key if begin or self._db.get_session(key) is not None else None

    def is_busy(self) -> bool:
        """Return whether a reply is being written."""
        return bool(self._session["running"])

    def running_since(self) -> float | None:
        """Return when the running turn started, as far as known."""
        return self._session.get("last_active") if self._session["running"] else None

    @contextlib.asynccontextmanager
    async def alone_in(self, session_id: str) -> AsyncIterator[None]:
        """Keep turns out of the session for the block."""
        if session_id != self._session["session_key"]:
            yield
            return
        if not claim(self._session):
            raise BusyError(
                "A reply is being written in this session.", hint="Wait for it, or stop it."
            )
        try:
            with held_now(self._server, self._session, "changing it"):
                yield
        finally:
            release(self._server, self._sid, self._session)

    @contextlib.contextmanager
    def working_on(self, words: str) -> Iterator[CancelSignal]:  # noqa: ARG002 - fronts show work
        """Return a signal that is set when the turn of the session is stopped."""
        yield ending.Interrupted(self._session)

    async def stop_turn(self) -> bool:
        """End the running turn and drop what waits."""
        running = bool(self._session["running"])
        return bool(ending.interrupt(self._session)) or running

    async def begin_anew(self, title: str) -> str:
        """Leave the session and start a new one here."""
        new_id = new_session_id(self._server.program.clock.now())
        self._leave_for(new_id, "session_reset")
        self._session["pending_title"] = self._db.sanitize_title(title)
        self._server.boundary("on_session_reset", new_id, source_of(self._session))
        tell_info(self._server, self._sid, self._session)
        return "New session."

    async def switch_to(self, session_id: str) -> None:
        """Switch to another stored session."""
        if self._db.get_session(session_id) is None:
            raise NotFoundError(f"There is no session {session_id}.")
        with self._server.state.opening:
            found = live_sessions.with_key(self._server.state, session_id)
            if found is not None and found[0] != self._sid:
                raise BusyError(
                    "That session is open already.",
                    f"It is the live session {found[0]}.",
                    "Activate it there, or close it first.",
                )
            self._leave_for(session_id, "tui_close")
        tell_info(self._server, self._sid, self._session)

    def _leave_for(self, session_id: str, end_reason: str) -> None:
        session, server, db = self._session, self._server, self._db
        if not claim(session):
            raise BusyError("A reply is being written here.", hint="Wait for it, or stop it.")
        try:
            old = session["session_key"]
            if db.get_session(old) is not None and not session.get("looked_only"):
                db.end_session(old, end_reason)
            server.boundary("on_session_finalize", old, source_of(session))
            drop_agent(session)
            session["session_key"] = session_id
            for name in ("former_keys", "context", "compressions", "thinking_read"):
                session.pop(name, None)
            session["pending_title"] = None
            session["model_override"] = {}
            session.pop("parent_session_id", None)
            session.pop("seed", None)
            session["row_seen"] = False
            session["looked_only"] = True
            session_row.read_anew(db, session)
            session_record.restore_thinking(db, session)
        finally:
            release(server, self._sid, session)

    async def shortened(self, old_id: str, new_id: str) -> None:
        """Follow a compacted session to its new id."""
        session = self._session
        session.pop("context", None)  # the recorded context size is outdated
        if new_id == old_id or session["session_key"] != old_id:
            return
        agent = session.get("agent")
        if agent is None:
            ending.follow_to(self._server, session, new_id)
            return
        agent.session_id = new_id
        ending.follow_agent(
            self._server, session, clear_pending_title=True, restart_slash_worker=True
        )

    def forget_agent(self) -> None:
        """Read the session again."""
        session_row.read_anew(self._db, self._session)

    async def steer(self, text: str) -> bool:
        """Pass a message to the running turn."""
        steer = getattr(self._session.get("agent"), "steer", None)
        return bool(self._session["running"] and steer is not None and steer(text))

    async def queue(self, text: str) -> int:
        """Queue a message behind what runs."""
        session = self._session
        with session["history_lock"]:
            if not session["running"]:
                raise BusyError("Nothing is being written here any more.", hint="Send it again.")
            waiting: list[str] = session.setdefault("queued_prompt", [])
            waiting.append(text)
            return len(waiting)

    def model_override(self) -> Mapping[str, str]:
        """Return the model chosen for this session."""
        override = self._session.get("model_override") or {}
        return {name: value for name, value in override.items() if name not in CHOSEN_KEYS}

    async def set_model_override(self, override: Mapping[str, str]) -> None:
        """Choose a model; an empty mapping resets the choice."""
        try:
            choose_model(self._server, self._sid, self._session, override)
        except RpcError as error:
            raise RefusedError(error.message) from error

    async def chosen(self) -> Mapping[str, str]:
        """Return the chosen settings of reasoning and speed."""
        session_record.restore_thinking(self._db, self._session)
        return session_record.chosen_thinking(self._session)

    async def choose(self, name: str, value: str) -> None:
        """Choose one of these settings; it is also stored in the session's row, if there is one."""
        try:
            settings_methods.choose_thinking(self._server, self._sid, self._session, name, value)
        except RpcError as error:
            raise RefusedError(error.message) from error

    def shows_thinking(self) -> bool:
        """Return whether peers show the model's reasoning."""
        return bool(self._session["show_reasoning"])

    def show_thinking(self, *, shown: bool) -> None:
        """Have peers show or hide it."""
        self._session["show_reasoning"] = shown

    async def begin_background(self, prompt: str) -> str:
        """Start a background task."""
        try:
            return background_methods.start(self._server, self._sid, self._session, prompt)
        except RpcError as error:
            raise RefusedError(error.message) from error

    def work(self, *, everywhere: bool) -> tuple[Work, ...]:  # noqa: ARG002 - only this session's work is known
        """Return the running reply of this session, and its background tasks."""
        session = self._session
        inflight = session.get("inflight_turn") or {}
        since = session.get("last_active") or 0.0
        told = str(inflight.get("user", ""))
        turn = [Work("turn", "reply", told, since)] if session["running"] else []
        tasks = background_methods.tasks_of(session)
        return (*turn, *(Work(t.id, "background task", t.words, t.started_at) for t in tasks))

    async def stop_work(self, name: str, *, everywhere: bool) -> bool:  # noqa: ARG002 - see above
        """End a reply or a task; it is not resumed."""
        if name == "turn":
            return await self.stop_turn()
        return background_methods.stop(self._session, name)

    async def restart(self) -> bool:
        """Return False: there is no gateway to restart."""
        return False

    def platforms(self) -> tuple[PlatformHealth, ...]:
        """Return no platforms: there are none."""
        return ()

    async def pause(self, platform: str) -> None:
        """Refuse: there are no platforms."""
        raise _no_platform(platform)

    async def resume(self, platform: str) -> None:
        """Refuse: there are no platforms."""
        raise _no_platform(platform)

    async def set_home(self) -> None:
        """Refuse: there are no platforms."""
        raise _no_platform("This session")


def _no_platform(platform: str) -> HermesError:
    return RefusedError(
        f"{platform} is not served here.",
        "This process answers programs on this machine, not messaging platforms.",
        "Use `hermes-desktop gateway`.",
    )
