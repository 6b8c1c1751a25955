"""Auxiliary services of an agent: compaction of conversations, and session titles."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_desktop.agent.compression.compression_settings import CompressionSettings
from hermes_desktop.agent.compression.compression_turn import ContextLimiter
from hermes_desktop.agent.compression.context_compression import Compactor
from hermes_desktop.agent.context_length import ContextWindows
from hermes_desktop.agent.models.auxiliary_models import auxiliary_choice
from hermes_desktop.agent.providers.base import ChatProvider
from hermes_desktop.agent.session_titles import TASK, TitleSettings, TitleWriter
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.clock import Clock
from hermes_desktop.settings.config_file import Lookup
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.session_prompts import SessionPrompts


@dataclass(frozen=True, slots=True)
class AuxiliarySettings:
    """The settings of the auxiliary services.

    Attributes:
        summaries: The model that writes summaries; None: the model that answers.
        names: The model that writes titles; None: the model that answers.
    """

    compression: CompressionSettings = field(default_factory=CompressionSettings)
    titles: TitleSettings = field(default_factory=TitleSettings)
    summaries: ModelChoice | None = None
    names: ModelChoice | None = None

    @classmethod
    def read(cls, config: Mapping[str, Any], lookup: Lookup) -> "AuxiliarySettings":
        """Read the settings; invalid values are logged and count as not set."""
        return cls(
            CompressionSettings.from_mapping(config),
            TitleSettings.from_mapping(config),
            auxiliary_choice(config, lookup, "compression"),
            auxiliary_choice(config, lookup, TASK),
        )

    def keys(self) -> tuple[str | None, ...]:
        """Return the API keys in it, for the log redactor."""
        return tuple(each.api_key for each in (self.summaries, self.names) if each is not None)


@dataclass(frozen=True, slots=True)
class AuxiliaryServices:
    """Factory for the auxiliary services of one program's agents.

    Attributes:
        prompts: The system prompts of sessions.
        provider: Creates the provider for a model.
    """

    db: SessionDB
    prompts: SessionPrompts
    clock: Clock
    windows: ContextWindows
    provider: Callable[[ModelChoice], ChatProvider]

    def context(self, settings: AuxiliarySettings, answering: ChatProvider) -> Compactor:
        """Return the compaction service for the conversations of one model."""
        summaries = settings.summaries
        return Compactor(
            store=self.db,
            prompts=self.prompts,
            provider=answering,
            windows=self.windows,
            settings=settings.compression,
            clock=self.clock,
            auxiliary=self.provider(summaries) if summaries is not None else None,
        )

    def room(self, settings: AuxiliarySettings, answering: ChatProvider) -> ContextLimiter:
        """Return the compaction for the turns of one agent."""
        return ContextLimiter(self.context(settings, answering), self.db)

    def titles(self, settings: AuxiliarySettings, choice: ModelChoice) -> TitleWriter | None:
        """Return the title writer of one agent; None for scripted answers or disabled titles."""
        if choice.kind == "offline" or not settings.titles.enabled:
            return None
        asked = settings.names or choice
        return TitleWriter(self.db, lambda: self.provider(asked), settings.titles)
