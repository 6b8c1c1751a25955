"""Makes the agent of a session: which model, which provider, which fields its row begins with."""

import logging
from collections.abc import Callable, Mapping

from hermes_desktop.agent.agent import AIAgent
from hermes_desktop.agent.config import resolve_model
from hermes_desktop.agent.providers.base import ChatProvider
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.agents import AgentRequest
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.settings.env_file import read_env_file
from hermes_desktop.state import SessionDB

log = logging.getLogger(__name__)


class AgentBuilder:
    """Reads the settings afresh for each agent, so that a changed model counts at once.

    All methods block (files are read) and run on worker threads.
    """

    def __init__(  # noqa: PLR0913 - the one place where an agent's parts meet
        self,
        paths: HermesPaths,
        db: SessionDB,
        redactor: SecretRedactor,
        environ: Mapping[str, str],
        *,
        offline: bool,
        clock: Clock,
    ) -> None:
        self._paths = paths
        self._db = db
        self._redactor = redactor
        self._environ = environ
        self._offline = offline
        self._clock = clock

    def choose_model(self) -> ModelChoice:
        """Name the model that a new turn would use.

        Raises:
            NotConfiguredError: No model is set; the hint says what to set.
            ConfigError: config.yaml cannot be understood.
        """
        if self._offline:
            from hermes_desktop.agent.providers.offline import OFFLINE_CHOICE

            return OFFLINE_CHOICE
        return read_model_choice(self._paths, self._environ, self._redactor)

    def build(self, request: AgentRequest) -> AIAgent:
        """Make the agent for one conversation.

        Raises:
            ProviderError: No model is set, or its settings make no sense.
            ConfigError: config.yaml cannot be understood.
        """
        choice = self.choose_model()
        return AIAgent(
            provider=self._provider(choice),
            store=self._db,
            session_id=request.session_id,
            source=request.source,
            clock=self._clock,
            soul_path=self._paths.home / "SOUL.md",
            session_fields={
                "profile_name": self._paths.profile_column,
                **request.session_fields,
            },
        )

    def _provider(self, choice: ModelChoice) -> ChatProvider:
        if choice.kind == "offline":
            from hermes_desktop.agent.providers.offline import OfflineProvider

            return OfflineProvider(choice)
        from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider

        return OpenAICompatibleProvider(choice)


def read_model_choice(
    paths: HermesPaths, environ: Mapping[str, str], redactor: SecretRedactor
) -> ModelChoice:
    """Read from the settings which model answers. Blocking; creates nothing.

    Args:
        paths: The home.
        environ: The process environment.
        redactor: Learns the key.

    Raises:
        NotConfiguredError: No model is set; the hint says what to set.
        ConfigError: config.yaml cannot be understood.
    """
    document = read_config(paths.config_yaml)
    choice = resolve_model(document.data, _lookup(environ, read_env_file(paths.env_file)))
    redactor.learn(choice.api_key)
    return choice


def _lookup(*places: Mapping[str, str]) -> Callable[[str], str | None]:
    """Ask the process environment, then ``.env`` (the first that is not blank)."""

    def lookup(name: str) -> str | None:
        for place in places:
            value = place.get(name, "").strip()
            if value:
                return value
        return None

    return lookup
