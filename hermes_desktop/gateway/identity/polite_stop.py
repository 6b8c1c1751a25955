"""Asks a gateway that runs for a home to stop, each kind in its own way. Nobody is killed.

``hermes gateway stop`` knows which service manager keeps its gateway running. The identity
process of a Hermes Desktop is left the same note and given the same signal as by that command.
"""

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.runtime_files import identity_files
from hermes_desktop.gateway.runtime_files.identity_events import ForeignGateway

log = logging.getLogger(__name__)

COMMAND_S = 60.0
GONE_S = 60.0
_LOOK_S = 0.25
_TOO_LONG = f"“hermes gateway stop” did not end within {COMMAND_S:.0f} seconds."


def ask_to_go(
    paths: HermesPaths,
    gateway: ForeignGateway,
    environ: Mapping[str, str],
    clock: Clock | None = None,
    cancel: threading.Event | None = None,
) -> str:
    """Ask it. Blocks, at most :data:`COMMAND_S`: the command waits for the end itself.

    Args:
        paths: The home.
        gateway: Who is asked.
        environ: The process environment, for the command that is run.
        clock: Where the time comes from.
        cancel: Ends the waiting for that command, and the command.

    Returns:
        Why it could not be asked, one sentence; "" when it was.
    """
    if gateway.is_hermes_desktop:
        return _ask_hermes_desktop(paths.home, gateway, (clock or SystemClock()).time())
    program = find_hermes(gateway, environ)
    if program is None:
        return "The hermes command, which would stop it, is not installed here."
    return _run_stop(program, paths, environ, cancel or threading.Event())


def wait_until_gone(
    gateway: ForeignGateway,
    cancel: threading.Event,
    *,
    clock: Clock | None = None,
    waiting: Callable[[], None] = lambda: None,
) -> str:
    """Wait for the end of a gateway that was asked. Blocks, at most :data:`GONE_S`.

    Args:
        gateway: Who was asked.
        cancel: Ends the waiting; the gateway may still go.
        clock: Where the time comes from.
        waiting: Called four times a second.

    Returns:
        Why it is waited for no longer; "" when it is gone.
    """
    clock = clock or SystemClock()
    until = clock.monotonic() + GONE_S
    while gateway.record.is_live():
        if clock.monotonic() >= until:
            return "It was asked to stop and still runs after a minute."
        if cancel.wait(_LOOK_S):
            return "You stopped waiting for it."
        waiting()
    return ""


def find_hermes(gateway: ForeignGateway, environ: Mapping[str, str]) -> str | None:
    """The ``hermes`` program: the one on the path, else the one that the gateway was started by."""
    found = shutil.which("hermes", path=environ.get("PATH", ""))
    if found is not None:
        return found
    for word in gateway.record.argv[:2]:
        if Path(word).is_absolute() and Path(word).stem == "hermes":
            return shutil.which(word)
    return None


def _ask_hermes_desktop(home: Path, gateway: ForeignGateway, now: float) -> str:
    """The note first: without it the signal would mean something else. It alone works, too."""
    try:
        identity_files.ask_to_stop(home, gateway.record, now=now)
    except OSError as error:
        return f"It cannot be asked to stop: {error}."
    if gateway.record.is_live():
        with contextlib.suppress(OSError):
            os.kill(gateway.record.pid, signal.SIGTERM)
    return ""


def _run_stop(
    program: str, paths: HermesPaths, environ: Mapping[str, str], cancel: threading.Event
) -> str:
    environ = {k: v for k, v in environ.items() if k != "_HERMES_GATEWAY"}
    environ["HERMES_HOME"] = str(paths.home)
    # Without it, the command would go to the profile that is named in active_profile.
    profile = [] if paths.profile == "custom" else ["-p", paths.profile]
    try:
        with subprocess.Popen(  # noqa: S603 - the person's own hermes
            [program, *profile, "gateway", "stop"],
            env=environ,
            cwd=paths.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as command:
            said = _output_of(command, cancel)
    except OSError as error:
        return f"“hermes gateway stop” did not work: {error}"
    if said is None:
        return "You stopped waiting for it." if cancel.is_set() else _TOO_LONG
    out, err = said
    log.info("hermes gateway stop returned %d: %s", command.returncode, out.strip())
    words = (err.strip() or out.strip()).splitlines()
    return f"“hermes gateway stop” said: {' '.join(words[-2:])}" if command.returncode else ""


def _output_of(command: "subprocess.Popen[str]", cancel: threading.Event) -> tuple[str, str] | None:
    """What our own command says; None when it is not waited for any longer, and so ended."""
    for _ in range(int(COMMAND_S / _LOOK_S)):
        with contextlib.suppress(subprocess.TimeoutExpired):
            return command.communicate(timeout=_LOOK_S)
        if cancel.is_set():
            break
    command.kill()
    command.communicate()
    return None
