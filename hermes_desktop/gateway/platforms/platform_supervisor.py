"""Supervisor of a gateway's messaging platforms; each has an independent connection."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.concurrency.background_tasks import TaskSet
from hermes_desktop.core.errors import NotFoundError
from hermes_desktop.core.events import Notice, PlatformHealth
from hermes_desktop.gateway import status
from hermes_desktop.gateway.config.config_changes import PlatformOutcome, changed_platforms
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.identity.token_locks import TokenOwner
from hermes_desktop.gateway.platforms.base import PlatformAdapter, TokenIdentity
from hermes_desktop.gateway.platforms.machine_watch import (
    NetworkWatch,
    SleepWatch,
    SuspendedTime,
    boot_clock,
    outage_notice,
    sleep_notice,
)
from hermes_desktop.gateway.platforms.platform_link import LinkTools, PlatformLink
from hermes_desktop.gateway.platforms.reconnect import LinkTiming
from hermes_desktop.gateway.platforms.registry import AdapterContext, AdapterRegistry
from hermes_desktop.gateway.platforms.token_gate import TokenLockClient
from hermes_desktop.gateway.status import IdentityHolder

log = logging.getLogger(__name__)

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


_FIRST_ROUND_SPARE_S = 3.0
_STOP_S = 2.0


async def _nothing(_: Platform) -> None:
    """Do nothing: the default callback after a connection."""


@dataclass(frozen=True, slots=True)
class SupervisorWiring:
    """The callbacks and dependencies of the supervisor. All are called on the event loop.

    Attributes:
        wire: Gives an adapter its handlers for messages and interruptions.
        changed: Called after each change; :meth:`PlatformSupervisor.health` returns the state.
        connected: Awaited after each connection of a platform, in a separate task.
        notify: Receives notices for the user.
        identity: The holder that writes the state file of the home.
        tokens: The locks of bot tokens.
    """

    wire: Callable[[PlatformAdapter], None] = lambda _: None
    changed: Callable[[], None] = lambda: None
    connected: Callable[[Platform], Awaitable[None]] = _nothing
    notify: Callable[[Notice], None] = lambda _: None
    identity: IdentityHolder | None = None
    tokens: TokenLockClient | None = None


class PlatformSupervisor:
    """Connects every enabled platform, with unlimited retries. For one event loop.

    Args:
        config: The platforms and their settings.
        registry: Creates adapters.
        adapters: Kept up to date: the adapter of each platform that is connected or being
            connected. The runner's own map.
        wiring: Callbacks and dependencies.
        home: The home, for the caches of adapters.
        clock: The time source.
        timing: Time-outs and retry delays; None: those of the registry, else those of the settings.
        sleep_watch: Detects that the machine slept; one on the machine's clocks when None.
        network_watch: Detects network changes; one on the machine's routes when None.
    """

    def __init__(  # noqa: PLR0913 - the parts it joins
        self,
        config: GatewayConfig,
        registry: AdapterRegistry,
        adapters: dict[Platform, PlatformAdapter],
        wiring: SupervisorWiring,
        *,
        home: Path | None = None,
        clock: Clock | None = None,
        timing: LinkTiming | None = None,
        sleep_watch: SleepWatch | None = None,
        network_watch: NetworkWatch | None = None,
    ) -> None:
        self._config = config
        self._registry = registry
        self._adapters = adapters
        self._wiring = wiring
        self._home = home or Path()
        self._clock: Clock = clock or SystemClock()
        self._given_timing = timing or registry.timing
        self._timing = self._timing_for(config)
        self._sleep_watch = sleep_watch or SleepWatch(self._clock, boot_time=boot_clock())
        self._network_watch = network_watch or NetworkWatch()
        self._links: dict[Platform, PlatformLink] = {}
        self._lives: dict[Platform, asyncio.Task[None]] = {}
        self._began = False
        self._unserved = tuple(_unserved(config, registry))
        self._tasks = TaskSet()
        self._after = TaskSet()
        self._status_file = PlatformStatusFile(wiring.identity, self._clock)
        self._slept_until = 0.0

    # Life cycle

    async def start(self) -> None:
        """Start all platforms concurrently; return when each was tried once.

        However they behave, that takes little longer than the time-out of one connection.
        """
        self._began = True
        for platform in self._wanted():
            self._begin(platform)
        self._tasks.start(
            self._sleep_watch.run(self._woke, self.look_at_network), name="sleep watch"
        )
        self._changed()
        await self._settled(self._links.values())

    async def replace_config(self, config: GatewayConfig) -> tuple[PlatformOutcome, ...]:
        """Apply other settings; return when each platform concerned was tried once.

        Newly enabled platforms are connected, disabled ones are disconnected, and those whose
        adapters depend on what changed are reconnected; all others are not touched. A paused
        platform stays paused. Must not be called again before it has returned.

        Args:
            config: The settings from now on.
        """
        old, self._config = self._config, config
        self._timing = self._timing_for(config)
        self._unserved = tuple(_unserved(config, self._registry))
        if not self._began:
            return ()
        wanted = self._wanted()
        left = [platform for platform in self._links if platform not in wanted]
        leaving = [self._end(platform) for platform in left]
        tried = [platform for platform in changed_platforms(old, config) if platform in wanted]
        for platform in tried:
            if platform in self._links:
                self._links[platform].use(self._tools(platform))
            else:
                self._begin(platform)
        self._changed()
        await self._settled([self._links[platform] for platform in tried])
        await self._gone(leaving)
        gone = [PlatformOutcome(platform.value, ok=True, left=True) for platform in left]
        return (*gone, *(self._outcome(platform) for platform in tried))

    async def stop(self, *, within_s: float = _STOP_S) -> None:
        """Disconnect all platforms. Harmless when called twice.

        Args:
            within_s: The time-out; what hangs is abandoned.
        """
        self._began = False
        await self._tasks.cancel_all(timeout=within_s)
        await self._after.cancel_all(timeout=within_s)
        self._links.clear()
        self._lives.clear()

    # Queries

    def health(self) -> tuple[PlatformHealth, ...]:
        """Return the current health of each platform, sorted by name."""
        found = [link.health() for link in self._links.values()]
        return tuple(sorted([*found, *self._unserved], key=lambda each: each.name))

    def health_with(self, platform: Platform, token: TokenIdentity | None) -> PlatformHealth | None:
        """Return the health of a platform if its adapter uses this very token; None otherwise."""
        link = self._links.get(platform)
        if link is None or link.adapter is None or link.adapter.token != token:
            return None
        return link.health()

    def serves(self, platform: Platform) -> bool:
        """Return whether a platform is supervised."""
        return platform in self._links

    @property
    def has_only_failed(self) -> bool:
        """Whether every platform to be served has failed, temporarily or permanently."""
        wanted = [link for link in self._links.values() if not link.is_paused]
        return bool(wanted) and all(link.has_failed for link in wanted)

    # Requests

    async def pause(self, platform: Platform, why: str = "Paused.") -> None:
        """Disconnect a platform until :meth:`resume`.

        Raises:
            NotFoundError: It is not served here.
        """
        self._link(platform).pause(why)

    async def resume(self, platform: Platform) -> None:
        """Serve a platform again.

        Raises:
            NotFoundError: It is not served here.
        """
        self._link(platform).resume()

    async def reconnect(self, platform: Platform) -> None:
        """Reconnect a platform immediately. A paused platform is resumed.

        Raises:
            NotFoundError: It is not served here.
        """
        self._link(platform).resume()

    def token_lost(self, platform: Platform, owner: TokenOwner) -> None:
        """Handle that another process has taken a platform's token."""
        if platform in self._links:
            self._links[platform].token_lost(owner)

    def network_changed(self) -> None:
        """Check whether every server still answers."""
        for link in self._links.values():
            link.wake()

    def look_at_network(self) -> None:
        """Check for a network change now instead of within a few seconds."""
        if self._network_watch.look():
            log.info("The network has changed; checking the platforms")
            self.network_changed()

    def look(self) -> None:
        """Check the clock; for clocks that are moved manually."""
        for link in self._links.values():
            link.look()

    # Helpers

    def _timing_for(self, config: GatewayConfig) -> LinkTiming:
        seconds = config.running.platform_connect_timeout_s
        return self._given_timing or LinkTiming(connect_s=seconds)

    def _wanted(self) -> list[Platform]:
        connected = self._config.get_connected_platforms()
        return [platform for platform in connected if not self._registry.why_not(platform)]

    def _begin(self, platform: Platform) -> None:
        self._links[platform] = link = PlatformLink(platform, self._tools(platform))
        life = self._tasks.start(link.run(), name=f"platform {platform.value}")
        self._lives[platform] = life

    def _end(self, platform: Platform) -> "asyncio.Task[None]":
        del self._links[platform]
        life = self._lives.pop(platform)
        life.cancel()
        return life

    async def _gone(self, lives: Collection["asyncio.Task[None]"]) -> None:
        if lives:
            await asyncio.wait(lives, timeout=self._timing.disconnect_s + _STOP_S)

    async def _settled(self, links: Iterable[PlatformLink]) -> None:
        """Wait until each was tried once or has ended, with a time-out."""
        tries = [asyncio.ensure_future(self._tried(link)) for link in links]
        if not tries:
            return
        patience = self._timing.connect_s + self._timing.disconnect_s + _FIRST_ROUND_SPARE_S
        try:
            await asyncio.wait(tries, timeout=patience)
        finally:
            for each in tries:
                each.cancel()

    async def _tried(self, link: PlatformLink) -> None:
        """Wait until it was tried once, or the gateway is stopped."""
        life = self._lives.get(link.platform)
        if life is None:
            return
        settled = asyncio.ensure_future(link.settled.wait())
        try:
            await asyncio.wait({settled, life}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            settled.cancel()

    def _outcome(self, platform: Platform) -> PlatformOutcome:
        link = self._links.get(platform)
        if link is None:
            return PlatformOutcome(platform.value, ok=False, words="The gateway was stopped.")
        health = link.health()
        ok = health.state in {"connected", "connecting", "paused"}
        return PlatformOutcome(platform.value, ok=ok, words="" if ok else health.detail)

    def _link(self, platform: Platform) -> PlatformLink:
        link = self._links.get(platform)
        if link is None:
            raise NotFoundError(
                "This platform is not served here.",
                f"{platform.value} is turned off, or this version does not support it.",
                "Check its settings.",
            )
        return link

    def _tools(self, platform: Platform) -> LinkTools:
        settings = self._config.platforms[platform]
        context = AdapterContext(platform, self._home, self._clock)
        return LinkTools(
            make=partial(self._registry.make, settings, context),
            install=self._install,
            remove=self._remove,
            changed=self._changed,
            connected=self._connected,
            outage=self._outage,
            clock=self._clock,
            timing=self._timing,
            tokens=self._wiring.tokens,
        )

    def _install(self, adapter: PlatformAdapter) -> None:
        self._wiring.wire(adapter)
        self._adapters[adapter.platform] = adapter

    def _remove(self, adapter: PlatformAdapter) -> None:
        if self._adapters.get(adapter.platform) is adapter:
            del self._adapters[adapter.platform]

    def _connected(self, platform: Platform) -> None:
        async def tell() -> None:
            await self._wiring.connected(platform)

        self._after.start(tell(), name=f"after connecting {platform.value}")

    def _woke(self, gap: SuspendedTime) -> None:
        log.info("This program was suspended for %.0f s; checking the platforms", gap.seconds)
        adapters = [link.adapter for link in self._links.values() if link.adapter is not None]
        for link in self._links.values():
            link.wake()
        self._slept_until = gap.ended_at
        if gap.seconds >= self._timing.outage_told_s and adapters:
            self._wiring.notify(sleep_notice(gap, *_kept_and_lost(adapters)))
        self._changed()

    def _outage(self, adapter: PlatformAdapter, gap: SuspendedTime) -> None:
        if gap.began_at < self._slept_until:  # already reported
            return
        kept = adapter.keeps_messages_while_away
        self._wiring.notify(outage_notice(adapter.platform.value, gap, kept=kept))

    def _changed(self) -> None:
        try:
            self._status_file.write(self._errors())
            self._wiring.changed()
        except Exception:  # failures of listeners must not affect the platforms
            log.exception("Reporting the health of platforms failed")

    def _errors(self) -> Iterable[tuple[PlatformHealth, PlatformError]]:
        links = {link.platform.value: link for link in self._links.values()}
        for health in self.health():
            link = links.get(health.name)
            yield health, link.error if link else (None, health.detail or None)


def _unserved(config: GatewayConfig, registry: AdapterRegistry) -> Iterable[PlatformHealth]:
    """Yield the enabled platforms that are not served, with the reason."""
    usable = set(config.get_connected_platforms())
    for platform, settings in config.platforms.items():
        if not settings.enabled:
            continue
        why_not = registry.why_not(platform)
        if why_not:
            yield PlatformHealth(platform.value, "unavailable", detail=why_not)
        elif platform not in usable:
            words = settings.trouble or "Its credentials are missing."
            yield PlatformHealth(platform.value, "disabled", detail=words)


def _kept_and_lost(adapters: Iterable[PlatformAdapter]) -> tuple[list[str], list[str]]:
    kept: list[str] = []
    lost: list[str] = []
    for adapter in adapters:
        (kept if adapter.keeps_messages_while_away else lost).append(adapter.platform.value)
    return kept, lost
