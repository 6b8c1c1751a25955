"""The client side of the identity process: starts it, sends orders and receives its messages."""

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity import identity
from hermes_desktop.gateway.runtime_files.process_facts import TOKEN

log = logging.getLogger(__name__)

_KEPT_VARIABLES = ("LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT", "TMPDIR")
_KEPT_PREFIX = "_PYI_"
"""Prefix of the variables that a one-file frozen program needs to find its unpacked files.

With them it starts without an intermediate process.
"""
_LEAVES_WITHIN_S = 5.0
Heard = Callable[["IdentityProcess", Mapping[str, Any]], None]


def identity_command(paths: HermesPaths, *, parent: int) -> list[str]:
    """Return the command line by which Hermes programs recognize a gateway of this home.

    They look for the token, and compare the home both resolved and as the user wrote it.
    """
    resolved = paths.home.resolve()
    words = [TOKEN, "--external-supervisor", f"HERMES_HOME={resolved}"]
    if str(paths.home) != str(resolved):
        words.append(f"HERMES_HOME={paths.home}")
    if paths.profile not in {"default", "custom"}:
        words += ["--profile", paths.profile]
    return [*_program(), *words, "--parent", str(parent)]


def _program() -> list[str]:
    if getattr(sys, "frozen", False):
        return [sys.executable]
    return [sys.executable, "-I", "-S", str(Path(identity.__file__).resolve())]


class IdentityProcess:
    """One run of the identity process, in its own session and with nothing inherited.

    Args:
        command: See :func:`identity_command`.
        heard: Called on a dedicated thread with each message; at the end with ``{"say": "end",
            "code": …}``, where the code is negative after a signal.

    Raises:
        OSError: The process cannot be started.
    """

    def __init__(self, command: list[str], heard: Heard) -> None:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in _KEPT_VARIABLES or name.startswith(_KEPT_PREFIX)
        }
        self._heard = heard
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=kept,
            cwd="/" if os.name == "posix" else None,
            start_new_session=True,
        )
        self.pid = self._process.pid
        if self._process.stdin is not None:
            # A process stopped by SIGSTOP does not read; we must not block on it.
            os.set_blocking(self._process.stdin.fileno(), False)
        self._listener = threading.Thread(
            target=self._listen, name="gateway-identity-in", daemon=True
        )
        self._ended = False
        self._last_moment = threading.Timer(_LEAVES_WITHIN_S, self.kill)
        self._last_moment.daemon = True
        self._last_moment.name = "gateway-identity-end"
        self._listener.start()

    def tell(self, order: Mapping[str, Any]) -> None:
        """Send an order without blocking; it is lost when the process no longer runs or reads."""
        stream = self._process.stdin
        if stream is None:
            return
        try:
            stream.write(json.dumps(order).encode() + b"\n")
        except (OSError, ValueError):
            log.debug("The identity process %d no longer listens", self.pid)

    def hang_up(self) -> None:
        """Close the input so that the process leaves; kill it if it hangs for several seconds.

        Other programs take it for a gateway for as long as it lives.
        """
        if not self._last_moment.is_alive() and not self._ended:
            self._last_moment.start()
        self._close_input()

    def _close_input(self) -> None:
        if self._process.stdin is not None:
            try:
                self._process.stdin.close()
            except OSError:
                log.debug("The identity process %d is gone", self.pid)

    def kill(self) -> None:
        """Kill the process immediately; only for one that does not respond."""
        log.warning("The identity process %d does not answer and is ended", self.pid)
        self._process.kill()

    def join(self, timeout: float) -> None:
        """Wait for the process and kill it after the time-out; not on its listener thread."""
        self._listener.join(timeout)
        if self._listener.is_alive():
            self.kill()

    def _listen(self) -> None:
        stream = self._process.stdout
        if stream is None:
            return
        for line in stream:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            self._heard(self, message)
        stream.close()
        code = self._process.wait()
        self._ended = True
        self._last_moment.cancel()
        self._heard(self, {"say": "end", "code": code})
        self._close_input()
