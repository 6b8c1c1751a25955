"""One turn of ``hermes-desktop chat``, with a private gateway on a plain event loop."""

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hermes_desktop.agent.types import RETRACTED
from hermes_desktop.cli import output
from hermes_desktop.cli.chat.terminal_prompts import TerminalPrompts
from hermes_desktop.cli.consent import Consent
from hermes_desktop.cli.sessions.session_undo import undo_turns
from hermes_desktop.cli.store_access import open_store
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import (
    BusyError,
    CancelledError,
    HermesError,
    NotFoundError,
    StateReadOnlyError,
    StillBusyError,
)
from hermes_desktop.core.events import Notice, TurnDelta, TurnFinished, TurnNote, TurnQueued
from hermes_desktop.core.home_kind import continue_command
from hermes_desktop.core.log_setup import SecretRedactor, set_up_logging
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.core.processes.exit_deadline import EXIT_SLACK_S, ExitDeadline
from hermes_desktop.gateway.turns.program_locks import NOTICE_KEY
from hermes_desktop.services.agents.agent_builder import read_agent_settings
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.services.assembly.desktop_services import DesktopServices
from hermes_desktop.services.secrets.secret_access import model_key_warnings, with_secrets
from hermes_desktop.services.sessions.open_turns import OpenTurn
from hermes_desktop.services.sessions.session_catalog import find_latest_session_id, find_session_id
from hermes_desktop.services.sessions.undo_plan import typed_undo
from hermes_desktop.services.sessions.working_folder import working_folder
from hermes_desktop.state import SessionDB
from hermes_desktop.state.database.home_marks import kind_of_home
from hermes_desktop.state.records.records import SessionSummary

SOURCE = "cli"
DRAIN_S = 5.0
STOP_S = 10.0
_SHOWN = 120
_STOP = "Press Ctrl-C to cancel; nothing is sent then."
HELD_S = 1.0
CLOSING_S = DRAIN_S + 20.0
"""How long closing may legitimately take: a locked database takes 20 s."""

_ERRORS: dict[str, type[HermesError]] = {
    "busy": BusyError,
    "still_busy": StillBusyError,
    "session_gone": NotFoundError,
}


@dataclass(frozen=True, slots=True)
class ChatTarget:
    """The target of the message: a named session, the latest one, or (neither) a new one.

    Attributes:
        now: Do not wait for a turn that ``hermes`` runs in the session.
    """

    resume: str | None = None
    latest: bool = False
    now: bool = False


def run_chat(paths: HermesPaths, text: str, target: ChatTarget) -> int:
    """Send the message and print the reply. Blocks until it is complete.

    Args:
        paths: The home to work in.
        text: The message, not blank.
        target: The session it belongs to.

    Returns:
        0 for a complete reply.

    Raises:
        HermesError: No reply, or only part of one.
        BrokenPipeError: The reader of the reply has closed the pipe; the turn was stopped.
    """
    _refuse_foreign_home(paths, target)
    try:
        return asyncio.run(_converse(paths, text, target))
    except asyncio.CancelledError:
        raise CancelledError("Stopped.", "Nothing was sent.") from None


def undo_in(paths: HermesPaths, text: str, target: ChatTarget) -> bool:
    """Undo turns if the message is ``/undo`` and its session is known; else return False.

    The difference is shown first, and the user is asked at the terminal.

    Raises:
        HermesError: It was refused.
    """
    turns = typed_undo(text)
    if not turns or not (target.resume or target.latest):
        return False
    _refuse_foreign_home(paths, target)
    with open_store(paths) as db:
        session = target.resume or find_latest_session_id(db, source=SOURCE)
    undo_turns(paths, session, turns, Consent(yes=False, dry_run=False, as_json=False))
    return True


def _refuse_foreign_home(paths: HermesPaths, target: ChatTarget) -> None:
    """Refuse a home that only another program may write; name the command to continue there.

    Raises:
        StateReadOnlyError: The home may not be written here.
        NotFoundError: There is no such session.
    """
    home = kind_of_home(paths.state_db)
    if home.may_write:
        return
    wanted = None
    if target.resume is not None or target.latest:
        with open_store(paths) as db:
            session = _session_to_continue(db, target)
            wanted = None if session is None else session.id
    command = continue_command(paths, wanted)
    raise StateReadOnlyError(home.title, home.reason, f"Continue in `hermes`: {command}")


