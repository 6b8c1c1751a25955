"""The model settings of config.yaml: its ``model`` section, and the entries of providers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hermes_desktop.core.errors import ConfigError, NotConfiguredError
from hermes_desktop.settings.config_file import Lookup, expand_env

_ADDRESS = ("base_url", "api", "url")
_MOST_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Named:
    """The settings before defaults are filled in. Values are expanded.

    Attributes:
        origin: Their place, for the user.
        missing_variable: The variable that should hold the key and is not set.
        chosen: What was chosen for one conversation or one test: ``model``, ``provider``,
            ``base_url``.
    """

    model: str = ""
    provider: str = ""
    base_url: str = ""
    api_key: str = ""
    api_mode: str = ""
    origin: str = "config.yaml, model"
    context_length: int | None = None
    max_tokens: int | None = None
    ca_bundle: str = ""
    request_timeout_s: float | None = None
    stale_timeout_s: float | None = None
    missing_variable: str = ""
    wants_no_check: bool = False
    chosen: frozenset[str] = frozenset()

    def place(self, name: str) -> str:
        """Return where ``provider`` or ``base_url`` is set, as the beginning of a sentence."""
        if name in self.chosen:
            return f"The {'provider' if name == 'provider' else 'address'} chosen here"
        return f"{self.origin}.{name}"

    def at(self, entry: "Named") -> "Named":
        """Return an endpoint's entry, with the model that the model section names."""
        # Its key belongs to its address: another address in the same entry does not receive it.
        own = not self.base_url or self.base_url.rstrip("/") == entry.base_url.rstrip("/")
        return replace(
            entry,
            model=self.model or entry.model,
            chosen=self.chosen,
            base_url=entry.base_url if own else self.base_url,
            api_key=self.api_key or (entry.api_key if own else ""),
            missing_variable="" if self.api_key or not own else entry.missing_variable,
            api_mode=self.api_mode or entry.api_mode,
            context_length=self.context_length or entry.context_length,
            max_tokens=self.max_tokens or entry.max_tokens,
            ca_bundle=self.ca_bundle or entry.ca_bundle,
            wants_no_check=self.wants_no_check or entry.wants_no_check,
        )


def model_section(config: Mapping[str, Any], lookup: Lookup) -> Named:
    """Read the section ``model``, falling back to top-level ``provider`` and ``base_url``.

    Raises:
        ConfigError: A setting cannot be understood, or names a variable that is not set.
    """
    raw = config.get("model")
    own: Mapping[str, Any] = {"default": raw} if isinstance(raw, str) else section(config, "model")
    root = {
        key: config[key] for key in ("provider", "base_url") if isinstance(config.get(key), str)
    }
    values = {**root, **{k: v for k, v in own.items() if v is not None}}
    reader = Reader(values, "model", lookup)
    return Named(
        model=reader.text("default", "model", "name"),
        provider=reader.text("provider") or (lookup("HERMES_INFERENCE_PROVIDER") or "").strip(),
        base_url=reader.text("base_url"),
        api_key=reader.key() or reader.text("api_key", "api"),
        api_mode=reader.text("api_mode"),
        context_length=reader.number("context_length"),
        max_tokens=reader.number("max_tokens"),
        ca_bundle=reader.text("ca_bundle", "ssl_ca_cert"),
        wants_no_check=reader.is_off("ssl_verify", "verify_ssl", "tls_verify"),
    )


def own_endpoint(config: Mapping[str, Any], named: Named, lookup: Lookup) -> Named | None:
    """Return the entry of the chosen provider in config.yaml, None when it has none.

    Raises:
        NotConfiguredError: The entry is disabled.
        ConfigError: A setting in it cannot be understood, or names a variable that is not set.
    """
    wanted = normalized_provider(named.provider)
    if not wanted:
        return None
    for where, name, entry in own_entries(config):
        if normalized_provider(name) != wanted:
            continue
        if entry.get("enabled") is False:
            raise NotConfiguredError(
                f"The provider “{name}” is turned off.",
                f"config.yaml, {where}.enabled is false.",
                "Turn it on there, or choose another one with model.provider.",
            )
        # An entry of a known provider may only set time-outs; then the provider's own rules apply.
        if where.startswith("custom_providers") or any(entry.get(key) for key in _ADDRESS):
            return _from_entry(entry, where, named.model, lookup)
    return None


