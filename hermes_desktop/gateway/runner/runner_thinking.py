"""How the models of chats think, and what is shown of it; kept in the conversations' rows."""

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from hermes_desktop.agent.thinking import chosen_of, config_of, stored
from hermes_desktop.agent.types import AgentResult
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.runner.runner_agents import RunnerAgents
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome, with_words_before

_MOST_SHOWN = 1500


class RunnerThinking(RunnerAgents):
    """What was chosen stands in ``model_config``, as ``hermes`` keeps it; before the row, here."""

    @cached_property
    def _shown_thinking(self) -> dict[str, bool]:
        """By session key: whether the chat sees what the model thinks."""
        return {}

    def chosen_thinking(self, session_key: str) -> dict[str, str]:
        """What was chosen for the present conversation of a chat. Blocking.

        Raises:
            StateError: state.db cannot be read.
        """
        return self._thinking_of(self.session_store.peek_session_id(session_key), session_key)

    def choose_thinking(self, session_key: str, name: str, value: str) -> None:
        """Choose one thing; "" takes the choice back. Blocking.

        Raises:
            StateError: It cannot be kept.
        """
        session_id = self.session_store.peek_session_id(session_key)
        chosen = {**self._thinking_of(session_id, session_key), name: value}
        self._session_reasoning_overrides[session_key] = {k: v for k, v in chosen.items() if v}
        self._thinking_of(session_id, session_key)

    def shows_thinking(self, session_key: str) -> bool:
        """Whether a chat sees what the model thinks."""
        return self._shown_thinking.get(session_key, self.config.running.show_reasoning)

    def show_thinking(self, session_key: str, *, shown: bool) -> None:
        """Let a chat see it from now on, or not."""
        self._shown_thinking[session_key] = shown

    def _thinking_of(self, session_id: str | None, session_key: str) -> dict[str, str]:
        """What was chosen: before the row was there, by memory, which then goes into it."""
        row = self._row_of(session_id)
        chosen = self._session_reasoning_overrides.get(session_key)
        if row is None or self._session_db is None:
            return dict(chosen or {})
        if chosen is None:
            return chosen_of(config_of(row))
        config = json.dumps(stored(config_of(row), chosen))
        self._session_db._db.update_session_meta(str(row["id"]), config)  # noqa: SLF001 - blocking
        self._session_reasoning_overrides.pop(session_key, None)
        return dict(chosen)

    def _row_of(self, session_id: str | None) -> Mapping[str, Any] | None:
        if session_id is None or self._session_db is None:
            return None
        return self._session_db._db.get_session(session_id)  # noqa: SLF001 - the blocking face

    def _first_config(self, session_key: str) -> dict[str, Any]:
        """The columns in which a conversation that begins keeps what was chosen before."""
        chosen = self._session_reasoning_overrides.get(session_key)
        return {"model_config": stored({}, chosen)} if chosen else {}

    def _with_thinking(
        self, session_key: str, platform: Platform, result: AgentResult, outcome: TurnOutcome
    ) -> TurnOutcome:
        """The reply with what the model thought above it, where its chat wants to see that."""
        thought = " ".join((result.get("last_reasoning") or "").split())
        shown = platform is not Platform.DESKTOP and self.shows_thinking(session_key)
        if not shown or not thought or not outcome.delivery:
            return outcome
        if len(thought) > _MOST_SHOWN:
            thought = thought[:_MOST_SHOWN].rstrip() + " …"
        return with_words_before(outcome, f"💭 {thought}")
