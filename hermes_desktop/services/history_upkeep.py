"""Old sessions deleted by themselves, where a person has set that."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from hermes_desktop.core.background_tasks import WorkerThreads
from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.history_options import UpkeepSettings
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.state import SessionDB
from hermes_desktop.state.own_store import OwnStore
from hermes_desktop.state.session_prompts import SessionPrompts

log = logging.getLogger(__name__)

_FIRST_S = 60.0
"""How long after the start: nobody shall wait for it."""


class HistoryUpkeep:
    """Does it once, a while after the start, as ``hermes`` does at its own.

    Args:
        paths: The home.
        db: The conversations.
        worker: Where it blocks.
    """

    def __init__(self, paths: HermesPaths, db: SessionDB, worker: WorkerThreads) -> None:
        self._paths = paths
        self._db = db
        self._worker = worker

    async def do_later(self, *, after_s: float = _FIRST_S) -> None:
        """Wait, then do what is set."""
        await asyncio.sleep(after_s)
        await self._worker.run(self.do)

    def do(self) -> Mapping[str, Any]:
        """Delete what is old, if that is set and due. Blocking; never raises."""
        try:
            settings = UpkeepSettings.from_mapping(read_config(self._paths.config_yaml).data)
        except ConfigError as error:
            log.warning("Nothing old is deleted: %s", error)
            return {}
        if not settings.auto_prune:
            return {}
        done = self._db.maybe_auto_prune_and_vacuum(
            settings.retention_days,
            settings.min_interval_hours,
            settings.vacuum,
            self._paths.sessions_dir,
        )
        if done.get("pruned"):
            self._forget_prompts()
            log.info("%d old sessions were deleted, as sessions.auto_prune says", done["pruned"])
        return done

    def _forget_prompts(self) -> None:
        prompts = SessionPrompts(self._db, OwnStore(self._paths.own_store))
        prompts.forget_gone()
        prompts.close()
