"""The identity process, which other Hermes programs see as the gateway of a home.

It holds ``gateway.lock`` and writes ``gateway.pid`` and ``gateway_state.json`` on behalf of the
program that started it, because programs that stop a gateway kill the process named in these files.
It receives JSON lines on standard input and replies with JSON lines on standard output:

==============================================  ===============================================
``{"do": "state", …}``                          merge these fields into the state file
``{"do": "limits", "service": true}``           a service for this home is installed
``{"do": "release", "exit_reason": null}``      leave
``{"say": "held" | "repaired", "record": …}``   the home is claimed (again)
``{"say": "busy", "record": …}``                another gateway has it; exit code 3
``{"say": "refused", "reason": …}``             the start was not valid; exit code 3
``{"say": "stop", "kind": …, "limit": …}``      stop requested, within so many seconds
``{"say": "lost", "record": …}``                another gateway took it (4), the home is gone (5)
``{"say": "bye", "reason": …}``                 it left; exit code 0
==============================================  ===============================================

It has no children, opens no database, sends no signals and needs only the standard library. End of
input, or a parent other than the one that started it, means that the program has ended.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a file, with neither site-packages nor this folder on the path.
    sys.path.append(str(Path(__file__).resolve().parents[3]))

from hermes_desktop.gateway.runtime_files import identity_files as files
from hermes_desktop.gateway.runtime_files import process_facts
from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord

LIMITS_S: Mapping[str, float] = {"takeover": 9.0, "stop": 9.0, "kill": 2.5, "restart": 15.0}
LIMIT_WITH_SERVICE_S = 4.5
LEFT, REFUSED, LOST, HOME_GONE = 0, 3, 4, 5
_STATE_FIELDS = frozenset(
    {"gateway_state", "exit_reason", "restart_requested", "active_agents", "platforms"}
)
_LOOK_S = 0.25
_YOUNG_LOOK_S = 0.03
_CHECK_S = 1.0
_HEARTBEAT_S = 30.0
_LOCK_TRIES = 10
_LOCK_PAUSE_S = 0.03


class Ended(Exception):  # noqa: N818 - the way out, not a failure
    """Raised to end the process.

    Args:
        code: The exit code.
        say: The type of the final message.
    """

    def __init__(self, code: int, say: str, **fields: Any) -> None:
        super().__init__(say)
        self.code = code
        self.say = say
        self.fields = fields


class Identity:
    """Holder of the identity files of one home, until it is released, asked or forced to leave.

    Args:
        home: The resolved home.
        argv: This process's arguments, beginning with the token.
        parent: The pid of the program that started it.
    """

    def __init__(self, home: Path, argv: Sequence[str], parent: int) -> None:
        pid = os.getpid()
        self._home = home
        self._parent = parent
        self._record = GatewayRecord(pid, tuple(argv), process_facts.start_time(pid), str(home))
        self._lock = files.GatewayLockFile(home, self._record)
        self._state: dict[str, Any] = {
            "gateway_state": "starting",
            "exit_reason": None,
            "restart_requested": False,
            "active_agents": 0,
            "platforms": {},
        }
        self._written_at = 0.0
        self._held = False
        self._service = False
        self._stop_kind = ""
        self._deadline = 0.0
        self._signals: set[int] = set()
        self._input = b""
        self._wake = -1

    def run(self) -> int:
        """Claim the home, hold it and leave; return the exit code."""
        try:
            self._check_start()
            self._wake = _wake_on_signals()
            self._claim()
            self._held = True
            self._say("held", record=self._record.as_json())
            self._hold()
        except Ended as end:
            self._say(end.say, **end.fields)
            return end.code
        except OSError as error:
            # The home was deleted or the disk is full: report it and let the program decide.
            gone = not self._home.is_dir()
            if not gone and not self._held and self._written_at > 0:
                self._give_back_state()
            self._say("lost" if gone else "refused", record=None, reason=_reason(error))
            return HOME_GONE if gone else REFUSED
        return LEFT

    def _check_start(self) -> None:
        """Refuse a start without the parent, e.g. from a copied gateway command line."""
        if os.getppid() != self._parent:
            raise Ended(REFUSED, "refused", reason="not started by the named parent")
        if not self._home.is_dir():
            raise Ended(REFUSED, "refused", reason="there is no such home")

    # --------------------------------------------------------------------------------- claiming

    def _claim(self) -> None:
        self._yield_to(files.live_gateway(self._home, but=self._record.pid))
        self._take_lock()
        self._write_state()
        self._yield_to(files.create_pid_file(self._home, self._record))

    def _yield_to(self, owner: GatewayRecord | None) -> None:
        if owner is not None and owner.pid != self._record.pid:
            if self._written_at > 0 and not self._held:
                self._give_back_state()
            raise Ended(REFUSED, "busy", record=owner.as_json())

    def _give_back_state(self) -> None:
        """Mark the state as stopped after a failed claim; it must not say that we are starting."""
        self._state.update(gateway_state="stopped", platforms={}, active_agents=0)
        with contextlib.suppress(OSError):
            self._write_state()

    def _take_lock(self) -> None:
        """Take the lock, with retries: a program inspecting it holds it for microseconds."""
        for _ in range(_LOCK_TRIES):
            if self._lock.is_in_place():
                return
            with contextlib.suppress(files.LockTakenError):
                self._lock.plant()
                continue
            select.select([], [], [], _LOCK_PAUSE_S)
        if not self._lock.is_in_place():
            owner = files.read_record(self._home / files.LOCK_FILE)
            raise Ended(REFUSED, "busy", record=owner.as_json() if owner else None)

    # ---------------------------------------------------------------------------------- holding

    def _hold(self) -> None:
        began = time.monotonic()
        for check_at in _check_times(began):
            while (now := time.monotonic()) < check_at:
                pause = _YOUNG_LOOK_S if now - began < 1.0 else _LOOK_S
                self._look(min(pause, check_at - now))
            self._check_files()

    def _look(self, seconds: float) -> None:
        """Wait for input, a signal, a marker or the deadline, for up to the given seconds."""
        readable, _, _ = select.select([0, self._wake], [], [], seconds)
        if self._wake in readable:
            self._signals |= set(os.read(self._wake, 64))
        if 0 in readable:
            self._read_input()
        if os.getppid() != self._parent:
            self._leave("app ended")
        self._notice_stop()
        if self._stop_kind and time.monotonic() >= self._deadline:
            self._leave("app did not answer in time")

    def _read_input(self) -> None:
        more = os.read(0, 65536)
        if not more:
            self._leave("app ended")
        *lines, self._input = (self._input + more).split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError):
                self._obey(json.loads(line))

    def _obey(self, order: Mapping[str, Any]) -> None:
        match order.get("do"):
            case "state":
                self._state.update({k: v for k, v in order.items() if k in _STATE_FIELDS})
                if self._stop_kind:
                    self._state["gateway_state"] = "draining"
                self._write_state()
            case "limits":
                self._service = bool(order.get("service"))
            case "release":
                self._leave(order.get("exit_reason"))

    def _check_files(self) -> None:
        if not self._home.is_dir():
            raise Ended(HOME_GONE, "lost", record=None)
        there = files.read_record(self._home / files.PID_FILE)
        ours = there is not None and there.names(self._record)
        if not ours or not self._lock.is_in_place():
            self._repair()
        elif time.monotonic() - self._written_at >= _HEARTBEAT_S or not self._state_is_there():
            self._write_state()

    def _state_is_there(self) -> bool:
        return (self._home / files.STATE_FILE).exists()

    def _repair(self) -> None:
        """Restore deleted files of this live gateway, or report that another gateway took over."""
        owner = files.live_gateway(self._home, but=self._record.pid)
        if owner is not None:
            raise Ended(LOST, "lost", record=owner.as_json())
        try:
            self._claim()
        except Ended as end:
            raise Ended(LOST, "lost", **end.fields) from None
        self._say("repaired", record=self._record.as_json())

    # ---------------------------------------------------------------------------------- leaving

    def _notice_stop(self) -> None:
        markers = files.pending_markers(self._home, self._record, now=time.time())
        if not markers and not self._signals:
            return
        kind = _kind_of(set(markers.values()), self._signals)
        self._signals.clear()
        for path in markers:
            path.unlink(missing_ok=True)
        limit = min(LIMITS_S[kind], LIMIT_WITH_SERVICE_S if self._service else 99.0)
        if not self._stop_kind:
            self._deadline = time.monotonic() + limit
        elif self._stop_kind == "restart" and kind != "restart":
            self._deadline = min(self._deadline, time.monotonic() + limit)
        else:
            return
        self._stop_kind = kind
        left = max(0.0, self._deadline - time.monotonic())
        self._say("stop", kind=kind, limit=left, service=self._service)
        self._state["gateway_state"] = "draining"
        self._write_state()

    def _leave(self, reason: str | None) -> None:
        """Mark the gateway as stopped, without platforms: the next gateway would inherit them."""
        self._state.update(
            gateway_state="stopped", exit_reason=reason, platforms={}, active_agents=0
        )
        if self._home.is_dir():
            # A full disk: removing the old state file frees the space.
            if not self._write_state():
                files.remove_state(self._home, self._record)
                self._write_state()
            with contextlib.suppress(OSError):
                files.remove_pid_file(self._home, self._record)
        raise Ended(LEFT, "bye", reason=reason)

    def _write_state(self) -> bool:
        """Write the state file; return whether that succeeded."""
        stamp = {"updated_at": datetime.now(UTC).isoformat()}
        try:
            files.write_state(self._home, self._record, {**self._state, **stamp})
        except OSError:
            # A full disk must not cost us the home; the next heartbeat tries again.
            if not self._held:
                raise
            self._written_at = time.monotonic()
            return False
        self._written_at = time.monotonic()
        return True

    def _say(self, word: str, **fields: Any) -> None:
        """Send a message; the reader may already be gone."""
        with contextlib.suppress(OSError):
            os.write(1, json.dumps({"say": word, **fields}).encode() + b"\n")


def _reason(error: OSError) -> str:
    """Return a readable description of the error and the file it concerns."""
    words = error.strerror or str(error)
    name = error.filename2 or error.filename
    return f"{name}: {words}" if name else words


def _kind_of(meanings: set[str], signals: set[int]) -> str:
    if "takeover" in meanings:
        return "takeover"
    if "stop" in meanings:
        return "stop"
    return "restart" if signals == {signal.SIGUSR1} else "kill"


def _check_times(began: float) -> Iterator[float]:
    """Yield check times, dense at first: a program inspecting the files may still delete them."""
    at = began + 0.02
    while at < began + 1.0:
        yield at
        at += 0.05
    while True:
        yield at
        at = max(at, time.monotonic()) + _CHECK_S


def _wake_on_signals() -> int:
    """Turn signals into bytes on a pipe; return the pipe's read end."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    return reader


def main(argv: Sequence[str]) -> int:
    """Run the identity process with the arguments after the program; the first is the token.

    Args:
        argv: ``hermes-gateway --external-supervisor HERMES_HOME=… [--profile …] --parent …``; the
            first ``HERMES_HOME`` is the one that is held.
    """
    homes = [word.partition("=")[2] for word in argv if word.startswith("HERMES_HOME=")]
    try:
        parent = int(argv[argv.index("--parent") + 1])
    except (ValueError, IndexError):
        return REFUSED
    if not homes or argv[0] != process_facts.TOKEN:
        return REFUSED
    return Identity(Path(homes[0]), argv, parent).run()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
