"""The models for auxiliary tasks: summaries and titles of conversations."""

import logging
from collections.abc import Mapping
from typing import Any

from hermes_desktop.agent.models.config import resolve_model, with_chosen_model
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.errors import HermesError
from hermes_desktop.settings.config_file import Lookup, expand_env

log = logging.getLogger(__name__)

_NOBODY = frozenset({"", "auto", "main"})
_NAMES = ("model", "provider", "base_url", "api_key")


def task_section(config: Mapping[str, Any], task: str) -> Mapping[str, Any]:
    """Return the section ``auxiliary.<task>``; empty if it is invalid."""
    section = config.get("auxiliary")
    entry = section.get(task) if isinstance(section, Mapping) else None
    return entry if isinstance(entry, Mapping) else {}


def auxiliary_choice(config: Mapping[str, Any], lookup: Lookup, task: str) -> ModelChoice | None:
    """Return the model of ``auxiliary.<task>``; None: the model that answers does the task.

    Unusable settings are logged and ignored.
    """
    section = task_section(config, task)
    try:
        named = {name: _text(section.get(name), lookup, task, name) for name in _NAMES}
        if named["provider"].lower() in _NOBODY:
            named["provider"] = "custom" if named["base_url"] else ""
        chosen = {name: named[name] for name in _NAMES[:3] if named[name]}
        if not chosen:
            return None
        wanted = dict(with_chosen_model(config, chosen))
        if named["api_key"]:
            wanted["model"] = {**wanted["model"], "api_key": named["api_key"]}
        return resolve_model(wanted, lookup)
    except HermesError as error:
        log.warning("auxiliary.%s is not used: %s %s", task, error.title, error.detail)
        return None


def _text(value: Any, lookup: Lookup, task: str, name: str) -> str:
    if not isinstance(value, str):
        return ""
    return expand_env(value, lookup, f"config.yaml, auxiliary.{task}.{name}").strip()
