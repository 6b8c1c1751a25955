"""Asks a model server on this machine how much its model can be told at once.

Ollama, LM Studio, llama.cpp and vLLM each say it in their own place. Only addresses of this machine
are asked, each place for a moment, and no key is sent.
"""

import ipaddress
import logging
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from hermes_desktop.agent.types import ModelChoice

log = logging.getLogger(__name__)

PATIENCE_S = 1.0
_CONTEXT = re.compile(r"^\s*num_ctx\s+(\d+)", re.MULTILINE)
_MOST = 100_000_000


def is_local(base_url: str) -> bool:
    """Whether an address is one of this machine."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def probe_context(choice: ModelChoice) -> int | None:
    """How many tokens the model's context has; None when nobody says. Blocking, a few seconds."""
    if choice.kind != "openai" or not is_local(choice.base_url):
        return None
    root = choice.base_url.rstrip("/").removesuffix("/v1")
    try:
        with httpx.Client(timeout=PATIENCE_S, trust_env=False) as client:
            return _ask(client, root, choice.model)
    except Exception:  # whatever a foreign server sends, it is only not known then
        log.debug("The server at %s did not say how long its context is", root, exc_info=True)
        return None


def _ask(client: httpx.Client, root: str, model: str) -> int | None:
    listed = _entry(_get(client, f"{root}/v1/models"), "data", "id", model)
    length = _number(listed, "context_length", "max_model_len", "max_context_length")
    if length is not None:
        return length
    props = _get(client, f"{root}/props")
    length = _number(_mapping(props.get("default_generation_settings")), "n_ctx")
    if length is not None:
        return length
    studio = _get(client, f"{root}/api/v0/models/{quote(model, safe='')}")
    length = _number(studio, "loaded_context_length", "max_context_length")
    return length if length is not None else _ollama(client, root, model)


def _ollama(client: httpx.Client, root: str, model: str) -> int | None:
    running = _get(client, f"{root}/api/ps")
    if not isinstance(running.get("models"), list):
        return None
    length = _number(_entry(running, "models", "name", model), "context_length")
    if length is not None:
        return length
    answer = client.post(f"{root}/api/show", json={"model": model})
    shown = _mapping(answer.json()) if answer.is_success else {}
    set_to = _CONTEXT.search(str(shown.get("parameters") or ""))
    # Without num_ctx it loads far less than the model could take; how much depends on the machine.
    return int(set_to.group(1)) if set_to else None


def _get(client: httpx.Client, url: str) -> Mapping[str, Any]:
    answer = client.get(url)
    if not answer.is_success:
        return {}
    try:
        return _mapping(answer.json())
    except ValueError:
        return {}


def _entry(answer: Mapping[str, Any], name: str, key: str, model: str) -> Mapping[str, Any]:
    entries = answer.get(name)
    for each in entries if isinstance(entries, list) else ():
        if isinstance(each, Mapping) and each.get(key) in {model, f"{model}:latest"}:
            return each
    return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(values: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = values.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST:
            return value
    return None
