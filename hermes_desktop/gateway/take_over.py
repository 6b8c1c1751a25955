"""Asks the other gateway to stop, politely and within bounds, and then claims its home.

It is never killed: ``hermes gateway stop`` knows which service manager keeps a gateway running,
and a gateway that does not go has its reasons.
"""

import logging
import shutil
import subprocess
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway import identity_files
from hermes_desktop.gateway.identity_events import ClaimAnswer, ForeignGateway, NotHere
from hermes_desktop.gateway.identity_supervisor import GatewayIdentity

log = logging.getLogger(__name__)

COMMAND_S = 60.0
GONE_S = 60.0
CONTEST_WINDOW_S = 600.0
MOST_TAKE_OVERS = 2
_LOOK_S = 0.25


class TakeOver:
    """Takes the home over from another gateway.

    What comes back after it stopped twice in ten minutes has somebody who wants it to run.

    Args:
        paths: The home.
        identity: What claims it.
        environ: The process environment, for the command that is run.
        clock: Where the time comes from.
    """

    def __init__(
        self,
        paths: HermesPaths,
        identity: GatewayIdentity,
        *,
        environ: Mapping[str, str],
        clock: Clock | None = None,
    ) -> None:
        self._paths = paths
        self._identity = identity
        self._environ = environ
        self._clock = clock or SystemClock()
        self._times: deque[float] = deque(maxlen=MOST_TAKE_OVERS)

    def run(self, cancel: threading.Event | None = None) -> ClaimAnswer:
        """Blocks, at most two minutes: the other may let its turns end first.

        Args:
            cancel: Stops the waiting; the other gateway may still go.
        """
        cancel = cancel or threading.Event()
        now = self._clock.monotonic()
        if len(self._times) == MOST_TAKE_OVERS and now - self._times[0] < CONTEST_WINDOW_S:
            return NotHere("contested", "Something starts the other gateway again and again.")
        gateway = self._identity.foreign
        if gateway is not None and gateway.record.is_live():
            problem = self._ask(gateway) or self._wait(gateway, cancel)
            if problem and gateway.record.is_live():
                return NotHere("not_stopped", problem)
            self._times.append(now)
        return self._identity.claim(despite_recent_stop=True)

    def _ask(self, gateway: ForeignGateway) -> str:
        """Why it could not be asked; "" when it was."""
        program = find_hermes(gateway, self._environ)
        if program is not None:
            return self._run_stop(program)
        if not gateway.is_hermes_desktop:
            return "The hermes command, which would stop it, is not installed here."
        try:
            identity_files.ask_to_stop(self._paths.home, gateway.record, now=self._clock.time())
        except OSError as error:
            return f"It cannot be asked to stop: {error}."
        return ""

    def _run_stop(self, program: str) -> str:
        environ = {k: v for k, v in self._environ.items() if k != "_HERMES_GATEWAY"}
        environ["HERMES_HOME"] = str(self._paths.home)
        # Without it, the command would go to the profile that is named in active_profile.
        profile = [] if self._paths.profile == "custom" else ["-p", self._paths.profile]
        try:
            done = subprocess.run(  # noqa: S603 - the person's own hermes
                [program, *profile, "gateway", "stop"],
                env=environ,
                cwd=self._paths.home,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=COMMAND_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"“hermes gateway stop” did not work: {error}"
        log.info("hermes gateway stop returned %d: %s", done.returncode, done.stdout.strip())
        words = (done.stderr.strip() or done.stdout.strip()).splitlines()
        return f"“hermes gateway stop” said: {' '.join(words[-2:])}" if done.returncode else ""

    def _wait(self, gateway: ForeignGateway, cancel: threading.Event) -> str:
        until = self._clock.monotonic() + GONE_S
        while gateway.record.is_live():
            if self._clock.monotonic() >= until:
                return "It was asked to stop and still runs after a minute."
            if cancel.wait(_LOOK_S):
                return "You stopped waiting for it."
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
