"""Resolution of config.yaml and the environment into one model choice.

A key is sent only to the address it belongs to: a key next to the address in config.yaml, or the
variable of the provider at that very host. ``OPENAI_API_KEY`` is never sent elsewhere just because
no other key was found.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hermes_desktop.agent.known_endpoints import (
    KNOWN,
    OTHER_PROTOCOL,
    KnownEndpoint,
    endpoint_at,
    known_endpoint,
)
from hermes_desktop.agent.models.model_addresses import clean_address, key_for, key_of
from hermes_desktop.agent.models.model_entries import (
    Named,
    Reader,
    model_section,
    normalized_provider,
    own_endpoint,
    section,
    with_timeouts,
)
from hermes_desktop.agent.providers.base import Retries
from hermes_desktop.agent.thinking import EFFORTS
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.errors import ConfigError, HermesError, NotConfiguredError
from hermes_desktop.settings.config_file import Lookup
from hermes_desktop.settings.options import setting

log = logging.getLogger(__name__)

_OF_THE_ADDRESS = ("ca_bundle", "ssl_ca_cert", "ssl_verify", "verify_ssl", "tls_verify")

_WHAT_TO_SET = (
    "Choose a model in the window (Settings, Assistant), or run `hermes-desktop config set "
    "model.default NAME model.base_url ADDRESS`. For OpenRouter, set model.default and run "
    "`hermes-desktop secrets set OPENROUTER_API_KEY`. `hermes-desktop models local` finds "
    "servers on this machine. These settings are stored in config.yaml."
)
_RETRIES, _MOST_RETRIES = 3, 20
_TURNS, _MOST_TURNS = 90, 1000
_OURS = frozenset({"", "auto", "chat_completions"})
_NOBODY = frozenset({"", "auto", "custom", "main"})


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """Settings of the agent itself.

    Attributes:
        api_max_retries: How often a failed call is retried before the user is notified.
        max_turns: How often the model is called in one turn.
    """

    api_max_retries: int = setting(
        "agent.api_max_retries",
        _RETRIES,
        title="Retries",
        help="How often a failed model call is retried before you see the error.",
        section="Model",
        minimum=0,
        maximum=_MOST_RETRIES,
    )
    max_turns: int = _TURNS

    @classmethod
    def from_mapping(
        cls, config: Mapping[str, Any], lookup: Lookup = lambda _: None
    ) -> "AgentConfig":
        """Read ``agent.*``, and a variable where the file says nothing.

        Raises:
            ConfigError: A value is invalid.
        """
        own = section(config, "agent")
        return cls(
            api_max_retries=_whole(own, "api_max_retries", _RETRIES, 0, _MOST_RETRIES),
            max_turns=_whole(own, "max_turns", _usual_turns(lookup), 1, _MOST_TURNS),
        )

    def retries(self) -> Retries:
        """Return the retry settings in the form a provider expects."""
        return Retries(count=self.api_max_retries)


def resolve_model(config: Mapping[str, Any], lookup: Lookup) -> ModelChoice:
    """Determine the model, its address and its key. Reads only its arguments.

    Args:
        config: The decoded config.yaml.
        lookup: Returns the value of a variable, from the environment and ``.env``.

    Raises:
        NotConfiguredError: No model is set, or it is not supported; the hint says what to set.
        ConfigError: A setting cannot be understood, or names a variable that is not set.
    """
    return _resolved(config, model_section(config, lookup), lookup)


def resolve_chosen(
    config: Mapping[str, Any], chosen: Mapping[str, str], lookup: Lookup
) -> ModelChoice:
    """Resolve the model chosen for one conversation; errors refer to that choice.

    Args:
        config: The decoded config.yaml.
        chosen: As for :func:`with_chosen_model`.
        lookup: Returns the value of a variable.

    Raises:
        NotConfiguredError: It is not supported.
        ConfigError: It, or a setting, cannot be understood.
    """
    apart = _with_provider_apart({name: value for name, value in chosen.items() if value})
    changed = with_chosen_model(config, apart)
    named = replace(model_section(changed, lookup), chosen=frozenset(apart))
    return _resolved(changed, named, lookup)


def _resolved(config: Mapping[str, Any], named: Named, lookup: Lookup) -> ModelChoice:
    named = _filled_in(config, named, lookup)
    if named.api_mode not in _OURS:
        raise _other_protocol(f"api_mode {named.api_mode}", named)
    choice = _checked(with_timeouts(config, named), lookup)
    return replace(choice, reasoning_effort=_effort(config))


def resolve_fallbacks(config: Mapping[str, Any], lookup: Lookup) -> tuple[ModelChoice, ...]:
    """Return the fallback models, in the order in which they are tried.

    ``fallback_providers`` first, then the older ``fallback_model``. Unusable entries are logged and
    skipped.

    Args:
        config: The decoded config.yaml.
        lookup: Returns the value of a variable.
    """
    listed = config.get("fallback_providers")
    entries = [*listed] if isinstance(listed, list) else [listed]
    found: list[ModelChoice] = []
    for number, entry in enumerate([*entries, config.get("fallback_model")]):
        if not isinstance(entry, Mapping):
            continue
        try:
            choice = _fallback(config, entry, f"fallback_providers[{number}]", lookup)
        except HermesError as error:
            log.warning("A fallback is not used: %s %s", error.title, error.detail)
            continue
        if choice not in found:
            found.append(choice)
    return tuple(found)


def with_chosen_model(config: Mapping[str, Any], chosen: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the settings with the model that was chosen for one conversation.

    Args:
        config: The decoded config.yaml.
        chosen: ``model``, ``provider`` and ``base_url``, as far as they were chosen. Address and
            key of the settings are not used for another provider or address.

    Raises:
        ConfigError: The model section cannot be understood.
    """
    chosen = _with_provider_apart({name: value for name, value in chosen.items() if value})
    if not chosen:
        return config
    raw = config.get("model")
    own = {"default": raw} if isinstance(raw, str) else dict(section(config, "model"))
    if "provider" in chosen or "base_url" in chosen:
        for name in ("provider", "base_url", "api_key", "api", "key_env", "api_key_env"):
            own.pop(name, None)
        for name in ("api_mode", "context_length", "max_tokens", *_OF_THE_ADDRESS):
            own.pop(name, None)
        config = {k: v for k, v in config.items() if k not in {"provider", "base_url"}}
    if "model" in chosen:
        for name in ("model", "name", "context_length"):
            own.pop(name, None)
        own["default"] = chosen["model"]
    own |= {name: chosen[name] for name in ("provider", "base_url") if name in chosen}
    return {**config, "model": own}


