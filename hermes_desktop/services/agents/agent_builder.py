"""Makes the agent of a session: which model, which provider, which fields its row begins with."""

import hashlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from types import MappingProxyType
from typing import Any

from hermes_desktop.agent.compression.context_compression import ContextCare
from hermes_desktop.agent.context_length import WindowBook
from hermes_desktop.agent.models.config import AgentConfig, resolve_chosen, resolve_fallbacks
from hermes_desktop.agent.providers.base import ChatProvider, Retries
from hermes_desktop.agent.providers.dialect import DialectBook
from hermes_desktop.agent.providers.local_context import probe_context
from hermes_desktop.agent.providers.offline import OFFLINE_CHOICE, OfflineProvider
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.providers.shared_tls import SharedTls
from hermes_desktop.agent.providers.standing_by import StandingBy
from hermes_desktop.agent.thinking import CHOSEN_KEYS, with_thinking
from hermes_desktop.agent.tools.asking.approval_queue import ApprovalQueue
from hermes_desktop.agent.tools.asking.question_queue import QuestionQueue
from hermes_desktop.agent.tools.processes.process_table import ProcessTable
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import NotConfiguredError
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.turns.agents import AgentRequest
from hermes_desktop.services.agents.agent_care import AgentCare, CareSettings
from hermes_desktop.services.agents.agent_tools import AgentTools, work_place
from hermes_desktop.services.secrets.secret_access import learn_secrets
from hermes_desktop.settings.config_file import Lookup, read_config
from hermes_desktop.settings.env_file import first_set, read_env_file
from hermes_desktop.settings.last_good import LastGoodConfig
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.session_prompts import SessionPrompts
from hermes_desktop.state.shared_tables.own_store import OwnStore


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What the settings say about answering: by which model, and how patiently.

    Attributes:
        choice: Who answers.
        standing_by: Who does if that one does not, in this order.
        instead_of: Why the chosen model is not asked and another one is, as a sentence; "".
    """

    choice: ModelChoice
    config: AgentConfig = field(default_factory=AgentConfig)
    care: CareSettings = field(default_factory=CareSettings)
    standing_by: tuple[ModelChoice, ...] = ()
    instead_of: str = ""

    def fingerprint(self) -> str:
        """A few characters that change with any of it, the key included, and show none of it."""
        choices = [astuple(each) for each in (self.choice, *self.standing_by)]
        parts = (*choices, astuple(self.config), astuple(self.care), self.instead_of)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


class AgentBuilder:
    """Reads the settings afresh for each agent, so that a changed model counts at once.

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
        self._config = LastGoodConfig(paths.config_yaml, clock)
        self._tools = None if offline else tools
        self._tls = SharedTls(clock, environ)
        self._dialects = DialectBook()
        self.prompts = SessionPrompts(db, OwnStore(paths.own_store))
        windows = WindowBook(probe_context)
        self._care = AgentCare(db, self.prompts, clock, windows, self._side_provider)

    @property
    def approvals(self) -> ApprovalQueue | None:
        """Where questions to a person wait; None: agents have no tools."""
        return self._tools.queue if self._tools is not None else None

    @property
    def questions(self) -> QuestionQueue | None:
        """Where the assistant's questions wait; None: it asks none."""
        return self._tools.questions if self._tools is not None else None

    @property
    def rooms(self) -> tuple[ApprovalQueue | QuestionQueue, ...]:
        """Where turns wait for a person."""
        return () if self._tools is None else (self._tools.queue, self._tools.questions)

    @property
    def processes(self) -> ProcessTable | None:
        """What runs in the background; None: agents have no tools."""
        return self._tools.processes if self._tools is not None else None

    def remember_config(self) -> None:
        """Read config.yaml, which counts from then on while somebody breaks it. Blocking.

        Raises:
            ConfigError: It cannot be understood.
        """
        self._config.read()
        if self._tools is not None:
            self._tools.facts()

    def choose_model(self, chosen: Mapping[str, str] = MappingProxyType({})) -> ModelChoice:
        """Name the model that a new turn would use.

        Args:
            chosen: What was chosen for one conversation; see :func:`with_chosen_model`.

        Raises:
            NotConfiguredError: No model is set; the hint says what to set.
            ConfigError: config.yaml cannot be understood.
        """
        return self._settings(chosen).choice

    def room(self) -> tuple[int | None, int | None]:
        """How much the model can be told, and from where on a session is shortened.

        Nobody is asked for it. None: nobody knows; sessions are not shortened.

        Raises:
            NotConfiguredError: No model is set.
            ConfigError: config.yaml cannot be understood.
        """
        settings = self._settings()
        window = self._care.windows.window(settings.choice, ask=False)
        shortens = settings.care.compression
        limit = shortens.threshold_tokens(window, settings.choice.max_tokens)
        known = window.tokens if window.certain else None
        return known, limit if shortens.enabled else None

    def fingerprint(self) -> str:
        """What an agent would be made from now; another one means that a kept agent is too old.

        Raises:
            NotConfiguredError: No model is set.
            ConfigError: config.yaml cannot be understood.
        """
        facts = self._tools.facts() if self._tools is not None else ""
        return self._settings().fingerprint() + hashlib.sha256(facts.encode()).hexdigest()[:8]

    def build(self, request: AgentRequest) -> AIAgent:
        """Make the agent for one conversation.

        Raises:
            ProviderError: No model is set, or its settings make no sense.
            ConfigError: config.yaml cannot be understood.
        """
        settings = self._settings(request.model_override)
        provider = self._provider(settings)
        tools = self._tools.build(request) if self._tools is not None else None
        return AIAgent(
            provider=provider,
            store=self._db,
            prompts=self.prompts,
            room=self._care.room(settings.care, provider),
            titles=self._care.titles(settings.care, settings.choice),
            session_id=request.session_id,
            source=request.source,
            clock=self._clock,
            soul_path=self._paths.home / "SOUL.md",
            tools=tools,
            max_turns=settings.config.max_turns,
            session_fields={
                "profile_name": self._paths.profile_column,
                **request.session_fields,
                **work_place(request, tools),
            },
        )

    def context_care(self, chosen: Mapping[str, str] = MappingProxyType({})) -> ContextCare:
        """What shortens conversations by hand, with the model that would answer.

        Args:
            chosen: What was chosen for the conversation.

        Raises:
            ProviderError: No model is set, or its settings make no sense.
            ConfigError: config.yaml cannot be understood.
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
        if not settings.standing_by and not settings.instead_of:
            return self._asking(settings.choice, retries)
        # With others at hand nobody waits long for one.
        brief = replace(retries, count=min(retries.count, 1), longest_asked_s=5.0)
        *first, last = (settings.choice, *settings.standing_by)
        asked = [*(self._asking(each, brief) for each in first), self._asking(last, retries)]
        return StandingBy(asked, self._clock, settings.instead_of)

    def _asking(self, choice: ModelChoice, retries: Retries) -> OpenAICompatibleProvider:
        return OpenAICompatibleProvider(
            choice,
            retries=retries,
            redactor=self._redactor,
            tls=self._tls,
            dialects=self._dialects,
            clock=self._clock,
        )


def read_agent_settings(
    paths: HermesPaths,
    environ: Mapping[str, str],
    redactor: SecretRedactor,
    chosen: Mapping[str, str] = MappingProxyType({}),
    config: Mapping[str, Any] | None = None,
) -> AgentSettings:
    """Read which model answers, and how patiently. Blocking; creates nothing.

    Args:
        paths: The home.
        environ: The process environment, with the keyring behind it where that is wanted.
        redactor: Learns the key, and whatever the keyring holds.
        chosen: What was chosen for one conversation.
        config: config.yaml as read; None: it is read here.

    Raises:
        NotConfiguredError: No model is set, and none stands by; the hint says what to set.
        ConfigError: config.yaml cannot be understood.
    """
    data = read_config(paths.config_yaml).data if config is None else config
    lookup = first_set(environ, read_env_file(paths.env_file))
    learn_secrets(environ, redactor)
    choice, standing_by, instead_of = _who_answers(data, chosen, lookup)
    care = CareSettings.read(data, lookup)
    for key in (choice.api_key, *care.keys(), *(each.api_key for each in standing_by)):
        redactor.learn(key)
    return AgentSettings(choice, AgentConfig.from_mapping(data), care, standing_by, instead_of)


def _who_answers(
    data: Mapping[str, Any], chosen: Mapping[str, str], lookup: Lookup
) -> tuple[ModelChoice, tuple[ModelChoice, ...], str]:
    """The model, those that stand by, and why it is not the chosen one."""
    standing_by = resolve_fallbacks(data, lookup)
    try:
        choice = with_thinking(resolve_chosen(data, chosen, lookup), chosen)
    except NotConfiguredError as error:
        # What a person chose for this conversation is not replaced: they are told.
        if set(chosen) - CHOSEN_KEYS or not standing_by:
            raise
        return standing_by[0], standing_by[1:], error.title
    own = (choice.model, choice.base_url)
    return choice, tuple(e for e in standing_by if (e.model, e.base_url) != own), ""
