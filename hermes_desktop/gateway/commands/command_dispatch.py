"""Dispatch of the commands in messages of authorized senders, before any other processing."""

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hermes_desktop.commands.context import CommandContext, CommandReply, ProgramFacts
from hermes_desktop.commands.handlers import error_text, preview_command, run_command
from hermes_desktop.commands.parsing import TypedCommand, parse_command
from hermes_desktop.commands.quick_commands import QuickRunner
from hermes_desktop.commands.registry import CommandDef, resolve_command
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.events import TurnStarted
from hermes_desktop.gateway.access.authorization import command_access
from hermes_desktop.gateway.access.refusals import closing
from hermes_desktop.gateway.commands.added_commands import AddedCommands
from hermes_desktop.gateway.commands.gateway_commands import PlatformControl, RunnerHost
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.runner.hooks import verdict_on_command
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns.turn_outcome import EphemeralReply

if TYPE_CHECKING:
    from hermes_desktop.gateway.run import GatewayRunner

log = logging.getLogger(__name__)

QUESTION_S = 300.0
"""How long an unanswered confirmation stays pending."""
_MOST_REMEMBERED = 500
_YES = frozenset({"once", "yes", "y", "ok", "okay"})
_ALWAYS = frozenset({"always"})
_NO = frozenset({"cancel", "no", "n"})


@dataclass(frozen=True, slots=True)
class _Question:
    """A command that waits for the sender's confirmation."""

    command: CommandDef
    args: str
    user_id: str | None
    asked_at: float


async def _on_own_thread(call: Callable[[], Any]) -> Any:
    """Run a long call where it blocks no other command."""
    workers = WorkerThreads("gateway-long")
    try:
        return await workers.run(call)
    finally:
        workers.close()


