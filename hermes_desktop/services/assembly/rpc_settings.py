"""The settings of a home as reported to peers of the JSON-RPC server."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hermes_desktop.agent.known_endpoints import KNOWN
from hermes_desktop.agent.models.model_addresses import key_of
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.settings.env_file import layered_lookup, read_env_file

if TYPE_CHECKING:
    from hermes_desktop.gateway.config.gateway_config import GatewayConfig

_ALSO_SECRET = frozenset({"api", "auth", "key", "pin"})
_BLANKED = "[secret]"


class RpcSettings:
    """Reads the files at each call. Blocking; any thread. Nothing is written.

    Args:
        paths: The home.
        environ: The process environment.
    """

    def __init__(self, paths: HermesPaths, environ: Mapping[str, str]) -> None:
        self._paths = paths
        self._environ = environ

    def document(self) -> Mapping[str, Any]:
        """Return config.yaml with secrets masked.

        Raises:
            ConfigError: It cannot be parsed.
        """
        from hermes_desktop.services.transfer.session_redaction import redactor_of_home  # noqa: PLC0415 - as below

        data = read_config(self._paths.config_yaml).data
        cleaned = redactor_of_home(self._paths).clean(_blanked(data))
        return dict(cleaned)

    def mtime(self) -> float:
        """Return when config.yaml was last written, 0 when there is none."""
        try:
            return self._paths.config_yaml.stat().st_mtime
        except OSError:
            return 0.0

    def providers(self) -> Sequence[Mapping[str, Any]]:
        """Return the endpoints that the settings name, and those that are known and have a key.

        Raises:
            ConfigError: The settings cannot be parsed.
        """
        data = read_config(self._paths.config_yaml).data
        lookup = layered_lookup(self._environ, read_env_file(self._paths.env_file))
        found = [_provider("custom", "Custom endpoint", _models(data.get("model")), own=True)]
        found += [_named(entry) for entry in _entries(data)]
        for known in KNOWN.values():
            has_key = not known.key_variable or bool(key_of(known, lookup))
            line = _provider(known.name, known.name, [], own=False)
            found.append({**line, "authenticated": has_key, "api_url": known.base_url})
        return found

    def busy_mode(self) -> str:
        """Return how a message is handled that arrives while a reply is being written."""
        return self._gateway().running.busy_input_mode

    def most_sessions(self) -> int | None:
        """Return how many conversations all programs may have open together; None: any number."""
        return self._gateway().max_concurrent_sessions

    def _gateway(self) -> "GatewayConfig":
        # Not needed before the first prompt, and a front end waits for its first answer.
        from hermes_desktop.services.settings.gateway_settings import load_gateway_config  # noqa: PLC0415

        return load_gateway_config(self._paths, self._environ).config


def _blanked(value: Any) -> Any:
    """Mask values whose whole name marks them as secret; longer names are left to the redactor."""
    if isinstance(value, Mapping):
        return {
            name: _BLANKED if _is_secret(name, each) else _blanked(each)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_blanked(each) for each in value]
    return value


def _is_secret(name: object, value: object) -> bool:
    return str(name).lower() in _ALSO_SECRET and isinstance(value, str | int) and bool(value)


def _provider(slug: str, name: str, models: list[str], *, own: bool) -> dict[str, Any]:
    return {
        "slug": slug,
        "name": name,
        "models": models,
        "is_user_defined": own,
        "authenticated": True,
        "source": "model-config" if own else "built-in",
    }


def _models(section: object) -> list[str]:
    if isinstance(section, str):
        return [section]
    if not isinstance(section, Mapping):
        return []
    found = (section.get(name) for name in ("default", "model", "name"))
    return list(dict.fromkeys(each for each in found if isinstance(each, str) and each))


def _entries(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    listed = data.get("custom_providers")
    found = (
        [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    )
    named = data.get("providers")
    for name, entry in named.items() if isinstance(named, Mapping) else ():
        if isinstance(entry, Mapping) and entry.get("enabled") is not False:
            found.append({"name": name, **entry})
    return [each for each in found if each.get("name")]


def _named(entry: Mapping[str, Any]) -> dict[str, Any]:
    models = entry.get("models")
    listed = [str(each) for each in models] if isinstance(models, list | Mapping) else []
    chosen = entry.get("model") or entry.get("default_model")
    names = list(dict.fromkeys([*([str(chosen)] if chosen else []), *listed]))
    slug = str(entry["name"]).strip().lower().replace(" ", "-")
    return _provider(slug, str(entry["name"]), names, own=True)
