"""One run of the gateway that serves the messaging platforms, built from settings just read."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hermes_desktop.core.background_tasks import WorkerThreads
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config import GatewayConfig, Platform
from hermes_desktop.gateway.identity_files import GatewayRecord
from hermes_desktop.gateway.identity_supervisor import GatewayIdentity
from hermes_desktop.gateway.keyed_locks import KeyedLocks
from hermes_desktop.gateway.platforms.base import PlatformAdapter
from hermes_desktop.gateway.platforms.registry import AdapterContext, AdapterRegistry
from hermes_desktop.gateway.run import GatewayRunner
from hermes_desktop.gateway.runner_report import RunnerReport
from hermes_desktop.gateway.session import SessionStore
from hermes_desktop.gateway.token_locks import TokenLocks, TokenOwner
from hermes_desktop.services.agent_builder import AgentBuilder
from hermes_desktop.services.hosting_ending import EndingWish
from hermes_desktop.state import AsyncSessionDB, SessionDB

log = logging.getLogger(__name__)

_LONGEST_DRAIN_S = 86_400.0
"""The host says when it is enough."""
_LEAVE_PLATFORM_S = 1.5


@dataclass(frozen=True, slots=True)
class HostedParts:
    """What every run of the gateway is made of; shared with the desktop's own chat.

    Attributes:
        turns: Worker threads of turns.
        turn_leases: One turn per conversation at a time in the whole program.
        turn_slots: No more turns than workers in the whole program.
        locks: The locks of bot tokens, used on ``worker`` alone.
        worker: Where everything about hosting runs that blocks, one at a time.
    """

    paths: HermesPaths
    db: SessionDB
    session_db: AsyncSessionDB
    builder: AgentBuilder
    turns: WorkerThreads
    turn_leases: KeyedLocks
    turn_slots: asyncio.Semaphore
    registry: AdapterRegistry
    locks: TokenLocks
    worker: WorkerThreads
    redactor: SecretRedactor
    bus: EventBus
    clock: Clock


class _Hold:
    """The identity as the runner sees it: it says what is so; the host gives the home back."""

    def __init__(self, identity: GatewayIdentity | None) -> None:
        self._identity = identity

    def update(self, fields: Mapping[str, Any]) -> None:
        """Change what the state file says."""
        if self._identity is not None:
            self._identity.update(fields)

    def release(self) -> bool:
        """Nothing: token locks are given back first, and somebody may wait for both."""
        return True


class HostedGateway:
    """Started once, left once. For one loop.

    Args:
        parts: What it is made of.
        config: The settings.
        identity: Holds the home, and is told what the state file shall say.
        announce: Told how it is doing, its platforms included.
        restart: Called when a chat asks for a restart.
    """

    def __init__(
        self,
        parts: HostedParts,
        config: GatewayConfig,
        *,
        identity: GatewayIdentity | None,
        announce: Callable[[RunnerReport], None],
        restart: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._config = config
        self._announce = announce
        self._report = RunnerReport("stopped")
        self._health: dict[str, PlatformHealth] = {}
        self._adapters = self._make_adapters()
        self._runner = GatewayRunner(
            config,
            session_store=self._make_store(),
            session_db=parts.session_db,
            agent_factory=parts.builder.build,
            agent_settings=parts.builder.fingerprint,
            bus=parts.bus,
            turn_workers=parts.turns,
            turn_leases=parts.turn_leases,
            turn_slots=parts.turn_slots,
            clock=parts.clock,
            adapters=self._adapters.values(),
            announce=self._note,
            home=parts.paths.home,
            identity=_Hold(identity),
            restart_handler=restart,
        )

    def has(self, platform: str) -> bool:
        """Whether it serves a platform of that name."""
        return any(each.value == platform for each in self._adapters)

    # Life

    async def start(self, record: GatewayRecord) -> None:
        """Take the tokens in the name of the identity process, then connect.

        Raises:
            HermesError: It cannot run.
        """
        for platform, adapter in list(self._adapters.items()):
            owner = await self._take_token(platform, adapter, record)
            if owner is not None:
                self._drop(platform, owner)
        await self._runner.start()

    def hurry(self) -> None:
        """Interrupt the turns that still run."""
        self._runner.hurry()

    async def leave(self, wish: EndingWish) -> None:
        """Take no new turns, let running ones end until :meth:`hurry`, leave the platforms.

        Args:
            wish: Who wants it; platforms are left first if that is somebody outside.
        """
        stopping = asyncio.ensure_future(self._runner.stop(_LONGEST_DRAIN_S))
        try:
            while not stopping.done() and not wish.now().from_outside:
                changed = asyncio.ensure_future(wish.changed())
                await asyncio.wait({stopping, changed}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
            if not stopping.done():
                await self._leave_platforms()
            await stopping
        finally:
            if not stopping.done():
                stopping.cancel()

    async def free_tokens(self) -> None:
        """Give the tokens' locks back."""
        await self._parts.worker.run(self._parts.locks.release_all)

    async def renew(self, record: GatewayRecord) -> None:
        """Let the tokens' locks name another identity process."""
        lost = await self._parts.worker.run(self._parts.locks.rename_all, record)
        for platform, adapter in list(self._adapters.items()):
            if platform.value in lost:
                await _disconnect(adapter)
                self._drop(platform, lost[platform.value])

    async def reconnect(self, platform: str) -> None:
        """Connect a platform anew."""
        await self.pause(platform)
        await self.resume(platform)

    async def pause(self, platform: str) -> None:
        """Leave a platform."""
        await _disconnect(self._adapters[Platform(platform)])

    async def resume(self, platform: str) -> None:
        """Serve a platform again."""
        await self._adapters[Platform(platform)].connect(is_reconnect=True)

    # Parts

    def _make_store(self) -> SessionStore:
        parts = self._parts
        return SessionStore(
            self._config.sessions_dir or parts.paths.sessions_dir,
            self._config,
            db=parts.db,
            clock=parts.clock,
            namespace=parts.paths.namespace,
        )

    def _make_adapters(self) -> dict[Platform, PlatformAdapter]:
        adapters: dict[Platform, PlatformAdapter] = {}
        for platform in self._config.get_connected_platforms():
            if platform not in self._parts.registry:
                self._tell_health(
                    PlatformHealth(
                        platform.value, "unavailable", detail="This version cannot serve it."
                    )
                )
                continue
            context = AdapterContext(platform, self._parts.paths.home, self._parts.clock)
            settings = self._config.platforms[platform]
            adapters[platform] = self._parts.registry.make(settings, context)
        return adapters

    async def _take_token(
        self, platform: Platform, adapter: PlatformAdapter, record: GatewayRecord
    ) -> TokenOwner | None:
        if adapter.token is None:
            return None
        return await self._parts.worker.run(
            self._parts.locks.acquire,
            adapter.token.scope,
            adapter.token.secret,
            platform.value,
            record,
        )

    def _drop(self, platform: Platform, owner: TokenOwner) -> None:
        del self._adapters[platform]
        self._runner.adapters.pop(platform, None)
        self._tell_health(
            PlatformHealth(
                platform.value,
                "fatal",
                detail=f"Another gateway (process {owner.record.pid}) uses its token.",
            )
        )

    async def _leave_platforms(self) -> None:
        leaving = [_disconnect(adapter) for adapter in self._adapters.values()]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_PLATFORM_S):
                await asyncio.gather(*leaving)

    def _tell_health(self, health: PlatformHealth) -> None:
        self._health[health.name] = health
        self._note(self._report)

    def _note(self, report: RunnerReport) -> None:
        self._report = report
        health = tuple(each for _, each in sorted(self._health.items()))
        self._announce(replace(report, platforms=health))


async def _disconnect(adapter: PlatformAdapter) -> None:
    try:
        await adapter.disconnect()
    except Exception:  # the others are to be left, too
        log.exception("Leaving %s failed", adapter.platform.value)
