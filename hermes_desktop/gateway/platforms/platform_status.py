"""Health of the platforms in the state file that other Hermes programs read."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.gateway import status
from hermes_desktop.gateway.status import IdentityHolder

# Names of the status file, where they differ from ours.
_FILE_STATES = {"silent": "retrying", "unavailable": "disabled"}

PlatformError = tuple[str | None, str | None]
"""Code and text of the current error."""


class PlatformStatusFile:
    """Writes the platforms' entries whenever one of them changed. On the event loop.

    Args:
        identity: The holder that writes the file; None writes nothing.
        clock: The source of the time at which an entry changed.
    """

    def __init__(self, identity: IdentityHolder | None, clock: Clock) -> None:
        self._identity = identity
        self._clock = clock
        self._shown: dict[str, dict[str, Any]] = {}

    def write(self, platforms: Iterable[tuple[PlatformHealth, PlatformError]]) -> None:
        """Write the health of all platforms; those not included are no longer served."""
        if self._identity is None:
            return
        now = datetime.fromtimestamp(self._clock.time(), UTC).isoformat()
        before, self._shown = self._shown, {}
        for health, (code, words) in platforms:
            entry = {
                "state": _FILE_STATES.get(health.state, health.state),
                "error_code": code,
                "error_message": words,
            }
            old = before.get(health.name, {})
            is_same = all(old.get(name) == value for name, value in entry.items()) and old
            self._shown[health.name] = old if is_same else {**entry, "updated_at": now}
        if self._shown != before:
            status.write_runtime_status(self._identity, platforms=dict(self._shown))