def _with_provider_apart(chosen: dict[str, str]) -> dict[str, str]:
    """Split off a provider: ``openrouter:vendor/name`` names one; ``qwen3:8b`` does not."""
    start, sign, rest = chosen.get("model", "").partition(":")
    if sign and rest and "provider" not in chosen and normalized_provider(start) in KNOWN:
        return {**chosen, "provider": normalized_provider(start), "model": rest}
    return chosen


def _fallback(
    config: Mapping[str, Any], entry: Mapping[str, Any], where: str, lookup: Lookup
) -> ModelChoice:
    reader = Reader(entry, where, lookup)
    chosen = {name: reader.text(name) for name in ("model", "provider", "base_url")}
    if not chosen["model"]:
        raise ConfigError("A fallback has no model.", f"config.yaml, {where}.", "Add a model.")
    if not chosen["provider"] and chosen["base_url"]:
        chosen["provider"] = "custom"
    wanted = dict(with_chosen_model(config, chosen))
    key = reader.key() or reader.text("api_key", "api")
    if key:
        wanted["model"] = {**wanted["model"], "api_key": key}
    return replace(resolve_model(wanted, lookup), origin=f"config.yaml, {where}")


def _filled_in(config: Mapping[str, Any], named: Named, lookup: Lookup) -> Named:
    """Fill in the address and the key of the chosen provider."""
    name = normalized_provider(named.provider)
    entry = own_endpoint(config, named, lookup)
    if entry is not None:
        return named.at(entry)
    known = known_endpoint(name)
    if known is not None:
        return _with_known(named, known, lookup)
    if name in OTHER_PROTOCOL:
        raise _other_protocol(f"the provider {name}", named)
    if name not in _NOBODY:
        said = "" if "provider" in named.chosen else f"{named.origin}.provider names it. "
        raise NotConfiguredError(
            f"The provider “{named.provider}” is unknown.",
            f"{said}There is no entry with this name under custom_providers.",
            f"Use one of {', '.join(sorted(KNOWN))}, or custom with an address.",
        )
    return named if named.base_url else _from_environment(named, lookup)


def _with_known(named: Named, known: KnownEndpoint, lookup: Lookup) -> Named:
    base_url = named.base_url
    own_key = ""
    if not base_url:
        moved = (lookup(known.address_variable) or "").strip()
        base_url = moved or known.base_url
        # Moving the provider by its variable implies that its key is to be used there.
        own_key = key_of(known, lookup) if moved else ""
    key = named.api_key or own_key or key_for(base_url, lookup)
    if known.key_variable and not key and not named.base_url:
        raise NotConfiguredError(
            f"There is no key for {known.name}.",
            f"{named.place('provider')} is {known.name}; {known.key_variable} is not set.",
            _key_hint(known.key_variable),
        )
    return replace(named, provider=known.name, base_url=base_url, api_key=key)