def own_entries(config: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the provider entries of config.yaml: place, name and content of each."""
    listed = config.get("custom_providers")
    for number, entry in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(entry, Mapping):
            yield f"custom_providers[{number}]", str(entry.get("name", "")), entry
    for name, entry in section(config, "providers").items():
        if isinstance(entry, Mapping):
            yield f"providers.{name}", str(name), entry


def with_timeouts(config: Mapping[str, Any], named: Named) -> Named:
    """Apply the time-outs that ``providers.<name>`` sets, for its model or for all of them."""
    wanted = normalized_provider(named.provider)
    for _, name, entry in own_entries(config):
        if normalized_provider(name) == wanted:
            model = _facts(entry.get("models"), named.model)
            named = replace(
                named,
                request_timeout_s=_seconds(model, "timeout_seconds")
                or _seconds(entry, "request_timeout_seconds")
                or named.request_timeout_s,
                stale_timeout_s=_seconds(model, "stale_timeout_seconds")
                or _seconds(entry, "stale_timeout_seconds")
                or named.stale_timeout_s,
            )
    return named


def model_names(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the models that an entry lists, its own first."""
    models = entry.get("models")
    own = next((entry[k] for k in ("model", "default_model") if entry.get(k)), None)
    listed = [own] if isinstance(own, str) else []
    for each in models if isinstance(models, list | Mapping) else ():
        name = (each.get("id") or each.get("name")) if isinstance(each, Mapping) else each
        if name:
            listed.append(str(name))
    return tuple(dict.fromkeys(listed))


def normalized_provider(name: str) -> str:
    """Return the name of a provider in the form used for comparison."""
    return name.strip().lower().removeprefix("custom:").replace(" ", "-")


def section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a mapping in the settings; empty where there is none.

    Raises:
        ConfigError: The value is not a mapping.
    """
    value = config.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(
            f"The setting “{name}” is not valid.",
            f"In config.yaml, {name} is a {type(value).__name__}, but must be a group of settings.",
            "Correct or remove it.",
        )
    return value


def _from_entry(entry: Mapping[str, Any], where: str, model: str, lookup: Lookup) -> Named:
    reader = Reader(entry, where, lookup)
    names = model_names(entry)
    wanted = model or reader.text("model", "default_model") or (names[0] if names else "")
    facts = Reader(_facts(entry.get("models"), wanted), where, lookup)
    key = reader.key() or reader.text("api_key")
    return Named(
        model=wanted,
        provider=reader.text("name") or where.partition(".")[2],
        base_url=reader.text(*_ADDRESS),
        api_key=key,
        api_mode=reader.text("api_mode", "transport"),
        origin=f"config.yaml, {where}",
        context_length=facts.number("context_length") or reader.number("context_length"),
        max_tokens=facts.number("max_output_tokens", "max_tokens")
        or reader.number("max_output_tokens", "max_tokens"),
        ca_bundle=reader.text("ca_bundle", "ssl_ca_cert"),
        missing_variable="" if key else reader.text("key_env", "api_key_env"),
        wants_no_check=reader.is_off("ssl_verify", "verify_ssl", "tls_verify"),
    )


def _facts(models: Any, model: str) -> Mapping[str, Any]:
    """Return an entry's settings for one of its models."""
    if isinstance(models, Mapping):
        found = models.get(model)
        if found is None:
            found = next((v for k, v in models.items() if str(k).lower() == model.lower()), None)
        return found if isinstance(found, Mapping) else {}
    for each in models if isinstance(models, list) else ():
        if isinstance(each, Mapping) and model in {each.get("id"), each.get("name")}:
            return each
    return {}


def _seconds(values: Mapping[str, Any], name: str) -> float | None:
    value = values.get(name)
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if usable and 0 < value <= _MOST_SECONDS else None  # type: ignore[operator,arg-type]


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of values from one mapping, which expands variables in them.

    Attributes:
        where: Its place, for messages.
    """

    values: Mapping[str, Any]
    where: str
    lookup: Lookup

    def text(self, *names: str) -> str:
        """Return the first of these that is set and not blank; "" when none is.

        Raises:
            ConfigError: It names a variable that is not set.
        """
        for name in names:
            value = self.values.get(name)
            if value is None or isinstance(value, bool | Mapping | list):
                continue
            text = expand_env(str(value), self.lookup, f"config.yaml, {self.where}.{name}").strip()
            if text:
                return text
        return ""

    def key(self) -> str:
        """Return the value of the variable that is named as the key's; "" for none."""
        variable = self.text("key_env", "api_key_env")
        return (self.lookup(variable) or "").strip() if variable else ""

    def is_off(self, *names: str) -> bool:
        """Return whether one of these switches is off, in YAML or as text."""
        return any(
            str(self.values.get(name)).strip().lower() in {"false", "no", "off", "0"}
            for name in names
        )

    def number(self, *names: str) -> int | None:
        """Return the first of these that is a whole number above 0, or None."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, str) and value.strip().isdigit():
                value = int(value)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
        return None
