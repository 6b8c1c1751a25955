"""Factory for agents' tools, with limits on what they may access and which secrets they see."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.agent.sandbox.grants import Access
from hermes_desktop.agent.sandbox.own_places import Homes
from hermes_desktop.agent.sandbox.session_grants import SessionGrants
from hermes_desktop.agent.tools.asking.approval_memory import ApprovalStore
from hermes_desktop.agent.tools.asking.approvals import ApprovalRules
from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.agent.tools.executor import ToolBox
from hermes_desktop.agent.tools.processes.process_table import ProcessTable
from hermes_desktop.agent.tools.tool_assembly import ToolParts, build_tools, work_folder
from hermes_desktop.agent.tools.work_folder import WorkFolder
from hermes_desktop.agent.types import AgentRequest
from hermes_desktop.agent.undo.turn_undo import UndoStore
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.files.git_facts import git_facts
from hermes_desktop.core.log_setup import SecretRedactor, learn_named
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.agents.command_hold import CommandHold, command_hold
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets
from hermes_desktop.settings.last_valid_config import LastValidConfig
from hermes_desktop.settings.secret_masking import literal_secrets
from hermes_desktop.settings.stored_secrets import stored_secrets
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.stored_values import imported_folder

log = logging.getLogger(__name__)

_SECTIONS = (
    "agent",
    "approvals",
    "command_allowlist",
    "memory",
    "platform_toolsets",
    "terminal",
)


class AgentTools:
    """Builds the tools of agents. Methods block and run on worker threads.

    Attributes:
        queue: The queue of approvals and questions.
        processes: The background processes.
        undo: Where what turns change is kept before.

    Args:
        paths: The home.
        queue: The queue of approvals and questions.
        environ: The process environment.
        redactor: The log redactor that every secret in it and in ``.env`` is registered with.
        surface: The source that every conversation counts as, wherever it began, because the user
            of this machine continues it. "": each counts as its own source.
        processes: The table of background processes, if it is shared with other parts.
        add_to_setting: Adds an entry to a setting that is a list, by its key; raises HermesError.
            None: the settings cannot be written.
    """

    def __init__(  # noqa: PLR0913 - what tools work with
        self,
        paths: HermesPaths,
        db: SessionDB,
        queue: RequestQueue,
        *,
        environ: Mapping[str, str],
        redactor: SecretRedactor,
        clock: Clock,
        surface: str = "",
        processes: ProcessTable | None = None,
        add_to_setting: Callable[[str, str], object] | None = None,
    ) -> None:
        self.queue = queue
        self.processes = processes or ProcessTable(
            clock, paths.desktop_dir / "processes", redactor.clean
        )
        self._surface = surface
        self._paths = paths
        self._db = db
        self._environ = environ
        self._redactor = redactor
        # Immediately, without the keyring: a bug may be logged before the first agent is built.
        plain = environ.process if isinstance(environ, EnvironmentWithSecrets) else environ
        learn_named(plain, redactor)
        self._config = LastValidConfig(paths.config_yaml, clock)
        home = environ.get("HOME") or ""
        user_home = Path(home) if Path(home).is_absolute() else Path.home()
        self.undo = UndoStore(paths.desktop_dir / "undo", user_home, paths.home)
        memory = ApprovalStore(paths.desktop_dir / "approvals")
        queue.on_move(memory.move)
        grants = SessionGrants(db.get_compression_lineage)
        queue.on_session_end(grants.end)
        self._parts = ToolParts(
            home=paths.home,
            user_home=user_home,
            store=db,
            clock=clock,
            environ=environ,
            clean=redactor.clean,
            queue=queue,
            memory=memory,
            processes=self.processes,
            grants=grants,
            keep_grant=_grant_keeper(add_to_setting),
        )

    def build(self, request: AgentRequest) -> ToolBox | None:
        """Build the tools of one agent; None where it has none.

        Raises:
            ConfigError: config.yaml or ``.env`` cannot be read.
        """
        config = self._config.read()
        self._learn_secrets(config)
        cwd, imported = self._chosen(request)
        return build_tools(
            self._parts,
            config,
            platform=self._surface or request.source,
            session_key=request.session_key,
            cwd=cwd,
            imported=imported,
        )

    def end_asking(self) -> None:
        """Close the queue at the program's end; no turn waits for the user then. Any thread."""
        self.queue.close()

    def facts(self) -> str:
        """Return a text that changes when tools have to be rebuilt; without secrets."""
        try:
            config = self._config.read()
        except ConfigError:
            return ""
        return repr([config.get(name) for name in _SECTIONS])

    @property
    def homes(self) -> Homes:
        """The folders to protect."""
        return self._parts.homes

    def folder(self, source: str, stored: str = "", imported: str = "") -> WorkFolder:
        """Return the folder in which a session works, or would work if it began now.

        Args:
            source: Where the session is written to, such as ``desktop`` or ``cli``.
            stored: The folder of its row.
            imported: The folder that an imported session had elsewhere.

        Raises:
            ConfigError: config.yaml cannot be read.
        """
        cwd = Path(stored) if stored else None
        where = self._surface or source
        return work_folder(self._config.read(), self._parts, where, cwd, imported)

    def hold(self, *session_keys: str) -> CommandHold:
        """Return how the commands of a chat are controlled. Slow at first: the sandbox is tried.

        Args:
            session_keys: The keys under which approvals may be switched off in the chat.

        Raises:
            ConfigError: config.yaml cannot be read.
        """
        free = any(self.queue.is_free(each) for each in session_keys if each)
        return command_hold(self._config.read(), self._parts.sandbox_status, is_free=free)

    def asks_nothing(self) -> bool:
        """Return whether the settings switch approvals off. Raises as :meth:`hold`."""
        return ApprovalRules.from_mapping(self._config.read()).mode == "off"

    def _chosen(self, request: AgentRequest) -> tuple[Path | None, str]:
        """Return the folder that is set for a conversation, and the one it was imported with."""
        named = request.session_fields.get("cwd")
        imported = None
        if not named:
            row = self._db.get_session(request.session_id)
            named = row.get("cwd") if row is not None else None
            imported = imported_folder(row.get("model_config")) if row is not None else None
        return Path(str(named)) if named else None, imported or ""

    def _learn_secrets(self, config: Mapping[str, Any]) -> None:
        literal = literal_secrets(config)
        for values in (self._environ, *stored_secrets(self._paths.home), *literal):
            learn_named(values, self._redactor)


def _grant_keeper(
    add_to_setting: Callable[[str, str], object] | None,
) -> Callable[[Access], object] | None:
    """Return what writes a permanent grant to the settings."""
    if add_to_setting is None:
        return None

    def keep(access: Access) -> None:
        name = "writable_paths" if access.write else "readable_paths"
        name = "allowed_hosts" if access.kind == "host" else name
        add_to_setting(f"terminal.{name}", access.value)

    return keep


def workplace_fields(request: AgentRequest, tools: ToolBox | None) -> dict[str, str]:
    """Return the working place fields of a new session's row: folder, repository, branch.

    The folder is recorded where the user chose it: by a front end, or by the folder in which the
    command line was started. Blocking: reads small files.
    """
    named = request.session_fields.get("cwd")
    if not named and request.source == "cli":
        named = tools.folder if tools is not None else Path.cwd()
    if not named:
        return {}
    facts = git_facts(Path(named))
    if facts is None:
        return {"cwd": str(named)}
    noted = {"cwd": str(named), "git_repo_root": str(facts.root)}
    return noted if facts.branch is None else {**noted, "git_branch": facts.branch}
