"""The background processes of one program: start, list, end, and notify of their ends."""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hermes_desktop.agent.sandbox.grants import Hold, Level
from hermes_desktop.agent.sandbox.launching import Launch
from hermes_desktop.agent.sandbox.sandbox import Plan
from hermes_desktop.agent.tools.asking.moved_keys import ChatKeyAliases
from hermes_desktop.agent.tools.processes.background_process import POLITE_S, BackgroundProcess
from hermes_desktop.agent.tools.processes.process_output import Excerpt
from hermes_desktop.agent.tools.processes.process_records import LostProcess, ProcessRecords
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import BusyError
from hermes_desktop.core.processes import process_tree
from hermes_desktop.core.text.escape_sequences import plain_output

log = logging.getLogger(__name__)

MOST_PER_CHAT = 8
MOST_TOGETHER = 32
_MOST_ENDED = 64
_MOST_COMMAND = 2000
QUIT_S = 1.0

ProcessState = Literal["running", "ended", "killed", "lost"]


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A description of a background process.

    Attributes:
        session_key: The chat that it belongs to.
        session_id: The session in which it was started.
        command: Its command, without secrets.
        code: Exit code; negative for a signal; None while it runs, or if it is unknown.
        notify: Its session requested a notification of its end.
    """

    id: str
    session_key: str
    session_id: str
    command: str
    cwd: str
    pid: int
    started_at: float
    state: ProcessState
    code: int | None = None
    ended_at: float | None = None
    notify: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """A process to be started.

    Attributes:
        argv: Program and arguments.
        command: The same for the user, without secrets.
        plan: How it runs in the sandbox; None: as it is.
    """

    session_key: str
    session_id: str
    argv: tuple[str, ...]
    command: str
    environ: Mapping[str, str]
    cwd: Path
    notify: bool = False
    plan: Plan | None = None

    def open(self) -> AbstractContextManager[Launch]:
        """Return the context in which it is started and runs."""
        if self.plan is None:
            return nullcontext(Launch(self.argv, self.environ, self.cwd))
        return self.plan.open(self.argv, self.environ, lingers=True)


@dataclass(slots=True)
class _Kept:
    wanted: Wanted
    process: BackgroundProcess
    id: str
    started_at: float
    ended_at: float | None = None


class ProcessTable:
    """The table of background processes. Thread-safe.

    Args:
        clock: For reported times.
        folder: The folder of the records.
        clean: Removes secrets from output before it is returned.
    """

    def __init__(
        self, clock: Clock, folder: Path, clean: Callable[[str], str] = lambda text: text
    ) -> None:
        self._clock = clock
        self._clean = clean
        self._records = ProcessRecords(folder)
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._kept: dict[str, _Kept] = {}
        self._lost: tuple[ProcessInfo, ...] = ()
        self._moved = ChatKeyAliases()
        self._closed = False
        self._mark = ""
        self._listeners: list[Callable[[ProcessInfo], object]] = []

    def on_end(self, listener: Callable[[ProcessInfo], object]) -> Callable[[], None]:
        """Subscribe to ends; the listener runs on any thread. Call the result to unsubscribe."""
        with self._lock:
            self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def take_lost(self) -> tuple[LostProcess, ...]:
        """End and list what earlier programs left running. Blocking."""
        found = self._records.take_lost()
        with self._lock:
            self._lost += tuple(_of_lost(each) for each in found)
        return found

    # --------------------------------------------------------------------------- operations

    def start(self, wanted: Wanted) -> ProcessInfo:
        """Start a process. Blocks for milliseconds.

        Raises:
            BusyError: Too many run already, or the program is closing.
            OSError: It cannot be started.
        """
        with self._lock:
            running = [each for each in self._kept.values() if not each.process.is_over]
            ours = [e for e in running if self._is_of(e, wanted.session_key)]
            if self._closed or len(ours) >= MOST_PER_CHAT or len(running) >= MOST_TOGETHER:
                raise _too_many(closed=self._closed)
            process = BackgroundProcess(wanted.open, ended=self._ended)
            kept = _Kept(wanted, process, f"proc_{secrets.token_hex(6)}", self._clock.time())
            self._kept[kept.id] = kept
            self._forget_old()
        process.watch()
        self._write_down()
        return self._info(kept)

    def covered(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return an environment for a foreground command.

        Its programs are ended by the next program if this one is killed. Blocks for milliseconds on
        the first call.
        """
        with self._lock:
            first = not self._mark
            self._mark = self._mark or process_tree.new_mark()
        if first:
            self._write_down()
        return process_tree.marked(environ, self._mark)

    def listed(self, session_key: str | None = None) -> tuple[ProcessInfo, ...]:
        """Return running, recently ended and lost processes, in the order of their starts."""
        with self._lock:
            kept, lost = list(self._kept.values()), self._lost
        known = [*lost, *(self._info(each) for each in kept)]
        key = session_key if session_key is None else self._moved.now(session_key)
        return tuple(each for each in known if key in (None, self._moved.now(each.session_key)))

    def find(self, process_id: str) -> ProcessInfo | None:
        """Return the process with this id, if any."""
        return next((each for each in self.listed() if each.id == process_id), None)

    def hold(self, process_id: str) -> Hold:
        """Return the sandbox level of a process; an unknown one has none."""
        plan = self.plan(process_id)
        return plan.hold if plan is not None else Hold(Level.NONE, "runs without a sandbox")

    def plan(self, process_id: str) -> Plan | None:
        """Return how a process runs in the sandbox; None if that is unknown."""
        kept = self._kept.get(process_id)
        return kept.wanted.plan if kept is not None else None

    def has_active(self, session_key: str) -> bool:
        """Return whether a process runs for a chat."""
        with self._lock:
            return any(
                self._is_of(each, session_key) and not each.process.is_over
                for each in self._kept.values()
            )

    def output(self, process_id: str, cursor: int | None, most: int) -> Excerpt:
        """Return a piece of the output: after a cursor, or the latest for None."""
        kept = self._kept.get(process_id)
        if kept is None:
            return Excerpt("", 0)
        output = kept.process.output
        piece = output.tail(most) if cursor is None else output.since(cursor, most)
        return replace(piece, text=self._clean(plain_output(piece.text)))

    def wait(
        self, process_id: str, seconds: float, given_up: Callable[[], bool] = lambda: False
    ) -> bool:
        """Wait for an end; return whether it came. Blocking, until ``given_up`` returns True."""
        kept = self._kept.get(process_id)
        end = time.monotonic() + seconds
        while kept is not None and not kept.process.is_over:
            left = end - time.monotonic()
            if left <= 0 or given_up():
                return False
            kept.process.wait(min(0.1, left))
        return True

    def write(self, process_id: str, text: str, *, close: bool = False) -> bool:
        """Write to a process; return False when it does not read. Blocks for up to 2 s."""
        kept = self._kept.get(process_id)
        if kept is None or kept.process.is_over:
            return False
        return kept.process.write(text.encode("utf-8", "replace"), close=close)

    def kill(self, process_id: str) -> bool:
        """End a process and all it has started; False when it does not run. Blocks for seconds."""
        kept = self._kept.get(process_id)
        if kept is None or kept.process.is_over:
            return False
        kept.process.stop()
        return True

    def kill_all(self, session_key: str | None = None, polite_s: float = POLITE_S) -> int:
        """End all processes of a chat, or all; return how many ran. Blocks for seconds."""
        with self._lock:
            running = [
                each.process
                for each in self._kept.values()
                if not each.process.is_over and self._is_of(each, session_key)
            ]
        for each in running:
            each.ask_to_leave()
        end = time.monotonic() + polite_s
        for each in running:
            each.wait(max(0.0, end - time.monotonic()))
        for each in running:
            each.end()
            each.wait(POLITE_S)
        return len(running)

    def close(self) -> tuple[ProcessInfo, ...]:
        """End everything; return what ran. The next program reports it. Blocks about a second."""
        with self._lock:
            self._closed = True
            self._listeners.clear()
        running = tuple(each for each in self.listed() if each.state == "running")
        names = {each.id for each in running}
        self._write_down(names)  # before: if we are killed now, the next program ends them
        self.kill_all(polite_s=QUIT_S)
        if self._mark:  # abandoned turns
            process_tree.end_marked(self._mark)
        self._write_down(names, over=True)
        return running

    def move(self, old_key: str, new_key: str) -> None:
        """Assign the running and ended processes of a chat to its new key."""
        self._moved.move(old_key, new_key)
        if not self._closed:
            self._write_down()

    # ---------------------------------------------------------------------------- internals

    def _is_of(self, kept: _Kept, session_key: str | None) -> bool:
        """Return whether a process belongs to a chat; None stands for all chats."""
        now = self._moved.now
        return session_key is None or now(kept.wanted.session_key) == now(session_key)

    def _info(self, kept: _Kept) -> ProcessInfo:
        process, wanted = kept.process, kept.wanted
        state: ProcessState = "running"
        if process.is_over:
            state = "killed" if process.killed else "ended"
        return ProcessInfo(
            id=kept.id,
            session_key=self._moved.now(wanted.session_key),
            session_id=wanted.session_id,
            command=wanted.command[:_MOST_COMMAND],
            cwd=str(wanted.cwd),
            pid=process.pid,
            started_at=kept.started_at,
            state=state,
            code=process.code if process.is_over else None,
            ended_at=kept.ended_at,
            notify=wanted.notify,
        )

    def _ended(self, process: BackgroundProcess) -> None:
        with self._lock:
            kept = next((e for e in self._kept.values() if e.process is process), None)
            listeners = list(self._listeners)
            if kept is not None:
                kept.ended_at = self._clock.time()
        if kept is None:
            return
        log.info("The background process %s has ended with %s", kept.id, process.code)
        if not self._closed:
            self._write_down()
        for listener in listeners:
            try:
                listener(self._info(kept))
            except Exception:
                log.exception("A listener to the end of %s failed", kept.id)

    def _forget_old(self) -> None:
        ended = [name for name, each in self._kept.items() if each.process.is_over]
        for name in ended[: max(0, len(ended) - _MOST_ENDED)]:
            del self._kept[name]

    def _write_down(self, names: set[str] | None = None, *, over: bool = False) -> None:
        with self._writing:
            with self._lock:
                found = [
                    (each.id, each.process, each.wanted, each.started_at)
                    for each in self._kept.values()
                    if (each.id in names if names is not None else not each.process.is_over)
                ]
                covering = [{"mark": self._mark}] if self._mark and not over else []
            listed = [
                {
                    "id": name,
                    "mark": process.mark,
                    "command": wanted.command[:_MOST_COMMAND],
                    "cwd": str(wanted.cwd),
                    "session_key": self._moved.now(wanted.session_key),
                    "session_id": wanted.session_id,
                    "started_at": started_at,
                    "notify": wanted.notify,
                    "over": over,
                }
                for name, process, wanted, started_at in found
            ]
            self._records.write([*listed, *covering])


def _of_lost(lost: LostProcess) -> ProcessInfo:
    return ProcessInfo(
        id=lost.id,
        session_key=lost.session_key,
        session_id=lost.session_id,
        command=lost.command,
        cwd=lost.cwd,
        pid=0,
        started_at=lost.started_at,
        state="lost",
        notify=lost.notify,
    )


def _too_many(*, closed: bool) -> BusyError:
    if closed:
        return BusyError(
            "The program is closing.", "Nothing new can be started.", "Start it again."
        )
    return BusyError(
        "Too many background processes are running.",
        f"The limits are {MOST_PER_CHAT} per chat and {MOST_TOGETHER} in total.",
        "End one of them first.",
    )
