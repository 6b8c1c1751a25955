"""Which model answers: what config.yaml and the environment say, made into one choice.

A key goes only to the address it belongs to: one that stands beside the address in config.yaml,
or the variable of the provider at that very host. ``OPENAI_API_KEY`` is never sent elsewhere just
because no other key was found.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from hermes_desktop.agent.known_endpoints import (
    KNOWN,
    OTHER_PROTOCOL,
    KnownEndpoint,
    endpoint_at,
)
from hermes_desktop.agent.providers.base import Retries
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.errors import ConfigError, NotConfiguredError
from hermes_desktop.settings.config_file import Lookup, expand_env

_WHAT_TO_SET = (
    "Set model.default (a name) and model.base_url (the address of a server) in config.yaml. For "
    "OpenRouter, model.default in config.yaml and OPENROUTER_API_KEY in .env are enough."
)
_RETRIES, _MOST_RETRIES = 3, 20
_TURNS, _MOST_TURNS = 90, 1000


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """Settings of the agent itself.

    Attributes:
        api_max_retries: How often a failed call is made again before the person hears of it.
        max_turns: How often the model is asked in one turn.
    """

    api_max_retries: int = _RETRIES
    max_turns: int = _TURNS

    @classmethod
    def from_mapping(cls, config: Mapping[str, Any]) -> "AgentConfig":
        """Read ``agent.*``.

        Raises:
            ConfigError: A value makes no sense.
        """
        section = _section(config, "agent")
        count = section.get("api_max_retries", _RETRIES)
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= _MOST_RETRIES:
            raise ConfigError(
                "A setting of the agent makes no sense.",
                f"agent.api_max_retries is {count!r}.",
                f"Set a whole number from 0 to {_MOST_RETRIES}, or remove it.",
            )
        turns = section.get("max_turns", _TURNS)
        if isinstance(turns, bool) or not isinstance(turns, int) or not 1 <= turns <= _MOST_TURNS:
            raise ConfigError(
                "A setting of the agent makes no sense.",
                f"agent.max_turns is {turns!r}.",
                f"Set a whole number from 1 to {_MOST_TURNS}, or remove it.",
            )
        return cls(api_max_retries=count, max_turns=turns)

    def retries(self) -> Retries:
        """The same, as a provider wants it."""
        return Retries(count=self.api_max_retries)


@dataclass(frozen=True, slots=True)
class _Named:
    """What the settings say, before anything is filled in. Values are expanded."""

    model: str = ""
    provider: str = ""
    base_url: str = ""
    api_key: str = ""
    api_mode: str = ""
    origin: str = "config.yaml, model"
    context_length: int | None = None
    max_tokens: int | None = None


def resolve_model(config: Mapping[str, Any], lookup: Lookup) -> ModelChoice:
    """Find the model, its address and its key. Reads nothing but what it is given.

    Args:
        config: The decoded config.yaml.
        lookup: Value of a variable, from the environment and ``.env``.

    Raises:
        NotConfiguredError: No model is set, or it cannot be asked by us; the hint says what to set.
        ConfigError: A setting cannot be understood, or names a variable that is not set.
    """
    named = _from_model_section(config, lookup)
    name = _plain_name(named.provider)
    custom = _custom_endpoint(config, named.provider, lookup)
    if custom is not None:
        named = _merged(named, custom)
    elif name in KNOWN:
        named = _with_known(named, KNOWN[name], lookup)
    elif name in OTHER_PROTOCOL:
        raise _other_protocol(f"the provider {name}")
    elif name not in {"", "auto", "custom", "main"}:
        raise NotConfiguredError(
            f"The provider “{named.provider}” is not known.",
            f"{named.origin}.provider names it; there is no entry for it under custom_providers.",
            f"Use one of {', '.join(sorted(KNOWN))}, or set model.base_url and provider: custom.",
        )
    elif not named.base_url:
        named = _from_environment(named, lookup)
    if named.api_mode not in {"", "auto", "chat_completions"}:
        raise _other_protocol(f"api_mode {named.api_mode}")
    return _checked(named, lookup)


def with_chosen_model(config: Mapping[str, Any], chosen: Mapping[str, str]) -> Mapping[str, Any]:
    """The settings with the model that was chosen for one conversation.

    Args:
        config: The decoded config.yaml.
        chosen: ``model``, ``provider`` and ``base_url``, as far as they were chosen. Address and
            key of the settings do not go along to another provider or address.

    Raises:
        ConfigError: The model section cannot be understood.
    """
    chosen = {name: value for name, value in chosen.items() if value}
    if not chosen:
        return config
    raw = config.get("model")
    section = {"default": raw} if isinstance(raw, str) else dict(_section(config, "model"))
    if "provider" in chosen or "base_url" in chosen:
        for name in ("provider", "base_url", "api_key", "api", "api_mode", "context_length"):
            section.pop(name, None)
        config = {k: v for k, v in config.items() if k not in {"provider", "base_url"}}
    if "model" in chosen:
        for name in ("model", "name", "context_length"):
            section.pop(name, None)
        section["default"] = chosen["model"]
    section |= {name: chosen[name] for name in ("provider", "base_url") if name in chosen}
    return {**config, "model": section}


def _from_model_section(config: Mapping[str, Any], lookup: Lookup) -> _Named:
    raw = config.get("model")
    section: Mapping[str, Any] = (
        {"default": raw} if isinstance(raw, str) else _section(config, "model")
    )
    root = {
        key: config[key] for key in ("provider", "base_url") if isinstance(config.get(key), str)
    }
    reader = _Reader(
        {**root, **{k: v for k, v in section.items() if v is not None}}, "model", lookup
    )
    return _Named(
        model=reader.text("default", "model", "name"),
        provider=reader.text("provider") or (lookup("HERMES_INFERENCE_PROVIDER") or "").strip(),
        base_url=reader.text("base_url"),
        api_key=reader.text("api_key", "api"),
        api_mode=reader.text("api_mode"),
        context_length=reader.number("context_length"),
        max_tokens=reader.number("max_tokens"),
    )


def _custom_endpoint(config: Mapping[str, Any], provider: str, lookup: Lookup) -> _Named | None:
    """The entry of that name in ``custom_providers`` or ``providers``, if there is one."""
    wanted = _plain_name(provider)
    if not wanted:
        return None
    entries = config.get("custom_providers")
    for number, entry in enumerate(entries if isinstance(entries, list) else []):
        if isinstance(entry, Mapping) and _plain_name(str(entry.get("name", ""))) == wanted:
            return _from_entry(entry, f"custom_providers[{number}]", lookup)
    for name, entry in _section(config, "providers").items():
        # An entry of a known provider may only hold time-outs; then the provider's own rules hold.
        if isinstance(entry, Mapping) and _plain_name(str(name)) == wanted:
            if entry.get("enabled") is False:
                raise NotConfiguredError(
                    f"The provider “{name}” is switched off.",
                    f"config.yaml, providers.{name}.enabled is false.",
                    "Switch it on there, or choose another with model.provider.",
                )
            if any(entry.get(key) for key in ("base_url", "api", "url")):
                return _from_entry(entry, f"providers.{name}", lookup)
    return None


def _from_entry(entry: Mapping[str, Any], where: str, lookup: Lookup) -> _Named:
    reader = _Reader(entry, where, lookup)
    variable = reader.text("key_env")
    models = entry.get("models")
    names = [str(each) for each in models] if isinstance(models, list | Mapping) else []
    return _Named(
        model=reader.text("model", "default_model") or (names[0] if names else ""),
        provider=reader.text("name") or where.partition(".")[2],
        base_url=reader.text("base_url", "api", "url"),
        api_key=((lookup(variable) or "").strip() if variable else "") or reader.text("api_key"),
        api_mode=reader.text("api_mode", "transport"),
        origin=f"config.yaml, {where}",
        max_tokens=reader.number("max_output_tokens"),
    )


def _merged(named: _Named, custom: _Named) -> _Named:
    """An endpoint's entry, with the model that the model section names."""
    # Its key belongs to its address: another address beside it does not get it.
    own_address = not named.base_url or named.base_url.rstrip("/") == custom.base_url.rstrip("/")
    return replace(
        custom,
        model=named.model or custom.model,
        base_url=custom.base_url if own_address else named.base_url,
        api_key=named.api_key or (custom.api_key if own_address else ""),
        api_mode=named.api_mode or custom.api_mode,
        context_length=named.context_length,
        max_tokens=named.max_tokens or custom.max_tokens,
    )