async def _converse(paths: HermesPaths, text: str, target: ChatTarget) -> int:
    redactor = SecretRedactor()
    # Before anything is created in the home: without a model there is nothing to do in it.
    _read_settings(paths, redactor)
    set_up_logging(redactor, log_file=paths.log_file if paths.home.is_dir() else None)
    services = build_services(paths, redactor=redactor, program="hermes-desktop chat")
    try:
        with _signals_cancel():
            await services.start(watch=False)
            session = _session_to_continue(services.db, target)
            await _check(services, session, now=target.now)
            finished = await _ask(services, text, session, now=target.now)
            _tell_outcome(finished, is_new=session is None)
            return 0
    except HermesError as error:
        output.show_error(error)  # right now: closing may take a while
        return error.exit_code
    finally:
        ExitDeadline(tell=output.say).arm(CLOSING_S + EXIT_SLACK_S)
        await services.close(drain_s=DRAIN_S)
        for ended in services.ended_processes:
            output.say(f"Ended background process: {ended.command[:_SHOWN]}")


def _read_settings(paths: HermesPaths, redactor: SecretRedactor) -> None:
    """Fail early without a model, and warn about keys that the keyring does not return.

    Raises:
        HermesError: No model is set, or the settings cannot be read.
    """
    environ = with_secrets(paths, os.environ, SystemClock())
    try:
        read_agent_settings(paths, environ, redactor)
    finally:
        for words in model_key_warnings(environ):
            output.say(f"Note: {words}")


def _session_to_continue(db: SessionDB, target: ChatTarget) -> SessionSummary | None:
    if target.resume is not None:
        wanted = find_session_id(db, target.resume)
    elif target.latest:
        wanted = find_latest_session_id(db, source=SOURCE)
    else:
        return None
    session = db.summary(db.resolve_resume_session_id(wanted))
    if session is None:
        raise NotFoundError("This session no longer exists.", f"No session has the ID {wanted}.")
    return session


async def _check(services: DesktopServices, session: SessionSummary | None, *, now: bool) -> None:
    """Reject what cannot work before anything is stored; print notes on the session."""
    readiness = await services.chat.readiness()
    if not readiness.ready:
        raise HermesError(readiness.title, readiness.detail, readiness.hint)
    if session is None:
        return
    others = await services.chat.foreign_activity_warning(session) if now else ""
    folder = working_folder(services.db, session.id)
    for note in filter(None, (others, services.chat.note_for(session), folder.note)):
        output.say(f"Note: {note}")


async def _ask(
    services: DesktopServices, text: str, session: SessionSummary | None, *, now: bool
) -> TurnFinished:
    """Send, print the streamed text, and wait for the end; a cancellation stops the turn first."""
    reply = ReplyPrinter()
    finished: asyncio.Future[TurnFinished] = asyncio.get_running_loop().create_future()

    def end(event: TurnFinished) -> None:
        if not finished.done():
            finished.set_result(event)

    prompt = TerminalPrompts(services)
    prompt.open()
    services.bus.subscribe(TurnDelta, reply.add)
    services.bus.subscribe(TurnNote, reply.note)
    services.bus.subscribe(TurnFinished, end)
    waiting = WaitStatusLine()
    services.bus.subscribe(TurnQueued, waiting.queued)
    services.bus.subscribe(Notice, waiting.notice)
    if not now:
        services.chat.enable_foreign_wait(waiting.foreign)
    submitted = await services.chat.send(
        text, session_id=session.id if session else None, source=SOURCE
    )
    reader_left = asyncio.ensure_future(reply.reader_left.wait())
    try:
        ends: set[asyncio.Future[Any]] = {finished, reader_left}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if not finished.done():
            await _stop(services, submitted.session_id, finished)
            raise BrokenPipeError
    except asyncio.CancelledError:
        reply.end()
        output.say("Stopping …")
        await _stop(services, submitted.session_id, finished)
        kept = not finished.done() or finished.result().stored
        raise _stopped(submitted.session_id, kept=kept) from None
    finally:
        waiting.clear()
        prompt.close()
        reader_left.cancel()
    outcome = finished.result()
    reply.end(outcome.reply)
    if reply.failure is not None and outcome.outcome == "done":
        raise output.OutputError(
            reply.failure.title,
            reply.failure.detail,
            f"The reply is stored. `hermes-desktop sessions show {outcome.session_id}` prints it.",
        )
    return outcome


async def _stop(
    services: DesktopServices, session_id: str, finished: "asyncio.Future[TurnFinished]"
) -> None:
    await services.chat.stop(session_id)
    await asyncio.wait({finished}, timeout=STOP_S)


def _tell_outcome(finished: TurnFinished, *, is_new: bool) -> None:
    """Raise the turn's error; after a successful reply, name a new session to the user."""
    if finished.outcome == "stopped":
        raise _stopped(finished.session_id, kept=finished.stored)
    again = f"hermes-desktop chat --resume {shlex.quote(finished.session_id)} -q …"
    if finished.outcome == "failed":
        kept = (
            f"Your message is kept in session {finished.session_id}. Continue with `{again}`."
            if finished.stored
            else "Your message was not stored."
        )
        raise _ERRORS.get(finished.error_kind, HermesError)(
            finished.error_title or "The model did not answer.",
            finished.error_detail,
            "\n".join(part for part in (finished.error_hint, kept) if part),
        )
    if is_new and finished.stored and output.is_error_terminal():
        output.say(f"Session {finished.session_id} · continue with `{again}`")


