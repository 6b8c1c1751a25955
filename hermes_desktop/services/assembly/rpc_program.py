"""The parts of ``hermes-desktop rpc``, joined, for the JSON-RPC server."""

import contextlib
import logging
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hermes_desktop import __version__
from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.agent.tools.processes.process_table import ProcessTable
from hermes_desktop.agent.types import AgentRequest, ModelChoice
from hermes_desktop.commands.added_commands import AddedCommand
from hermes_desktop.commands.context import ProgramFacts
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.time_bound import PendingCall
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import Platform, platform_or_none
from hermes_desktop.gateway.identity.active_sessions import ActiveSessions
from hermes_desktop.plugins.consents import anything_answered
from hermes_desktop.services.assembly.rpc_settings import RpcSettings
from hermes_desktop.services.sessions.delete_plan import DeletePlan
from hermes_desktop.services.sessions.session_actions import SessionActions
from hermes_desktop.services.sessions.session_catalog import find_session_id
from hermes_desktop.services.settings.setting_writer import list_extender, setting_writer
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks
from hermes_desktop.tui_gateway.program import RpcProgram

if TYPE_CHECKING:
    from hermes_desktop.services.agents.plugin_care import PluginManager
    from hermes_desktop.services.assembly.rpc_commands import RunningCommands

log = logging.getLogger(__name__)

_PLUGINS_S = 20.0
_LOCAL = frozenset({"tui", "cli", "webui", "acp", "api_server", "import"})