def _with_known(named: _Named, known: KnownEndpoint, lookup: Lookup) -> _Named:
    base_url = named.base_url
    own_key = ""
    if not base_url:
        moved = (lookup(f"{known.name.upper()}_BASE_URL") or "").strip()
        base_url = moved or known.base_url
        # Whoever moved the provider by its variable means its key to go along.
        own_key = (lookup(known.key_variable) or "").strip() if moved and known.key_variable else ""
    key = named.api_key or own_key or key_for(base_url, lookup)
    if known.key_variable and not key and not named.base_url:
        raise NotConfiguredError(
            f"There is no key for {known.name}.",
            f"{named.origin}.provider is {known.name}; {known.key_variable} is not set.",
            f"Set {known.key_variable} in .env, or model.api_key in config.yaml.",
        )
    return replace(named, provider=known.name, base_url=base_url, api_key=key)


def _from_environment(named: _Named, lookup: Lookup) -> _Named:
    """No address is named: one from the environment, or the provider whose key is there."""
    base_url = (lookup("OPENAI_BASE_URL") or "").strip()
    if base_url:
        key = named.api_key or (lookup("OPENAI_API_KEY") or "").strip()
        return replace(named, base_url=base_url, api_key=key, provider="custom")
    if (lookup("OPENROUTER_API_KEY") or "").strip():
        return _with_known(named, KNOWN["openrouter"], lookup)
    # A name such as "vendor/model" is one of a router; OpenAI itself does not know it.
    if (lookup("OPENAI_API_KEY") or "").strip() and "/" not in named.model:
        return _with_known(named, KNOWN["openai"], lookup)
    if not named.model:
        raise NotConfiguredError(
            "No model is set.", "config.yaml names none under model.", _WHAT_TO_SET
        )
    raise NotConfiguredError(
        f"Nobody is named who answers for “{named.model}”.",
        "There is neither model.base_url in config.yaml nor OPENROUTER_API_KEY in .env.",
        _WHAT_TO_SET,
    )