def _stopped(session_id: str, *, kept: bool) -> CancelledError:
    return CancelledError(
        "Stopped.",
        f"The reply so far is kept in session {session_id}." if kept else "Nothing was stored.",
    )


class ReplyPrinter:
    """A writer of a reply's pieces as they arrive, sanitized.

    Text sometimes turns out to be thinking only after it has arrived. Output to a file or a program
    cannot be withdrawn, so the first second of a reply is held back there.

    Attributes:
        reader_left: Set when the reader of standard output has closed it.
        failure: Why the reply could not be written, such as a full disk.
    """

    def __init__(self) -> None:
        self.reader_left = asyncio.Event()
        self.failure: output.OutputError | None = None
        self._waiting: str | None = None if output.is_terminal() else ""
        self._release: asyncio.TimerHandle | None = None
        self._held = ""
        self._last = ""
        self._notes: list[str] = []

    def add(self, delta: TurnDelta) -> None:
        """Write one piece; thinking is omitted."""
        if delta.kind == "text":
            self._take(delta.text)
        elif delta.kind == "retracted" and self._waiting is not None:
            self._waiting = self._waiting.removesuffix(delta.text)
        elif delta.kind == "retracted":
            self._write("" if self._last.endswith("\n") else "\n")
            output.say(RETRACTED)

    def note(self, event: TurnNote) -> None:
        """Show a note on the turn, but not in the middle of a line of the reply."""
        if not event.text:
            return
        if self._last:
            self._notes.append(event.text)
        else:
            output.say(event.text)

    def end(self, whole: str = "") -> None:
        """Finish the last line; a reply that was not streamed is written now."""
        self._let_go()
        if not self._last:
            self._write(whole)
        if self._last and not self._last.endswith("\n"):
            self._write("\n")
        for note in self._notes:
            output.say(note)
        self._notes.clear()

    def _take(self, text: str) -> None:
        if self._waiting is None:
            self._write(text)
            return
        self._waiting += text
        if self._release is None:
            self._release = asyncio.get_running_loop().call_later(HELD_S, self._let_go)

    def _let_go(self) -> None:
        """Write the text held back; from now on nothing is held back."""
        if self._release is not None:
            self._release.cancel()
        waiting, self._waiting = self._waiting, None
        self._write(waiting or "")

    def _write(self, text: str) -> None:
        text = self._held + text
        # The two halves of a line end may arrive in two pieces.
        self._held = "\r" if text.endswith("\r") else ""
        text = output.neutralise(text.removesuffix("\r"))
        if not text or self.reader_left.is_set() or self.failure is not None:
            return
        self._last = text
        try:
            output.write(text)
            output.flush()
        except BrokenPipeError:
            self.reader_left.set()
        except output.OutputError as error:
            # The turn continues: its reply is stored, and can be read once there is space.
            self.failure = error


@contextlib.contextmanager
def _signals_cancel() -> Iterator[None]:
    """Make SIGTERM and SIGHUP end the turn like Ctrl-C, so that the partial reply is kept."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    taken: list[signal.Signals] = []
    if os.name == "posix" and task is not None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:  # under nohup the signal stays ignored
                loop.add_signal_handler(number, task.cancel)
                taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)


class WaitStatusLine:
    """The status line on standard error; on a terminal, the remaining time counts down in it."""

    def __init__(self) -> None:
        self._line = output.RewrittenLine()
        self._told = ""

    def queued(self, event: TurnQueued) -> None:
        """Show that the message waits for one of our programs, or for a free place."""
        self._line.say(
            f"{event.reason} {_STOP}"
            if event.reason
            else "Waiting until another reply has finished …"
        )

    def notice(self, notice: Notice) -> None:
        """Show that sessions cannot be locked; other notices are for a window."""
        if notice.key == NOTICE_KEY:
            self._line.say(f"{notice.title} {notice.detail} {notice.hint}")

    def foreign(self, turn: OpenTurn | None, left_s: float) -> None:
        """Show that the message waits for another program, and for how long at most."""
        if turn is None:
            self.clear()
            return
        minutes, seconds = divmod(max(0, round(left_s)), 60)
        left = f"{minutes}:{seconds:02}"
        if turn.who != self._told:
            self._told = turn.who
            self._line.say(
                f"Waiting up to {left} min: {turn}. {_STOP} Use --now to send immediately."
            )
        if output.is_error_terminal():
            self._line.rewrite(f"{left} left ")

    def clear(self) -> None:
        """Clear the line that is rewritten."""
        self._line.clear()
