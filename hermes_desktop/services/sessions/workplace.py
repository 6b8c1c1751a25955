"""Where the commands of a session run, and how they are controlled: read and changed."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hermes_desktop.agent.tools.base import ToolError
from hermes_desktop.agent.tools.work_folder import create_default
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import ConfigError, UsageError
from hermes_desktop.core.files.hard_links import OutsideLinks, outside_links
from hermes_desktop.services.agents.agent_tools import AgentTools
from hermes_desktop.services.agents.command_hold import CommandHold
from hermes_desktop.services.sessions.working_folder import (
    set_working_folder,
    usable_folder,
    working_folder,
)
from hermes_desktop.state import SessionDB

SOURCE = "desktop"
_RECENT = 6

FolderCondition = Literal["ready", "new", "missing", "unwritable", "unconfirmed"]
"""``new``: created when it is first needed. ``unconfirmed``: the session was imported, and no
folder was chosen here."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where the next message of a session works.

    Attributes:
        folder: The folder; "" while none was chosen.
        condition: What is known of it.
        imported: The folder that an imported session had elsewhere, where none was chosen.
        left_home: The session worked in the home before, which may no longer be used for work.
        usual: The folder of sessions for which none is chosen.
        is_first: No folder for new sessions has been chosen yet.
    """

    folder: str = ""
    condition: FolderCondition = "ready"
    imported: str = ""
    left_home: bool = False
    usual: str = ""
    is_first: bool = False


class Workplaces:
    """The working folders of sessions in one home, and how commands are controlled there.

    Args:
        db: The sessions.
        tools: Knows the settings of tools.
        chat_key: Returns the key under which a conversation is continued in the window.
        writers: The ``state-write`` worker thread.
        checks: Whether folders are checked; a demonstration has none.
    """

    def __init__(
        self,
        db: SessionDB,
        tools: AgentTools,
        chat_key: Callable[[str], str],
        writers: WorkerThreads,
        *,
        checks: bool = True,
    ) -> None:
        self._db = db
        self._tools = tools
        self._chat_key = chat_key
        self._writers = writers
        # The disk may be slow, and a sandbox is tried; neither may delay the history.
        self._workers = WorkerThreads("workplace", size=3)
        self._checks = checks

    async def look(self, session_id: str | None, *, picked: str = "", kept: str = "") -> Workplace:
        """Return where a session works now.

        Args:
            session_id: The session; None for a new one.
            picked: The folder that was picked for a new session.
            kept: The folder for new sessions, where the settings name none.

        Raises:
            NotFoundError: The session is gone.
            ConfigError: config.yaml cannot be read.
        """
        return await self._workers.run(self._look, session_id, picked, kept)

    async def recent(self) -> tuple[str, ...]:
        """Return the folders of the latest sessions, the latest first.

        Raises:
            StateError: The shared file cannot be read.
        """
        return await self._workers.run(self._recent)

    async def hold(self, session_id: str | None, root_id: str = "") -> CommandHold:
        """Return how the commands of a session are controlled now.

        Args:
            session_id: The session; None for a new one.
            root_id: The first session of its lineage.

        Raises:
            ConfigError: config.yaml cannot be read.
        """
        return await self._workers.run(self._hold, session_id, root_id)

    def close(self) -> None:
        """Accept no more calls. Never waits."""
        self._workers.close()

    async def approvals_are_off(self) -> bool:
        """Return whether the settings switch approvals off, in every chat."""
        try:
            return await self._workers.run(self._tools.asks_nothing)
        except ConfigError:
            return False  # the last valid settings are not known; the window reports the file

    async def check(self, folder: str) -> str:
        """Return the absolute path of a folder in which sessions may work.

        Raises:
            UsageError: They may not; the error says why.
        """
        return str(await self._workers.run(usable_folder, folder, self._tools.homes))

    async def links(self, folder: str, given_up: Callable[[], bool]) -> OutsideLinks:
        """Return the files of a folder with names outside it.

        Args:
            folder: The folder.
            given_up: Ends the search.
        """
        return await self._workers.run(outside_links, Path(folder), given_up)

    async def choose(self, session_id: str, folder: str) -> None:
        """Set the folder of a session, from its next message on.

        Raises:
            NotFoundError: The session is gone.
            UsageError: The folder does not exist or may not be used for work.
        """
        homes = self._tools.homes
        await self._writers.run(set_working_folder, self._db, session_id, folder, homes)

    async def make_usual(self) -> str:
        """Create the usual folder, if it is the default one, and return its path.

        Raises:
            UsageError: It cannot be created.
        """
        return await self._workers.run(self._make_usual)

    def _make_usual(self) -> str:
        found = self._tools.folder(SOURCE)
        if found.is_default:
            try:
                create_default(found.path)
            except ToolError as error:
                title = "The folder cannot be created."
                raise UsageError(title, str(error), "Choose another folder.") from error
        return str(found.path)

    def _hold(self, session_id: str | None, root_id: str) -> CommandHold:
        row = self._db.get_session(session_id) if session_id is not None else None
        keys = [] if session_id is None else [self._chat_key(root_id or session_id)]
        return self._tools.hold(*keys, str((row or {}).get("session_key") or ""))

    def _look(self, session_id: str | None, picked: str, kept: str) -> Workplace:
        usual = self._tools.folder(SOURCE)
        stored, imported, is_first = picked, "", False
        if session_id is None:
            by_settings = not usual.is_default
            is_first = not (picked or by_settings or kept)
            stored = picked or ("" if by_settings else kept)
        else:
            known = working_folder(self._db, session_id)
            stored, imported = known.current or "", known.imported or ""
        if not self._checks:
            folder = stored or str(usual.path)
            return Workplace(folder, usual=str(usual.path))
        found = self._tools.folder(SOURCE, stored, imported)
        unconfirmed = bool(found.unconfirmed)
        return Workplace(
            folder="" if unconfirmed else str(found.path),
            condition="unconfirmed" if unconfirmed else _condition(found.path, found.is_default),
            imported=found.unconfirmed,
            left_home=bool(stored) and found.path != Path(stored),
            usual=str(usual.path),
            is_first=is_first,
        )

    def _recent(self) -> tuple[str, ...]:
        found = self._db.recent_folders(_RECENT)
        return tuple(each for each in found if self._is_usable(each))

    def _is_usable(self, folder: str) -> bool:
        try:
            usable_folder(folder, self._tools.homes)
        except (UsageError, OSError, ValueError):
            return False
        return Path(folder).is_absolute()


def _condition(folder: Path, is_default: bool) -> FolderCondition:  # noqa: FBT001 - a fact
    if not folder.is_dir():
        return "new" if is_default and not folder.exists() else "missing"
    return "ready" if os.access(folder, os.R_OK | os.W_OK | os.X_OK) else "unwritable"
