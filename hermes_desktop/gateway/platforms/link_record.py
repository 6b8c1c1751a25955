"""State, health, liveness and requests of one platform connection."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.identity.token_locks import TokenOwner
from hermes_desktop.gateway.platforms.base import LastHeard, PlatformAdapter
from hermes_desktop.gateway.platforms.machine_watch import SuspendedTime
from hermes_desktop.gateway.platforms.reconnect import Backoff, LinkTiming
from hermes_desktop.gateway.platforms.token_gate import TokenLockClient, in_use_text


def silent_for(since: LastHeard, clock: Clock) -> float:
    """Return for how many seconds nothing was heard.

    The monotonic clock may stop while the machine sleeps; then the wall clock counts. If the wall
    clock was set back, the monotonic clock counts.
    """
    return max(clock.monotonic() - since.monotonic, clock.time() - since.wall)


def is_silent(adapter: PlatformAdapter, connected: LastHeard, clock: Clock) -> bool:
    """Return whether a connected adapter should have heard something by now and has not.

    Args:
        adapter: The adapter.
        connected: When its connection was established; used until the server is first heard.
        clock: The clock.
    """
    expected = adapter.expected_silence_s
    return expected is not None and silent_for(adapter.last_heard or connected, clock) >= expected


def until_silent(adapter: PlatformAdapter, connected: LastHeard, clock: Clock) -> float | None:
    """Return in how many seconds it will be silent if nothing is heard; None: never."""
    expected = adapter.expected_silence_s
    if expected is None:
        return None
    return max(0.0, expected - silent_for(adapter.last_heard or connected, clock))


LinkState = Literal["connecting", "up", "retrying", "paused", "fatal"]


@dataclass(frozen=True, slots=True)
class LinkTools:
    """The dependencies of a link.

    Attributes:
        make: Creates a new adapter.
        install: Called with a new adapter before it is connected, so that it can pass on messages.
        remove: Called when an adapter is no longer used.
        changed: Called after every change of state.
        connected: Called after each successful connection.
        outage: Called after a connection that ended a long outage, with the time of the outage.
        tokens: The locks of tokens; None: there are none.
    """

    make: Callable[[], PlatformAdapter]
    install: Callable[[PlatformAdapter], None]
    remove: Callable[[PlatformAdapter], None]
    changed: Callable[[], None]
    connected: Callable[[Platform], None]
    outage: Callable[[PlatformAdapter, SuspendedTime], None]
    clock: Clock
    timing: LinkTiming
    tokens: TokenLockClient | None = None


class LinkRecord:
    """State, health and pending requests of one platform. On one event loop.

    Args:
        platform: The platform.
        tools: The dependencies of the link.

    Attributes:
        settled: Set once the first attempt is over, however it ended.
    """

    def __init__(self, platform: Platform, tools: LinkTools) -> None:
        self.platform = platform
        self.settled = asyncio.Event()
        self._tools = tools
        self._clock, self._timing = tools.clock, tools.timing
        self._backoff = Backoff(tools.timing)
        self._kick = asyncio.Event()
        self._state: LinkState = "connecting"
        self._code, self._detail = "", ""
        self._adapter: PlatformAdapter | None = None
        self._connected: LastHeard | None = None
        self._last_heard_at: float | None = None
        self._lost_at: float | None = None
        self._was_connected = self._paused = self._anew = self._probe_wanted = False

    # Requests

    def pause(self, why: str = "") -> None:
        """Disconnect the platform until :meth:`resume`."""
        self._paused = True
        self._note("", why)
        self._kick.set()

    def resume(self) -> None:
        """Serve it again, also after a permanent failure."""
        self._paused = False
        self.connect_anew()

    def connect_anew(self) -> None:
        """Make a new connection immediately, whatever the state of the current one."""
        self._backoff.at_once()
        self._anew = True
        self._kick.set()

    def use(self, tools: LinkTools) -> None:
        """Use other settings: reconnect with them, unless it is paused."""
        self._tools = tools
        self._clock, self._timing = tools.clock, tools.timing
        if not self._paused:
            self.settled.clear()
            self.connect_anew()

    def wake(self) -> None:
        """Check whether the server still answers; end a pending retry delay."""
        if self._state == "up":
            self._probe_wanted = True
        elif self._state == "retrying":
            self._backoff.at_once()
        self._kick.set()

    def token_lost(self, owner: TokenOwner) -> None:
        """Stop using the token because another process took it, and retry later."""
        self._note("token_in_use", in_use_text(owner))
        if self._adapter is not None:
            self._adapter.set_fatal_error(self._code, self._detail, retryable=True)
        self._kick.set()

    def look(self) -> None:
        """Check the clock."""
        self._kick.set()

    # Queries

    @property
    def is_paused(self) -> bool:
        """Whether it was requested to stay disconnected for now."""
        return self._paused

    @property
    def has_failed(self) -> bool:
        """Whether it does not work, temporarily or permanently; also during a retry."""
        is_tried_again = self._state == "connecting" and bool(self._code)
        return self._state in {"fatal", "retrying"} or is_tried_again

    @property
    def adapter(self) -> PlatformAdapter | None:
        """The current adapter."""
        return self._adapter

    def health(self) -> PlatformHealth:
        """Return its current health."""
        self._remember_heard()
        name, heard_at = self.platform.value, self._last_heard_at
        if self._state == "up":
            return self._health_of_connection(name, heard_at)
        if self._state == "retrying":
            left = max(0.0, self._backoff.next_try - self._clock.monotonic())
            return PlatformHealth(
                name, "retrying", heard_at, self._detail, self._clock.time() + left
            )
        return PlatformHealth(name, self._state, heard_at, self._detail)

    def _health_of_connection(self, name: str, heard_at: float | None) -> PlatformHealth:
        adapter, connected = self._adapter, self._connected
        if adapter is None or connected is None:
            return PlatformHealth(name, "connecting", heard_at)
        if is_silent(adapter, connected, self._clock):
            seconds = silent_for(adapter.last_heard or connected, self._clock)
            return PlatformHealth(name, "silent", heard_at, _silent_words(seconds))
        heard = adapter.last_heard is not None or adapter.expected_silence_s is None
        return PlatformHealth(name, "connected" if heard else "connecting", heard_at)

    @property
    def error(self) -> tuple[str | None, str | None]:
        """Code and text of the current error, for the status file."""
        if self._state == "up":
            health = self.health()
            return ("silent", health.detail) if health.state == "silent" else (None, None)
        return self._code or None, self._detail or None

    # For subclasses

    def _remember_heard(self) -> None:
        if self._adapter is not None and self._adapter.last_heard is not None:
            self._last_heard_at = self._adapter.last_heard.wall

    def _note(self, code: str, detail: str) -> None:
        self._code, self._detail = code, detail

    def _enter(self, state: LinkState) -> None:
        self._state = state
        self._tools.changed()


def _silent_words(seconds: float) -> str:
    amount = f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"  # noqa: PLR2004
    return f"Its server has not responded for {amount}."
