"""Addresses of models, and which key may be sent to which of them."""

from urllib.parse import urlsplit

from hermes_desktop.agent.known_endpoints import KnownEndpoint, endpoint_at
from hermes_desktop.core.errors import ConfigError
from hermes_desktop.settings.config_file import Lookup


def clean_address(address: str, where: str) -> str:
    """Normalize an address: no trailing slash and no endpoint name at its end.

    Args:
        address: As the user wrote it.
        where: Its origin, for the message ("config.yaml, model.base_url").

    Raises:
        ConfigError: It is invalid, or contains a password.
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
            "The address of the model is not valid.",
            f"{where} must consist of http:// or https://, a host and a path.",
            "Use an address such as http://127.0.0.1:8080/v1.",
        )
    if "@" in parts.netloc:
        raise ConfigError(
            "The address of the model contains a password.",
            f"{where} would show it wherever the address is shown.",
            "Remove it there, and set model.api_key if the endpoint requires a key.",
        )
    return _with_version(base_url)


def key_for(base_url: str, lookup: Lookup) -> str:
    """Return the key of the provider at exactly that host."""
    shared = (lookup("OPENAI_BASE_URL") or "").strip().rstrip("/")
    if shared and shared == base_url.rstrip("/"):
        return (lookup("OPENAI_API_KEY") or "").strip()
    known = endpoint_at(base_url)
    return key_of(known, lookup) if known is not None else ""


def key_of(known: KnownEndpoint, lookup: Lookup) -> str:
    """Return the key of a provider, from the first of its variables that is set; "" for none."""
    values = ((lookup(name) or "").strip() for name in known.key_variables)
    return next((value for value in values if value), "")


def _with_version(base_url: str) -> str:
    """Complete the address of a known provider that has no path with the usual one."""
    known = endpoint_at(base_url)
    return known.base_url if known is not None and not urlsplit(base_url).path else base_url