class CommandDispatch:
    """Dispatcher of the commands of chats; see :mod:`~hermes_desktop.gateway.runner.state`.

    A command is answered here and never reaches a model; nothing of it is stored in the session.

    Args:
        runner: The runner of the chats.
        facts: Information about the program.
        workers: Worker threads for blocking commands; not those of turns, which may all be occupied
            when ``/stop`` arrives.
        platforms: Controls the platforms; None where there are none.
        quick: Runs the user's shell commands; None: there are none.
    """

    def __init__(
        self,
        runner: "GatewayRunner",
        facts: ProgramFacts,
        *,
        workers: WorkerThreads,
        platforms: PlatformControl | None = None,
        quick: QuickRunner | None = None,
    ) -> None:
        self._added = AddedCommands(lambda: runner.config.quick_commands, quick)
        self._runner = runner
        self._facts = facts
        self._workers = workers
        self._platforms = platforms
        self._questions: dict[str, _Question] = {}
        self._unasked: set[str] = set()
        self._listed: OrderedDict[str, list[str]] = OrderedDict()

    async def __call__(self, event: MessageEvent, session_key: str) -> MessageEvent | str:
        """Process a message.

        Returns:
            The message to continue with, or the reply to a command; "" for silence.
        """
        source = event.source
        if source is None or event.internal:
            return event
        reply = await self._reply(event, source, session_key)
        if reply is None:
            return event
        if reply.ask is not None:
            return replace(event, text=reply.ask)
        self._show_in_window(event, source, session_key)
        return EphemeralReply(reply.text)

    async def _reply(
        self, event: MessageEvent, source: SessionSource, session_key: str
    ) -> CommandReply | None:
        """Return the reply; None for a message that is not a command."""
        confirmed = self._answered_question(event.text, source, session_key)
        if isinstance(confirmed, CommandReply):
            return confirmed
        if confirmed is not None:
            return await self._do(confirmed.command, confirmed.args, event, source, session_key)
        typed = self._typed(event.text, self._prefix(source))
        if typed is None:
            return None
        command = self._command(typed.name)
        if command is None:
            return _unknown(typed)
        reply = self._refusal(command, source, session_key, typed.prefix)
        if reply is None:
            command, typed, reply = await self._let_hooks_see(command, typed, source, session_key)
        removes = command.destructive and typed.args.lower() not in command.unasked
        if reply is None and removes and await self._is_asked(session_key):
            reply = await self._ask(command, typed, event, source, session_key)
        if reply is None:
            reply = await self._do(command, typed.args, event, source, session_key)
        return reply

    # Parsing

    def _prefix(self, source: SessionSource) -> str:
        adapter = self._runner.adapters.get(source.platform)
        return adapter.typed_command_prefix if adapter is not None else "/"

    def _command(self, name: str) -> CommandDef | None:
        return resolve_command(name) or self._added.find(name)

    def _typed(self, text: str, prefix: str) -> TypedCommand | None:
        if text.strip().lower() in self._runner.config.reset_triggers:
            return TypedCommand("new")
        typed = parse_command(text, prefix)
        if typed is None or resolve_command(typed.name) is not None:
            return typed
        target = self._added.alias(typed.name)
        if target is not None:
            return parse_command(f"/{target} {typed.args}".rstrip())
        is_command = typed.prefix == "/" or self._added.find(typed.name) is not None
        return typed if is_command else None  # "!important" is not a command

    def _refusal(
        self, command: CommandDef, source: SessionSource, session_key: str, prefix: str
    ) -> CommandReply | None:
        """Return why a command is refused, None when it is not."""
        name = f"{prefix}{command.name}"
        if not command_access(source, self._runner.config).allows(command.name):
            return CommandReply(
                f"You cannot use {name} here. To see what you can use, send {prefix}whoami."
            )
        if not command.available:
            return CommandReply(
                f"{name} is not supported in this version. To list all commands, send {prefix}help."
            )
        if source.platform is Platform.DESKTOP and command.instead_in_window:
            return CommandReply(command.instead_in_window)
        if not command.while_busy and self._runner.chats.is_busy(session_key):
            return CommandReply(
                f"{name} cannot be used while a reply is being written. Wait for it, or send "
                f"{prefix}stop."
            )
        return None

    async def _let_hooks_see(
        self, command: CommandDef, typed: TypedCommand, source: SessionSource, session_key: str
    ) -> tuple[CommandDef, TypedCommand, CommandReply | None]:
        """Pass a command to the event hooks; return the command to run, or a reply instead."""
        context = {
            "platform": source.platform.value,
            "user_id": source.user_id,
            "command": command.name,
            "raw_command": typed.name,
            "args": typed.args,
            "raw_args": typed.args,
            "session_key": session_key,
        }
        answers = await self._runner.parts.hook_calls.collect(f"command:{command.name}", context)
        verdict = verdict_on_command(answers)
        said = str(verdict.get("message") or verdict.get("reason") or "")
        if verdict.get("decision") == "handled":
            return command, typed, CommandReply(said)
        if verdict.get("decision") == "deny":
            words = said or f"{typed.prefix}{command.name} is not allowed here."
            return command, typed, CommandReply(words)
        if verdict.get("decision") == "rewrite":
            wanted = str(verdict.get("command_name") or verdict.get("command") or command.name)
            args = verdict.get("raw_args", verdict.get("args", typed.args))
            typed = TypedCommand(wanted.strip().lstrip("/").lower(), str(args), typed.prefix)
            other = self._command(typed.name)
            if other is None:
                log.warning(
                    "A hook replaced %s by %s, which is not a command", command.name, wanted
                )
                return command, typed, _unknown(typed)
            return other, typed, self._refusal(other, source, session_key, typed.prefix)
        return command, typed, None

    async def _do(
        self,
        command: CommandDef,
        args: str,
        event: MessageEvent,
        source: SessionSource,
        session_key: str,
    ) -> CommandReply:
        prefix = self._prefix(source)
        refusal = self._refusal(command, source, session_key, prefix)
        if refusal is not None:
            return refusal
        if command.category == "Added":
            if self._runner._draining:  # noqa: SLF001 - the runner's own part
                return CommandReply(str(closing()))
            return await self._added.run(command.name, args)
        context = self._context(args, event, source, session_key)
        if context is None:
            return CommandReply("The session database is missing.")
        try:
            return await run_command(command, context)
        except Exception as error:  # a bug, but the sender still gets a reply
            log.exception("The command %s failed", command.name)
            return CommandReply(
                f"An internal error occurred in Hermes Desktop ({type(error).__name__}). See "
                "the log for details."
            )

    def _context(
        self, args: str, event: MessageEvent, source: SessionSource, session_key: str
    ) -> CommandContext | None:
        """Return the context of a command; None without a database."""
        session_db = self._runner._session_db  # noqa: SLF001 - the runner's own part
        if session_db is None:
            return None
        home, prefix = self._facts.home, self._prefix(source)
        host = RunnerHost(
            self._runner,
            event,
            session_key,
            workers=self._workers,
            platforms=self._platforms,
            env_file=home / ".env" if home is not None else None,
        )
        return CommandContext(
            args=args,
            sender=host.sender(prefix),
            host=host,
            store=session_db._db,  # noqa: SLF001 - the blocking face, used on workers
            run=self._workers.run,
            clock=self._runner.state.clock,
            facts=self._facts,
            listed=self._remembered(session_key),
            added=self._added.definitions(),
            aside=_on_own_thread,
        )

    def _remembered(self, session_key: str) -> list[str]:
        """Return the numbered list that a chat was last shown."""
        listed = self._listed.setdefault(session_key, [])
        self._listed.move_to_end(session_key)
        if len(self._listed) > _MOST_REMEMBERED:
            self._listed.popitem(last=False)
        return listed

    # Confirmation

    async def _is_asked(self, session_key: str) -> bool:
        """Return whether to ask for confirmation: not in a session without messages."""
        wanted = self._runner.config.running.confirm_destructive_commands
        session_db = self._runner._session_db  # noqa: SLF001 - the runner's own part
        if not wanted or session_key in self._unasked or session_db is None:
            return False
        session_id = self._runner.session_store.peek_session_id(session_key)
        if session_id is None:
            return False
        try:
            row = await self._workers.run(session_db._db.get_session, session_id)  # noqa: SLF001
        except HermesError:
            return True
        return row is not None and bool(row["message_count"])

    async def _ask(
        self,
        command: CommandDef,
        typed: TypedCommand,
        event: MessageEvent,
        source: SessionSource,
        session_key: str,
    ) -> CommandReply:
        context = self._context(typed.args, event, source, session_key)
        try:
            preview = "" if context is None else await preview_command(command, context)
        except HermesError as error:
            return CommandReply(error_text(error, in_window=source.platform is Platform.DESKTOP))
        now = self._runner.state.clock.monotonic()
        self._questions[session_key] = _Question(command, typed.args, source.user_id, now)
        lost = (
            "The chat leaves this session, which stays in the history."
            if command.name == "new"
            else "The last messages are removed from the session."
        )
        asked = "To confirm, answer once or always; otherwise answer cancel."
        words = (lost, preview, asked) if preview else (f"{lost} {asked}",)
        return CommandReply(f"{typed.prefix}{command.name}: " + "\n".join(words))

    def _answered_question(
        self, text: str, source: SessionSource, session_key: str
    ) -> _Question | CommandReply | None:
        """Return the command that was just confirmed, or a reply, or None for neither.

        Any other message of the same sender cancels the confirmation.
        """
        question = self._questions.get(session_key)
        if question is None or question.user_id != source.user_id:
            return None
        del self._questions[session_key]
        word = text.strip().strip("/.!").lower()
        if self._runner.state.clock.monotonic() - question.asked_at > QUESTION_S:
            return None
        if word in _NO:
            return CommandReply("Nothing was changed.")
        if word in _ALWAYS:
            self._unasked.add(session_key)
        return question if word in _YES | _ALWAYS else None

    # The window

    def _show_in_window(self, event: MessageEvent, source: SessionSource, session_key: str) -> None:
        """Show a command in this program's own chat; the runner publishes when it was answered.

        Other platforms show it themselves.
        """
        if source.platform is Platform.DESKTOP:
            session_id = self._runner.session_store.peek_session_id(session_key) or ""
            self._runner.state.bus.publish(
                TurnStarted(event.turn_id, session_key, session_id, event.text)
            )


def _unknown(typed: TypedCommand) -> CommandReply:
    if typed.name == "start":  # sent by platforms when a user opens a chat
        return CommandReply()
    shown = typed.name[:40]
    return CommandReply(
        f"There is no command {typed.prefix}{shown}. To list all commands, send "
        f"{typed.prefix}commands. To send this to the assistant, put a different character "
        "first."
    )
