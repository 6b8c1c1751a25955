"""Builds every part once and hands each what it needs.

One builder per need, imports inside, so that a session list on the command line loads neither
asyncio, httpx, keyring nor Qt.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hermes_desktop.core.clock import Clock, SystemClock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hermes_desktop.core.background_tasks import TaskSet
    from hermes_desktop.core.event_bus import EventBus
    from hermes_desktop.core.log_setup import SecretRedactor
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.services.desktop_chat import DesktopChat
    from hermes_desktop.services.gateway_host import GatewayHost
    from hermes_desktop.services.live_actions import LiveActions
    from hermes_desktop.services.live_catalog import LiveCatalog
    from hermes_desktop.services.private_gateway import Workers
    from hermes_desktop.services.session_catalog import SessionCatalog
    from hermes_desktop.services.session_search import SessionSearch
    from hermes_desktop.services.state_watch import StateWatch
    from hermes_desktop.services.transcript import TranscriptReader
    from hermes_desktop.state import SessionDB
    from hermes_desktop.state.change_watcher import ChangeWatcher


def open_catalog(paths: HermesPaths) -> SessionCatalog:
    """Open the history of a home for reading, without creating anything.

    Raises:
        StateUnavailableError: There is no database, or it cannot be read.
    """
    from hermes_desktop.services.session_catalog import SessionCatalog
    from hermes_desktop.state import SessionDB

    return SessionCatalog(SessionDB(paths.state_db, read_only=True))


@dataclass(slots=True)
class DesktopServices:
    """Everything the window, or a chat on the command line, works with.

    Built by :func:`build_services`; :meth:`start` and :meth:`close` are awaited on the loop.
    """

    paths: HermesPaths
    bus: EventBus
    catalog: LiveCatalog
    actions: LiveActions
    search: SessionSearch
    transcript: TranscriptReader
    chat: DesktopChat
    gateway: GatewayHost
    watch: StateWatch
    tasks: TaskSet
    db: SessionDB
    watcher: ChangeWatcher
    workers: Workers

    async def start(self, *, watch: bool = True) -> None:
        """Start the gateway and, for a window, the watching of the database."""
        import asyncio

        await self.gateway.start()
        if watch:
            self.tasks.start(self.watch.run(), name="state-watch")
            # The first look only learns. It is queued now, so that whatever is read from here on
            # is read after it, on the same thread.
            await asyncio.sleep(0)

    async def close(self, *, drain_s: float = 15.0) -> None:
        """Close everything in reverse order; running turns get ``drain_s`` seconds to end."""
        await self.gateway.stop(drain_s=drain_s)
        self.search.cancel()
        await self.tasks.cancel_all()
        await self.actions.close()
        await self.workers.readers.run(self.watcher.close)
        await self.workers.readers.run(self.db.close)
        self.workers.close()


def build_services(
    paths: HermesPaths,
    *,
    redactor: SecretRedactor,
    offline: bool = False,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
) -> DesktopServices:
    """Build the parts of the desktop program. Blocking: opens the database.

    Args:
        paths: The home.
        redactor: Learns the keys that are read, so that no log shows them.
        offline: Answer with the scripted provider of the demo instead of a model.
        clock: The machine's, unless a test brings its own.
        environ: The process environment, unless the demo hides it.

    Raises:
        StateUnavailableError: The database cannot be opened or made.
    """
    from hermes_desktop.core.background_tasks import TaskSet
    from hermes_desktop.core.event_bus import EventBus
    from hermes_desktop.services.agent_builder import AgentBuilder
    from hermes_desktop.services.desktop_chat import DesktopChat
    from hermes_desktop.services.gateway_host import GatewayHost
    from hermes_desktop.services.live_actions import LiveActions
    from hermes_desktop.services.live_catalog import LiveCatalog
    from hermes_desktop.services.own_turns import OwnTurns
    from hermes_desktop.services.private_gateway import Workers, build_private_gateway
    from hermes_desktop.services.session_actions import SessionActions
    from hermes_desktop.services.session_search import SessionSearch
    from hermes_desktop.services.state_watch import StateWatch
    from hermes_desktop.services.transcript import TranscriptReader
    from hermes_desktop.state import SessionDB
    from hermes_desktop.state.change_watcher import ChangeWatcher

    clock = clock or SystemClock()
    environ = os.environ if environ is None else environ
    db = SessionDB(paths.state_db, clock=clock)
    bus = EventBus()
    workers = Workers.named()
    builder = AgentBuilder(paths, db, redactor, environ, offline=offline, clock=clock)
    runner, adapter = build_private_gateway(
        paths, db, bus, workers=workers, builder=builder, clock=clock
    )
    catalog = LiveCatalog(db, workers.readers, workers.writers)
    transcript = TranscriptReader(db, workers.readers)
    watcher = ChangeWatcher(paths.state_db)
    watch = StateWatch(watcher, catalog, transcript, workers.readers, bus)
    turns = OwnTurns(db, bus, clock)
    changes = SessionActions(db, paths.own_store, clock=clock, running_turn=turns.turn_in)
    return DesktopServices(
        paths=paths,
        bus=bus,
        catalog=catalog,
        actions=LiveActions(
            changes,
            db,
            writers=workers.writers,
            bulk=workers.bulk,
            catalog=catalog,
            watch=watch,
        ),
        search=SessionSearch(db, workers.search),
        transcript=transcript,
        chat=DesktopChat(
            adapter,
            db,
            readers=workers.readers,
            writers=workers.writers,
            choose_model=builder.choose_model,
            bus=bus,
            clock=clock,
        ),
        gateway=GatewayHost(runner, bus),
        watch=watch,
        tasks=TaskSet(),
        db=db,
        watcher=watcher,
        workers=workers,
    )