def _from_environment(named: Named, lookup: Lookup) -> Named:
    """Use an address from the environment, or the provider whose key is set."""
    base_url = (lookup("OPENAI_BASE_URL") or "").strip()
    if base_url:
        key = named.api_key or (lookup("OPENAI_API_KEY") or "").strip()
        return replace(named, base_url=base_url, api_key=key, provider="custom")
    base_url = (lookup("CUSTOM_BASE_URL") or "").strip()
    if base_url:
        return replace(named, base_url=base_url, provider="custom")
    if not named.model:
        raise NotConfiguredError(
            "No model is set.", "config.yaml names none under model.", _WHAT_TO_SET
        )
    with_key = [known for known in KNOWN.values() if key_of(known, lookup)]
    # A name such as "vendor/model" belongs to a router; OpenAI itself does not know it.
    if "/" in named.model:
        with_key = [known for known in with_key if known.name != "openai"]
    first = next((k for k in with_key if k.name in {"openrouter", "openai"}), None)
    if first is None and len(with_key) == 1:
        first = with_key[0]
    if first is not None:
        return _with_known(named, first, lookup)
    if with_key:
        names = ", ".join(known.name for known in with_key)
        raise NotConfiguredError(
            f"The provider for “{named.model}” is not clear.",
            f"There are keys for {names}.",
            "Choose one of them: `hermes-desktop config set model.provider NAME`, or in the "
            "window (Settings, Assistant).",
        )
    raise NotConfiguredError(
        f"No provider is set for “{named.model}”.",
        "There is no address (model.base_url) and no key (OPENROUTER_API_KEY).",
        _WHAT_TO_SET,
    )


def _checked(named: Named, lookup: Lookup) -> ModelChoice:
    if not named.model:
        raise NotConfiguredError(
            "No model is set.",
            _without_model(named),
            "Choose a model that is offered there; `hermes-desktop config set model.default "
            "NAME` sets the default model.",
        )
    base_url = clean_address(named.base_url, named.place("base_url"))
    known = endpoint_at(base_url)
    provider = normalized_provider(named.provider)
    if provider in _NOBODY:
        provider = known.name if known else "custom"
    key = named.api_key or key_for(base_url, lookup)
    if not key and named.missing_variable:
        raise NotConfiguredError(
            f"There is no key for {provider}.",
            f"{named.origin} names {named.missing_variable}, which is not set.",
            f"{_key_hint(named.missing_variable)} If no key is needed, remove the name there.",
        )
    return ModelChoice(
        model=named.model,
        base_url=base_url,
        api_key=key or None,
        provider=provider,
        origin=named.origin,
        context_length=named.context_length,
        max_tokens=named.max_tokens,
        ca_bundle=named.ca_bundle,
        request_timeout_s=named.request_timeout_s,
        stale_timeout_s=named.stale_timeout_s,
        wants_no_check=named.wants_no_check,
    )


def _without_model(named: Named) -> str:
    if named.chosen:
        return "You chose an address or a provider, but no model."
    return f"{named.origin} contains an address but no model."


def _key_hint(variable: str) -> str:
    return (
        f"Run `hermes-desktop secrets set {variable}`, or enter it in the window (Settings, "
        "Privacy). You can also set it in the environment or in .env."
    )


def _other_protocol(what: str, named: Named) -> NotConfiguredError:
    known = known_endpoint(normalized_provider(named.provider)) or endpoint_at(named.base_url)
    if known is not None and known.key_variable:
        hint = (
            f"Remove api_mode from {named.origin}: {known.name} also answers at "
            f"{known.base_url} with {known.key_variable}. Or choose another model."
        )
    else:
        hint = (
            "Choose a model at an OpenAI-compatible endpoint, such as provider: openrouter, or "
            "for one session /model <name> --provider <name>."
        )
    return NotConfiguredError(
        "This model is not supported here yet.",
        f"{what} does not use OpenAI's chat completions.",
        hint,
    )


def _effort(config: Mapping[str, Any]) -> str:
    value = section(config, "agent").get("reasoning_effort")
    if value is False:  # as YAML reads `off`; `hermes` treats it as none, too
        return "none"
    return value if isinstance(value, str) and value in EFFORTS else ""


def _usual_turns(lookup: Lookup) -> int:
    """Return how often the model is called in one turn where the file does not say it."""
    text = (lookup("HERMES_MAX_ITERATIONS") or "").strip()
    count = int(text) if text.isdecimal() and len(text) <= len(str(_MOST_TURNS)) else 0
    return count if 1 <= count <= _MOST_TURNS else _TURNS


def _whole(values: Mapping[str, Any], name: str, usual: int, low: int, high: int) -> int:
    value = values.get(name, usual)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(
            "A setting of the agent is not valid.",
            f"agent.{name} is {value!r}.",
            f"Set a whole number from {low} to {high}, or remove it.",
        )
    return value