def _checked(named: _Named, lookup: Lookup) -> ModelChoice:
    if not named.model:
        raise NotConfiguredError(
            "No model is set.",
            f"{named.origin} names an address, but no model.",
            "Set model.default in config.yaml to the name of a model that this address offers.",
        )
    base_url = clean_address(named.base_url, f"{named.origin}.base_url")
    known = endpoint_at(base_url)
    provider = _plain_name(named.provider)
    if provider in {"", "auto", "main", "custom"}:
        provider = known.name if known else "custom"
    return ModelChoice(
        model=named.model,
        base_url=base_url,
        api_key=named.api_key or key_for(base_url, lookup) or None,
        provider=provider,
        origin=named.origin,
        context_length=named.context_length,
        max_tokens=named.max_tokens,
    )


def clean_address(address: str, where: str) -> str:
    """An address as the wire wants it: no slash and no name of a call at its end.

    Args:
        address: As a person wrote it.
        where: What it is, for the message ("config.yaml, model.base_url").

    Raises:
        ConfigError: It makes no sense, or holds a password.
    """
    base_url = address.strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
        usable = usable and parts.port != 0 and not set(base_url) & set(" \t\r\n")
    except ValueError:
        usable = False
        parts = urlsplit("")
    if not usable or parts.query or parts.fragment:
        raise ConfigError(
            "The address of the model makes no sense.",
            f"{where} must be http:// or https://, a host, and a path.",
            "Set it to something like http://127.0.0.1:8080/v1.",
        )
    if "@" in parts.netloc:
        raise ConfigError(
            "The address of the model holds a password.",
            f"{where} would show it wherever the address is shown.",
            "Remove it there, and set model.api_key if the endpoint wants a key.",
        )
    return base_url


def key_for(base_url: str, lookup: Lookup) -> str:
    """The key of whoever answers at that host, and only that one."""
    shared = (lookup("OPENAI_BASE_URL") or "").strip().rstrip("/")
    if shared and shared == base_url.rstrip("/"):
        return (lookup("OPENAI_API_KEY") or "").strip()
    known = endpoint_at(base_url)
    return (lookup(known.key_variable) or "").strip() if known else ""


def _other_protocol(what: str) -> NotConfiguredError:
    return NotConfiguredError(
        "This model cannot be asked from here yet.",
        f"config.yaml chooses {what}, which does not speak OpenAI's chat completions.",
        "Choose a model at an OpenAI-compatible endpoint, such as provider: openrouter.",
    )


def _plain_name(name: str) -> str:
    return name.strip().lower().removeprefix("custom:").replace(" ", "-")


def _section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = config.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(
            f"The setting “{name}” makes no sense.",
            f"config.yaml, {name} is a {type(value).__name__}, where names with values belong.",
            "Correct or remove it.",
        )
    return value


@dataclass(frozen=True, slots=True)
class _Reader:
    """Takes values out of one mapping, with variables put in."""

    values: Mapping[str, Any]
    where: str
    lookup: Lookup

    def text(self, *names: str) -> str:
        """The first of these that is set and not blank; "" when none is."""
        for name in names:
            value = self.values.get(name)
            if value is None or isinstance(value, bool | Mapping | list):
                continue
            text = expand_env(str(value), self.lookup, f"config.yaml, {self.where}.{name}").strip()
            if text:
                return text
        return ""

    def number(self, name: str) -> int | None:
        """A whole number above 0, or None."""
        value = self.values.get(name)
        if isinstance(value, str) and value.strip().isdigit():
            value = int(value)
        return (
            value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
        )
