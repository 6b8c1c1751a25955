"""The amount of thinking and the speed of a model: chosen for a conversation, sent in requests."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from hermes_desktop.agent.types import ModelChoice

EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh")
EFFORT, TIER = "reasoning_effort", "service_tier"
CHOSEN_KEYS: Final = frozenset({EFFORT, TIER})
_FAST: Final = "priority"
_STORED, _STORED_TIER = "reasoning_config", "service_tier"


def with_thinking(choice: ModelChoice, chosen: Mapping[str, str]) -> ModelChoice:
    """Return a model with the choices made for one conversation."""
    effort = chosen.get(EFFORT, "")
    tier = _FAST if chosen.get(TIER) == "fast" and knows_tiers(choice) else ""
    return replace(
        choice,
        reasoning_effort=effort if effort in EFFORTS else choice.reasoning_effort,
        service_tier=tier,
    )


def knows_tiers(choice: ModelChoice) -> bool:
    """Return whether a provider offers faster answers for more money."""
    return choice.provider == "openai"


def wire_fields(choice: ModelChoice) -> dict[str, Any]:
    """Return the request fields in the provider's form; none if it is left to the model."""
    effort = choice.reasoning_effort
    if not effort:
        return {}
    if choice.provider == "openrouter":
        told = {"enabled": False} if effort == "none" else {"effort": effort}
        return {"reasoning": told}
    return {"reasoning_effort": effort}


def stored(config: Mapping[str, Any], chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return a session's ``model_config`` with these choices, in the format of ``hermes``."""
    changed = dict(config)
    effort = chosen.get(EFFORT)
    if effort in EFFORTS:
        off = effort == "none"
        changed[_STORED] = {"enabled": False} if off else {"enabled": True, "effort": effort}
    elif changed.get(_STORED) is not None:
        changed[_STORED] = None
    if chosen.get(TIER) == "fast":
        changed[_STORED_TIER] = _FAST
    else:
        changed.pop(_STORED_TIER, None)
    return changed


def config_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``model_config`` of a session's row; empty if it is invalid."""
    config = row.get("model_config")
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except (ValueError, RecursionError):
            return {}
    return dict(config) if isinstance(config, Mapping) else {}


def chosen_of(config: Any) -> dict[str, str]:
    """Return the choices in a session's ``model_config``; empty if it is invalid."""
    if not isinstance(config, Mapping):
        return {}
    found: dict[str, str] = {}
    kept = config.get(_STORED)
    if isinstance(kept, Mapping):
        effort = "none" if kept.get("enabled") is False else kept.get("effort")
        if effort in EFFORTS:
            found[EFFORT] = str(effort)
    if config.get(_STORED_TIER) == _FAST:
        found[TIER] = "fast"
    return found
