"""The gateway's implementation of the operations that commands need."""

import contextlib
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hermes_desktop.commands.context import Sender, Work
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import BusyError, ConfigError, RefusedError
from hermes_desktop.core.events import PlatformHealth, TurnNote, TurnStarted
from hermes_desktop.core.ids import new_turn_id
from hermes_desktop.gateway.access.authorization import command_access
from hermes_desktop.gateway.config.config_environment import HOME_VARIABLES
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.config.user_lists import variable
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.sessions import session_rows
from hermes_desktop.settings.env_file import set_env_lines

if TYPE_CHECKING:
    from hermes_desktop.gateway.run import GatewayRunner


class PlatformControl(Protocol):
    """Control of the platforms: health, pause and resume. On the event loop."""

    def platforms(self) -> tuple[PlatformHealth, ...]:
        """Return their health, sorted by name."""
        ...

    async def pause(self, platform: str) -> None:
        """Disconnect a platform. Raises RefusedError when it is not served here."""
        ...

    async def resume(self, platform: str) -> None:
        """Serve a paused platform again. Raises RefusedError when it is not served here."""
        ...


class RunnerHost:
    """A :class:`~hermes_desktop.commands.context.CommandHost` for one message.

    Args:
        runner: The runner of the chat.
        event: The message; it has a source.
        session_key: The chat.
        workers: Worker threads for blocking calls.
        platforms: None where there are none to control.
        env_file: The home's ``.env``; None where nothing may be written.
    """

    def __init__(
        self,
        runner: "GatewayRunner",
        event: MessageEvent,
        session_key: str,
        *,
        workers: WorkerThreads,
        platforms: PlatformControl | None = None,
        env_file: Path | None = None,
    ) -> None:
        assert event.source is not None  # noqa: S101 - the dispatch looked
        self._runner = runner
        self._event = event
        self._source: SessionSource = event.source
        self._key = session_key
        self._workers = workers
        self._platforms = platforms
        self._env_file = env_file

    def sender(self, prefix: str) -> Sender:
        """Return the sender of the command with the sender's permissions."""
        source = self._source
        access = command_access(source, self._runner.config)
        return Sender(
            platform=source.platform.value,
            chat_id=source.chat_id,
            chat_type=source.chat_type,
            chat_name=source.chat_name or "",
            user_id=source.user_id,
            user_name=source.user_name or "",
            in_window=source.platform is Platform.DESKTOP,
            prefix=prefix,
            session_key=self._key,
            restricted=access.limited,
            is_admin=access.is_admin,
            command_names=access.names,
        )

    # The session

    async def session_id(self, *, begin: bool = False) -> str | None:
        """See the protocol. A chat without an entry continues its last session in state.db."""
        if begin:
            store = self._runner.session_store
            entry = await self._workers.run(store.get_or_create_session, self._source)
            return entry.session_id
        return await self._workers.run(self._look)

    def _look(self) -> str | None:
        store = self._runner.session_store
        store._ensure_loaded()  # noqa: SLF001 - a look that begins nothing
        known = store.peek_session_id(self._key)
        if known is not None or self._source.platform is Platform.DESKTOP:
            return known
        session_db = self._runner._session_db  # noqa: SLF001 - the runner's own part
        if session_db is None:
            return None
        row = session_rows.find_recoverable(session_db._db, self._key, self._source)  # noqa: SLF001
        return str(row["id"]) if row is not None else None

    def is_busy(self) -> bool:
        """Return whether a reply is being written, or a message waits, in the chat."""
        return self._runner.chats.is_busy(self._key)

    def running_since(self) -> float | None:
        """Return when the running turn started, in seconds since the epoch."""
        return self._runner.chats.peek(self._key).running_since

    @contextlib.asynccontextmanager
    async def alone_in(self, session_id: str) -> AsyncIterator[None]:
        """Keep turns, including those of other chats, out of a session for the block."""
        leases = self._runner.state.turn_leases
        if leases.is_held(session_id):
            raise BusyError(
                "A reply is being written in this session.",
                "It is also used by another chat or the window.",
                "Wait until the reply is finished.",
            )
        locks = self._runner.state.program_locks
        async with (
            leases.hold(session_id),
            locks.hold_now(session_id) if locks else contextlib.nullcontext(),
        ):
            yield

    @contextlib.contextmanager
    def working_on(self, words: str) -> Iterator[threading.Event]:
        """Show the command as a turn of the window with a note; it can be stopped like a turn."""
        runner, event = self._runner, self._event
        stop = runner.chats[self._key].long_command = threading.Event()
        if self._source.platform is Platform.DESKTOP:
            session_id = runner.session_store.peek_session_id(self._key) or ""
            ids = (event.turn_id, self._key, session_id)
            runner.state.bus.publish(TurnStarted(*ids, event.text))
            runner.state.bus.publish(TurnNote(event.turn_id, session_id, words))
        try:
            yield stop
        finally:
            if runner.chats[self._key].long_command is stop:
                runner.chats[self._key].long_command = None

    async def stop_turn(self) -> bool:
        """End the running turn and drop what waits."""
        return await self._runner.parts.control.stop_turn(self._key)

    async def begin_anew(self, title: str) -> str:
        """Start a new session in the chat."""
        event = replace(self._event, text=f"/new {title}".rstrip())
        return await self._runner._handle_reset_command(event)  # noqa: SLF001 - named so elsewhere

    async def switch_to(self, session_id: str) -> None:
        """Switch the chat to another session."""
        runner = self._runner
        await self._workers.run(self._switch, session_id)
        runner.chats.peek(self._key).clear_session_choices()
        runner.parts.agents.evict(self._key)

    def _switch(self, session_id: str) -> None:
        store = self._runner.session_store
        if store.switch_session(self._key, session_id) is not None:
            store.set_model_override(self._key, None)
            return
        store.bind(self._key, session_id, source=self._source)
        session_db = self._runner._session_db  # noqa: SLF001 - the runner's own part
        if session_db is not None:
            session_db._db.reopen_session(session_id)  # noqa: SLF001 - its blocking face

    async def shortened(self, old_id: str, new_id: str) -> None:
        """Follow a compacted session to its new id."""
        await self._workers.run(self._shortened, old_id, new_id)

    def _shortened(self, old_id: str, new_id: str) -> None:
        runner, store = self._runner, self._runner.session_store
        entry = store._entries.get(self._key)  # noqa: SLF001 - without loading
        if entry is None or entry.session_id != old_id:
            return
        if new_id != old_id:
            adapter = runner.adapters.get(self._source.platform)
            if adapter is not None:
                adapter.session_rotated(old_id, new_id)
            runner._adopt_rotated_session(entry, new_id)  # noqa: SLF001 - the runner's own part
            store.record_rotation(entry)
        store.update_session(self._key, last_prompt_tokens=0)

    def forget_agent(self) -> None:
        """Have the next turn read the session again."""
        self._runner.parts.agents.evict(self._key)

    async def steer(self, text: str) -> bool:
        """Pass a message to the running turn."""
        runner, source = self._runner, self._source
        adapter = runner.adapters.get(source.platform)
        event = replace(self._event, text=text, turn_id=new_turn_id())
        if adapter is None or not runner.parts.queue.steer(event, source, adapter):
            return False
        # Nothing was awaited: the event was not processed yet.
        runner.parts.incoming.pass_on(self._event, event)
        return True

    async def queue(self, text: str) -> int:
        """Queue a message behind what runs."""
        event = replace(self._event, text=text, turn_id=new_turn_id())
        waiting = await self._runner.parts.queue.add(event)
        # Nothing was awaited: the turn has not started.
        self._runner.parts.incoming.pass_on(self._event, event)
        return waiting

    # Its model

    def model_override(self) -> Mapping[str, str]:
        """Return the model chosen for this session, or the override of its channel."""
        chosen = self._runner._session_model_overrides.get(self._key)  # noqa: SLF001
        entry = self._runner.session_store._entries.get(self._key)  # noqa: SLF001 - without loading
        chosen = chosen or (entry.model_override if entry is not None else None)
        return dict(chosen or self._runner.parts.execution.channel_model(self._source))

    async def set_model_override(self, override: Mapping[str, str]) -> None:
        """Choose a model; an empty mapping resets the choice."""
        chosen = self._runner._session_model_overrides  # noqa: SLF001 - the runner's own part
        if override:
            chosen[self._key] = dict(override)
        else:
            chosen.pop(self._key, None)
        store = self._runner.session_store
        await self._workers.run(store.set_model_override, self._key, dict(override) or None)

    async def chosen(self) -> Mapping[str, str]:
        """Return the chosen settings of reasoning and speed."""
        return await self._workers.run(self._runner.parts.reasoning.chosen, self._key)

    async def choose(self, name: str, value: str) -> None:
        """Choose a setting of reasoning or speed."""
        await self._workers.run(self._runner.parts.reasoning.choose, self._key, name, value)

    def shows_thinking(self) -> bool:
        """Return whether the model's reasoning is shown in the chat."""
        return self._runner.parts.reasoning.is_shown(self._key)

    def show_thinking(self, *, shown: bool) -> None:
        """Show or hide it from now on."""
        self._runner.parts.reasoning.show(self._key, shown=shown)

    # Background work

    async def begin_background(self, prompt: str) -> str:
        """Start a background task."""
        task = await self._runner.parts.background.begin(self._event, prompt, self._key)
        return task.id

    def work(self, *, everywhere: bool) -> tuple[Work, ...]:
        """Return the running replies and background tasks."""
        return self._runner.parts.background.work(None if everywhere else self._key)

    async def stop_work(self, name: str, *, everywhere: bool) -> bool:
        """End a reply or a task; it is not resumed."""
        session_key = None if everywhere else self._key
        return await self._runner.parts.background.stop_work(name, session_key)

    # The gateway

    async def restart(self) -> bool:
        """Restart the gateway soon."""
        return await self._runner.request_restart(self._source)

    def platforms(self) -> tuple[PlatformHealth, ...]:
        """Return the health of the platforms."""
        return self._platforms.platforms() if self._platforms is not None else ()

    async def pause(self, platform: str) -> None:
        """Disconnect a platform until it is resumed."""
        await self._control(platform).pause(platform)

    async def resume(self, platform: str) -> None:
        """Serve a paused platform again."""
        await self._control(platform).resume(platform)

    def _control(self, platform: str) -> PlatformControl:
        if self._platforms is None:
            raise RefusedError(
                f"{platform} is not served here.", hint="Check the list of platforms."
            )
        return self._platforms

    async def set_home(self) -> None:
        """Send the platform's unsolicited messages to this chat from the next start on."""
        if self._env_file is None:
            raise RefusedError(
                "The settings of this home cannot be changed here.",
                "The gateway was started without them.",
                "Set the home channel where the gateway runs.",
            )
        await self._workers.run(write_home, self._env_file, self._source)


def write_home(env_file: Path, source: SessionSource) -> None:
    """Write a chat as the home channel of its platform into ``.env``. Blocking.

    Raises:
        RefusedError: The chat's id cannot be written there.
        ConfigError: The file cannot be read or written.
    """
    platform = source.platform
    name = HOME_VARIABLES.get(platform) or variable(platform.value, "HOME_CHANNEL")
    try:
        thread = source.thread_id or None
        wanted = {name: source.chat_id, f"{name}_THREAD_ID": thread, f"{name}_NAME": None}
        set_env_lines(env_file, wanted)
    except ConfigError:
        raise
    except ValueError as error:
        raise RefusedError(
            "This chat cannot be the home channel.",
            "Its ID contains characters with a special meaning in .env.",
            f"Set {name} by hand.",
        ) from error
