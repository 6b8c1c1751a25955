"""Orderly stop request to the gateway of a home, suited to the kind of gateway. Kills nothing.

``hermes gateway stop`` knows which service manager keeps its gateway running. The identity process
of a Hermes Desktop receives the same marker and the same signal as from that command.
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
    """Ask a gateway to stop. Blocks for up to :data:`COMMAND_S`: the command waits for the end.

    Args:
        paths: The home.
        gateway: The gateway to stop.
        environ: The process environment, for the command that is run.
        clock: The time source.
        cancel: Cancels the wait for the command and ends the command.

    Returns:
        Why the request failed, as one sentence; "" when it succeeded.
    """
    if gateway.is_hermes_desktop:
        return _ask_hermes_desktop(paths.home, gateway, (clock or SystemClock()).time())
    program = find_hermes(gateway, environ)
    if program is None:
        return "The hermes command that would stop it is not installed here."
    return _run_stop(program, paths, environ, cancel or threading.Event())


def wait_until_gone(
    gateway: ForeignGateway,
    cancel: threading.Event,
    *,
    clock: Clock | None = None,
    waiting: Callable[[], None] = lambda: None,
) -> str:
    """Wait for a gateway to end after it was asked to. Blocks for up to :data:`GONE_S`.

    Args:
        gateway: The gateway that was asked.
        cancel: Cancels the wait; the gateway may still stop.
        clock: The time source.
        waiting: Called four times a second.

    Returns:
        Why the wait ended without success; "" when the gateway is gone.
    """
    clock = clock or SystemClock()
    until = clock.monotonic() + GONE_S
    while gateway.record.is_live():
        if clock.monotonic() >= until:
            return "It was asked to stop but is still running after a minute."
        if cancel.wait(_LOOK_S):
            return "You stopped waiting for it."
        waiting()
    return ""


def find_hermes(gateway: ForeignGateway, environ: Mapping[str, str]) -> str | None:
    """Return the ``hermes`` program: from the path, else the one that started the gateway."""
    found = shutil.which("hermes", path=environ.get("PATH", ""))
    if found is not None:
        return found
    for word in gateway.record.argv[:2]:
        if Path(word).is_absolute() and Path(word).stem == "hermes":
            return shutil.which(word)
    return None


def _ask_hermes_desktop(home: Path, gateway: ForeignGateway, now: float) -> str:
    """Write the marker, then signal; without the marker the signal would mean something else.

    The marker alone is sufficient, too.
    """
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
    # Without it, the command would use the profile that active_profile names.
    profile = [] if paths.profile == "custom" else ["-p", paths.profile]
    try:
        with subprocess.Popen(  # noqa: S603 - the user's own hermes
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
        return f"“hermes gateway stop” failed: {error}"
    if said is None:
        return "You stopped waiting for it." if cancel.is_set() else _TOO_LONG
    out, err = said
    log.info("hermes gateway stop returned %d: %s", command.returncode, out.strip())
    words = (err.strip() or out.strip()).splitlines()
    return f"“hermes gateway stop” said: {' '.join(words[-2:])}" if command.returncode else ""


def _output_of(command: "subprocess.Popen[str]", cancel: threading.Event) -> tuple[str, str] | None:
    """Return the command's output; None when the wait was abandoned and the command killed."""
    for _ in range(int(COMMAND_S / _LOOK_S)):
        with contextlib.suppress(subprocess.TimeoutExpired):
            return command.communicate(timeout=_LOOK_S)
        if cancel.is_set():
            break
    command.kill()
    command.communicate()
    return None