class RpcParts:
    """The parts of one serving process, created when first needed; any thread.

    Args:
        paths: The home.
        redactor: The log redactor that the keys are registered with as they are read.
        environ: The process environment.
        clock: The clock.
    """

    def __init__(
        self,
        paths: HermesPaths,
        *,
        redactor: SecretRedactor,
        environ: Mapping[str, str],
        clock: Clock,
    ) -> None:
        self._paths = paths
        self._redactor = redactor
        self._environ = environ
        self._clock = clock
        self._lock = threading.Lock()
        self._db: SessionDB | None = None
        self._actions: SessionActions | None = None
        self._locks: ConversationLocks | None = None
        self._builder: Any = None
        self._plugins: PluginManager | None = None
        self._commands: RunningCommands | None = None
        self._loading: PendingCall[Any] | None = None
        self._requests = RequestQueue(clock)
        self._processes = ProcessTable(clock, paths.desktop_dir / "processes", redactor.clean)

    def program(self) -> RpcProgram:
        """Return the server's dependencies. Starts loading plugins."""
        if anything_answered(self._paths.home, self._paths.desktop_dir):
            self._loading = PendingCall(self._load_plugins, "plugins")
        if (self._paths.desktop_dir / "processes").is_dir():
            PendingCall(self._processes.take_lost, "lost processes")
        return RpcProgram(
            db=self.db,
            agents=self,
            settings=RpcSettings(self._paths, self._environ),
            places=ActiveSessions(self._paths.home, self._clock, surface="tui"),
            trash=self,
            find=find_session_id,
            is_platform=_is_platform,
            facts=ProgramFacts(
                version=__version__,
                profile=self._paths.profile,
                home=self._paths.home,
                choose_model=self.choose_model,
                care=lambda chosen: self._agents().compaction_service(chosen),
                requests=self._requests,
                processes=self._processes,
                change_setting=setting_writer(self._paths, self._environ, self._clock),
            ),
            home=self._paths.home,
            saved_dir=self._paths.sessions_dir / "saved",
            clock=self._clock,
            own_commands=self.own_commands,
            requests=self._requests,
            locks=self.locks,
        )

    def db(self) -> SessionDB:
        """Return the database, opened when first needed.

        Raises:
            StateError: It cannot be opened.
        """
        with self._lock:
            if self._db is None:
                self._db = SessionDB(self._paths.state_db, clock=self._clock)
            return self._db

    def locks(self) -> ConversationLocks:
        """Return the locks that our programs share, one per conversation. Raises as :meth:`db`."""
        db = self.db()
        with self._lock:
            if self._locks is None:
                self._locks = ConversationLocks(db, self._paths.desktop_dir, "hermes-desktop rpc")
            return self._locks

    def close(self) -> None:
        """Close what was opened; no method may be called then. Waits a moment for commands."""
        self._requests.close()
        self._processes.close()
        if self._commands is not None:
            self._commands.end()
        with self._lock:
            if self._actions is not None:
                self._actions.close()
            if self._builder is not None:
                self._builder.prompts.close()
            if self._db is not None:
                self._db.close()
            if self._plugins is not None:
                self._plugins.close()

    def _load_plugins(self) -> None:
        from hermes_desktop.services.agents.plugin_care import PluginManager  # noqa: PLC0415 - for few homes

        self._plugins = PluginManager(
            self._paths, environ=self._environ, redactor=self._redactor, clock=self._clock
        )
        try:
            self._plugins.load()
        except Exception:  # agents are built nevertheless
            log.exception("Loading plugins failed")

    def _wait_for_plugins(self) -> None:
        if self._loading is not None:
            with contextlib.suppress(TimeoutError):  # loading has its own time limit
                self._loading.result(_PLUGINS_S)

    def own_commands(self) -> Sequence[AddedCommand]:
        """Return the user's own commands, once plugins are loaded. Blocks for a bounded time."""
        self._wait_for_plugins()
        from hermes_desktop.services.assembly.rpc_commands import RunningCommands, rpc_commands  # noqa: PLC0415 - see _agents

        with self._lock:
            running = self._commands = self._commands or RunningCommands()
        return rpc_commands(self._paths, self._environ, self._redactor.clean, running)

    # ------------------------------------------------------------------------------------ agents

    def build(self, request: AgentRequest) -> Any:
        """Build an agent, once plugins are loaded. Raises as :meth:`AgentBuilder.build`."""
        self._wait_for_plugins()
        return self._agents().build(request)

    def choose_model(self, chosen: Mapping[str, str]) -> ModelChoice:
        """Return the model that would answer. Raises as :meth:`AgentBuilder.choose_model`."""
        found: ModelChoice = self._agents().choose_model(chosen)
        return found

    def fingerprint(self) -> str:
        """Return a digest that changes when agents have to be rebuilt."""
        return str(self._agents().fingerprint())

    def _agents(self) -> Any:
        db = self.db()
        with self._lock:
            if self._builder is None:
                # This loads the HTTP client, which takes as long as everything else.
                from hermes_desktop.services.agents.agent_builder import AgentBuilder  # noqa: PLC0415
                from hermes_desktop.services.agents.agent_tools import AgentTools  # noqa: PLC0415

                self._builder = AgentBuilder(
                    self._paths,
                    db,
                    self._redactor,
                    self._environ,
                    offline=False,
                    clock=self._clock,
                    tools=AgentTools(
                        self._paths,
                        db,
                        self._requests,
                        environ=self._environ,
                        redactor=self._redactor,
                        clock=self._clock,
                        surface="tui",
                        processes=self._processes,
                        add_to_setting=list_extender(self._paths, self._environ, self._clock),
                    ),
                )
            return self._builder

    # ------------------------------------------------------------------------------------- trash

    def plan(self, session_id: str) -> DeletePlan:
        """Return what a delete would remove."""
        return self._session_actions().plan_delete([session_id])

    def delete(self, plan: DeletePlan) -> None:
        """Move the planned sessions to the trash."""
        self._session_actions().delete(plan)

    def _session_actions(self) -> SessionActions:
        db = self.db()
        with self._lock:
            if self._actions is None:
                self._actions = SessionActions(db, self._paths.own_store, clock=self._clock)
            return self._actions


def _is_platform(source: str) -> bool:
    """Return whether sessions of this source are chats of a messaging platform."""
    found = platform_or_none(source)
    return source not in _LOCAL and found not in {None, Platform.LOCAL, Platform.DESKTOP}
