"""Reasoning settings of chats and the display of reasoning; stored in the session rows."""

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from hermes_desktop.agent.thinking import chosen_of, config_of, stored
from hermes_desktop.agent.types import AgentResult
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.runner.runner_agents import RunnerAgents
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome, with_prefix

_MOST_SHOWN = 1500


class RunnerThinking(RunnerAgents):
    """Reasoning settings, in ``model_config`` as in ``hermes``; in memory until the row exists."""

    @cached_property
    def _shown_thinking(self) -> dict[str, bool]:
        """By session key: whether the chat sees the model's reasoning."""
        return {}

    def chosen_thinking(self, session_key: str) -> dict[str, str]:
        """Return the reasoning settings of a chat's current session. Blocking.

        Raises:
            StateError: state.db cannot be read.
        """
        return self._thinking_of(self.session_store.peek_session_id(session_key), session_key)

    def choose_thinking(self, session_key: str, name: str, value: str) -> None:
        """Choose one setting; "" resets it. Blocking.

        Raises:
            StateError: It cannot be stored.
        """
        session_id = self.session_store.peek_session_id(session_key)
        chosen = {**self._thinking_of(session_id, session_key), name: value}
        self._session_reasoning_overrides[session_key] = {k: v for k, v in chosen.items() if v}
        self._thinking_of(session_id, session_key)

    def shows_thinking(self, session_key: str) -> bool:
        """Return whether a chat sees the model's reasoning."""
        return self._shown_thinking.get(session_key, self.config.running.show_reasoning)

    def show_thinking(self, session_key: str, *, shown: bool) -> None:
        """Show or hide the model's reasoning in a chat from now on."""
        self._shown_thinking[session_key] = shown

    def _thinking_of(self, session_id: str | None, session_key: str) -> dict[str, str]:
        """Return the settings; those made before the row existed are moved from memory into it."""
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
        """Return the columns in which a new session stores what was chosen before it existed."""
        chosen = self._session_reasoning_overrides.get(session_key)
        return {"model_config": stored({}, chosen)} if chosen else {}

    def _with_thinking(
        self, session_key: str, platform: Platform, result: AgentResult, outcome: TurnOutcome
    ) -> TurnOutcome:
        """Prepend the model's reasoning to the reply, where its chat shows it."""
        thought = " ".join((result.get("last_reasoning") or "").split())
        shown = platform is not Platform.DESKTOP and self.shows_thinking(session_key)
        if not shown or not thought or not outcome.delivery:
            return outcome
        if len(thought) > _MOST_SHOWN:
            thought = thought[:_MOST_SHOWN].rstrip() + " …"
        return with_prefix(outcome, f"💭 {thought}")
