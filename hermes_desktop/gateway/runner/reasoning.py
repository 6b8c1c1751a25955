"""Reasoning settings of chats and the display of reasoning; stored in the session rows."""

import json
from collections.abc import Mapping
from typing import Any

from hermes_desktop.agent.thinking import chosen_of, config_of, stored
from hermes_desktop.agent.types import AgentResult
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.runner.chats import Chats
from hermes_desktop.gateway.runner.state import RunnerState
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome, with_prefix

_MOST_SHOWN = 1500


class ReasoningChoices:
    """Reasoning settings, in ``model_config`` as in ``hermes``; in memory until the row exists."""

    def __init__(self, state: RunnerState, chats: Chats) -> None:
        self._state = state
        self._chats = chats

    def chosen(self, session_key: str) -> dict[str, str]:
        """Return the reasoning settings of a chat's current session. Blocking.

        Raises:
            StateError: state.db cannot be read.
        """
        return self.settings_of(self._state.session_store.peek_session_id(session_key), session_key)

    def choose(self, session_key: str, name: str, value: str) -> None:
        """Choose one setting; "" resets it. Blocking.

        Raises:
            StateError: It cannot be stored.
        """
        session_id = self._state.session_store.peek_session_id(session_key)
        chosen = {**self.settings_of(session_id, session_key), name: value}
        self._chats[session_key].reasoning_override = {k: v for k, v in chosen.items() if v}
        self.settings_of(session_id, session_key)

    def is_shown(self, session_key: str) -> bool:
        """Return whether a chat sees the model's reasoning."""
        shown = self._chats.peek(session_key).shows_reasoning
        return self._state.config.running.show_reasoning if shown is None else shown

    def show(self, session_key: str, *, shown: bool) -> None:
        """Show or hide the model's reasoning in a chat from now on."""
        self._chats[session_key].shows_reasoning = shown

    def settings_of(self, session_id: str | None, session_key: str) -> dict[str, str]:
        """Return the settings; those made before the row existed are moved from memory into it."""
        row = self._row_of(session_id)
        chosen = self._chats.peek(session_key).reasoning_override
        if row is None or self._state.session_db is None:
            return dict(chosen or {})
        if chosen is None:
            return chosen_of(config_of(row))
        config = json.dumps(stored(config_of(row), chosen))
        self._state.database().update_session_meta(str(row["id"]), config)
        self._chats[session_key].reasoning_override = None
        return dict(chosen)

    def _row_of(self, session_id: str | None) -> Mapping[str, Any] | None:
        if session_id is None or self._state.session_db is None:
            return None
        return self._state.database().get_session(session_id)

    def first_config(self, session_key: str) -> dict[str, Any]:
        """Return the columns in which a new session stores what was chosen before it existed."""
        chosen = self._chats.peek(session_key).reasoning_override
        return {"model_config": stored({}, chosen)} if chosen else {}

    def with_reasoning(
        self, session_key: str, platform: Platform, result: AgentResult, outcome: TurnOutcome
    ) -> TurnOutcome:
        """Prepend the model's reasoning to the reply, where its chat shows it."""
        thought = " ".join((result.get("last_reasoning") or "").split())
        shown = platform is not Platform.DESKTOP and self.is_shown(session_key)
        if not shown or not thought or not outcome.delivery:
            return outcome
        if len(thought) > _MOST_SHOWN:
            thought = thought[:_MOST_SHOWN].rstrip() + " …"
        return with_prefix(outcome, f"💭 {thought}")
