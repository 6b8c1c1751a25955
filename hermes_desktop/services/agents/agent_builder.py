"""Factory for agents: selects the model and provider, and the initial fields of a session's row."""

import hashlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from types import MappingProxyType
from typing import Any

from hermes_desktop.agent.compression.context_compression import Compactor
from hermes_desktop.agent.context_length import ContextWindows
from hermes_desktop.agent.models.config import AgentConfig, resolve_chosen, resolve_fallbacks
from hermes_desktop.agent.providers.base import ChatProvider, Retries
from hermes_desktop.agent.providers.cleaned_replies import CleanedReplies
from hermes_desktop.agent.providers.endpoint import DialectCache
from hermes_desktop.agent.providers.fallback import FallbackProvider
from hermes_desktop.agent.providers.local_servers import probe_context
from hermes_desktop.agent.providers.offline import OFFLINE_CHOICE, OfflineProvider
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.providers.shared_tls import SharedTls
from hermes_desktop.agent.thinking import CHOSEN_KEYS, with_thinking
from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.agent.tools.executor import ToolBox
from hermes_desktop.agent.tools.processes.process_table import ProcessTable
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import AgentRequest, ModelChoice
from hermes_desktop.agent.undo.turn_undo import UndoStore
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import ConfigError, NotConfiguredError
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.agents.agent_tools import AgentTools, workplace_fields
from hermes_desktop.services.agents.auxiliary_services import AuxiliaryServices, AuxiliarySettings
from hermes_desktop.services.secrets.secret_access import redact_secrets
from hermes_desktop.settings.config_file import Lookup, read_config
from hermes_desktop.settings.env_file import layered_lookup, read_env_file
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets
from hermes_desktop.settings.last_valid_config import LastValidConfig
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.session_prompts import SessionPrompts
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The settings for answering: the model, its fallbacks, retries and auxiliary work.

    Attributes:
        choice: The model that answers.
        fallbacks: The fallback models, in order.
        instead_of: Why the chosen model is replaced by another one, as a sentence; "" if it is not.
    """

    choice: ModelChoice
    config: AgentConfig = field(default_factory=AgentConfig)
    care: AuxiliarySettings = field(default_factory=AuxiliarySettings)
    fallbacks: tuple[ModelChoice, ...] = ()
    instead_of: str = ""

    def fingerprint(self) -> str:
        """Return a short digest that changes with any setting, keys included, and reveals none."""
        choices = [astuple(each) for each in (self.choice, *self.fallbacks)]
        parts = (*choices, astuple(self.config), astuple(self.care), self.instead_of)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


class AgentBuilder:
    """Builds agents, re-reading the settings for each, so that a changed model applies immediately.

    All methods block (files are read) and run on worker threads.

    Attributes:
        prompts: The system prompts that its agents send.
    """

    def __init__(  # noqa: PLR0913 - what agents are made of
        self,
        paths: HermesPaths,
        db: SessionDB,
        redactor: SecretRedactor,
        environ: Mapping[str, str],
        *,
        offline: bool,
        clock: Clock,
        tools: AgentTools | None = None,
    ) -> None:
        self._paths = paths
        self._db = db
        self._redactor = redactor
        self._environ = environ
        self._offline = offline
        self._clock = clock
        self._config = LastValidConfig(paths.config_yaml, clock)
        self._tools = None if offline else tools
        self._tls = SharedTls(clock, environ)
        self._dialects = DialectCache()
        self._fingerprinted = ("", "")
        self.prompts = SessionPrompts(db, DesktopDatabase(paths.own_store))
        windows = ContextWindows(probe_context)
        self._care = AuxiliaryServices(db, self.prompts, clock, windows, self._side_provider)

    @property
    def requests(self) -> RequestQueue | None:
        """The queue of approvals and questions; None: agents have no tools."""
        return self._tools.queue if self._tools is not None else None

    @property
    def processes(self) -> ProcessTable | None:
        """The background processes; None: agents have no tools."""
        return self._tools.processes if self._tools is not None else None

    def new_folder(self, source: str) -> str:
        """Return the folder to store with a session that starts here; "" for none. Blocking.

        Args:
            source: Where it is written to, such as ``desktop`` or ``cli``.
        """
        if self._tools is None:
            return ""
        try:
            return str(self._tools.folder(source).path)
        except ConfigError:
            return ""  # the turn reports it

    @property
    def undo(self) -> UndoStore | None:
        """Where what turns change is kept before; None: agents have no tools."""
        return self._tools.undo if self._tools is not None else None

    def remember_config(self) -> None:
        """Read config.yaml and keep it for use while the file is broken. Blocking.

        Raises:
            ConfigError: It cannot be parsed.
        """
        self._config.read()
        if self._tools is not None:
            self._tools.facts()

    def choose_model(self, chosen: Mapping[str, str] = MappingProxyType({})) -> ModelChoice:
        """Return the model that a new turn would use.

        Args:
            chosen: The choices made for one conversation; see :func:`with_chosen_model`.

        Raises:
            NotConfiguredError: No model is set; the hint says what to set.
            ConfigError: config.yaml cannot be parsed.
        """
        return self._settings(chosen).choice

    def room(self) -> tuple[int | None, int | None]:
        """Return the model's context length, and the size from which a session is shortened.

        No server is asked for the length. None: unknown; sessions are not shortened.

        Raises:
            NotConfiguredError: No model is set.
            ConfigError: config.yaml cannot be parsed.
        """
        settings = self._settings()
        window = self._care.windows.window(settings.choice, ask=False)
        shortens = settings.care.compression
        limit = shortens.threshold_tokens(window, settings.choice.max_tokens)
        known = window.tokens if window.certain else None
        return known, limit if shortens.enabled else None

    def fingerprint(self) -> str:
        """Return a digest of an agent's current settings; a cached agent with another is stale.

        Raises:
            NotConfiguredError: No model is set.
            ConfigError: config.yaml cannot be parsed.
        """
        facts = self._tools.facts() if self._tools is not None else ""
        return self._settings_fingerprint() + hashlib.sha256(facts.encode()).hexdigest()[:8]

    def _settings_fingerprint(self) -> str:
        """Return the fingerprint of the settings; they are resolved when a source has changed."""
        if self._offline:
            return self._settings().fingerprint()
        places = (self._config.read(), read_env_file(self._paths.env_file), _named(self._environ))
        sources = hashlib.sha256(repr(places).encode()).hexdigest()
        if sources != self._fingerprinted[0]:
            self._fingerprinted = (sources, self._settings().fingerprint())
        return self._fingerprinted[1]

    def build(self, request: AgentRequest) -> AIAgent:
        """Build the agent for one conversation.

        Raises:
            ProviderError: No model is set, or its settings are invalid.
            ConfigError: config.yaml cannot be parsed.
        """
        settings = self._settings(request.model_override)
        provider = CleanedReplies(self._provider(settings), self._redactor)
        tools = self._tools.build(request) if self._tools is not None else None
        return AIAgent(
            provider=provider,
            store=self._db,
            prompts=self.prompts,
            room=self._care.room(settings.care, provider),
            titles=self._care.titles(settings.care, settings.choice),
            undo=self.undo,
            session_id=request.session_id,
            source=request.source,
            clock=self._clock,
            soul_path=self._paths.home / "SOUL.md",
            tools=tools,
            folder=_told_folder(tools),
            max_turns=settings.config.max_turns,
            session_fields={
                "profile_name": self._paths.profile_column,
                **request.session_fields,
                **workplace_fields(request, tools),
            },
        )

    def compaction_service(self, chosen: Mapping[str, str] = MappingProxyType({})) -> Compactor:
        """Return the service for manual compaction, with the model that would answer.

        Args:
            chosen: The choices made for the conversation.

        Raises:
            ProviderError: No model is set, or its settings are invalid.
            ConfigError: config.yaml cannot be parsed.
        """
        settings = self._settings(chosen)
        return self._care.context(settings.care, self._provider(settings))

    def _side_provider(self, choice: ModelChoice) -> ChatProvider:
        if choice.kind == "offline":
            return OfflineProvider(choice)
        return self._asking(choice, Retries())

    def _settings(self, chosen: Mapping[str, str] = MappingProxyType({})) -> AgentSettings:
        if self._offline:
            name = chosen.get("model") or OFFLINE_CHOICE.model
            return AgentSettings(replace(OFFLINE_CHOICE, model=name))
        config = self._config.read()
        return read_agent_settings(self._paths, self._environ, self._redactor, chosen, config)

    def _provider(self, settings: AgentSettings) -> ChatProvider:
        if self._offline:
            return OfflineProvider(settings.choice)
        retries = settings.config.retries()
        if not settings.fallbacks and not settings.instead_of:
            return self._asking(settings.choice, retries)
        # With fallbacks available, retries of one model are kept short.
        brief = replace(retries, count=min(retries.count, 1), longest_asked_s=5.0)
        *first, last = (settings.choice, *settings.fallbacks)
        asked = [*(self._asking(each, brief) for each in first), self._asking(last, retries)]
        return FallbackProvider(asked, self._clock, settings.instead_of)

    def _asking(self, choice: ModelChoice, retries: Retries) -> OpenAICompatibleProvider:
        return OpenAICompatibleProvider(
            choice,
            retries=retries,
            redactor=self._redactor,
            tls=self._tls,
            dialects=self._dialects,
            clock=self._clock,
        )


def _named(environ: Mapping[str, str]) -> dict[str, str]:
    """Return everything that an environment finds by name now; contains secrets."""
    if isinstance(environ, EnvironmentWithSecrets):
        return environ.with_stored(environ.stored())
    return dict(environ)


def _told_folder(tools: ToolBox | None) -> str:
    """Return the folder named to the model; "" if its tools need none, or have none."""
    return tools.told_folder if tools is not None else ""


def read_agent_settings(
    paths: HermesPaths,
    environ: Mapping[str, str],
    redactor: SecretRedactor,
    chosen: Mapping[str, str] = MappingProxyType({}),
    config: Mapping[str, Any] | None = None,
) -> AgentSettings:
    """Read which model answers, its fallbacks and retries. Blocking; creates nothing.

    Args:
        paths: The home.
        environ: The process environment, with the keyring behind it where that is wanted.
        redactor: The log redactor that the keys and everything in the keyring are registered with.
        chosen: The choices made for one conversation.
        config: config.yaml as read; None: it is read here.

    Raises:
        NotConfiguredError: No model is set, and there is no fallback; the hint says what to set.
        ConfigError: config.yaml cannot be parsed.
    """
    data = read_config(paths.config_yaml).data if config is None else config
    lookup = layered_lookup(environ, read_env_file(paths.env_file))
    redact_secrets(environ, redactor)
    choice, fallbacks, instead_of = _who_answers(data, chosen, lookup)
    care = AuxiliarySettings.read(data, lookup)
    for key in (choice.api_key, *care.keys(), *(each.api_key for each in fallbacks)):
        redactor.learn(key)
    own = AgentConfig.from_mapping(data, lookup)
    return AgentSettings(choice, own, care, fallbacks, instead_of)


def _who_answers(
    data: Mapping[str, Any], chosen: Mapping[str, str], lookup: Lookup
) -> tuple[ModelChoice, tuple[ModelChoice, ...], str]:
    """Return the model, its fallbacks, and why it is not the chosen one."""
    fallbacks = resolve_fallbacks(data, lookup)
    try:
        choice = with_thinking(resolve_chosen(data, chosen, lookup), chosen)
    except NotConfiguredError as error:
        # A model that the user chose for this conversation is not replaced: the error is reported.
        if set(chosen) - CHOSEN_KEYS or not fallbacks:
            raise
        return fallbacks[0], fallbacks[1:], error.title
    own = (choice.model, choice.base_url)
    return choice, tuple(e for e in fallbacks if (e.model, e.base_url) != own), ""
