"""Query of a local model server for the size of its model's context.

Ollama, LM Studio, llama.cpp and vLLM each report it in a place of their own. Only local addresses
are queried, each place briefly; the key is sent only to the address that it belongs to anyway.
"""

import ipaddress
import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from hermes_desktop.agent.providers.response_values import entries, get_json, mapping, tokens
from hermes_desktop.agent.types import ModelChoice

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

PATIENCE_S = 1.0
_CONTEXT = re.compile(r"^\s*num_ctx\s+(\d+)", re.MULTILINE)


def is_local(base_url: str) -> bool:
    """Return whether an address is one of this machine."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def probe_context(choice: ModelChoice) -> int | None:
    """Return the context size in tokens; None if unknown. Blocks for a few seconds."""
    if choice.kind != "openai" or not is_local(choice.base_url):
        return None
    import httpx  # noqa: PLC0415 - only who asks needs it

    root = choice.base_url.rstrip("/").removesuffix("/v1")
    try:
        headers = {"Authorization": f"Bearer {choice.api_key}"} if choice.api_key else {}
        with httpx.Client(timeout=PATIENCE_S, trust_env=False, headers=headers) as client:
            return _ask(client, root, choice.model)
    except Exception:  # whatever a foreign server sends, the size is only unknown then
        log.debug("The server at %s did not say how long its context is", root, exc_info=True)
        return None


def set_context(shown: Mapping[str, Any]) -> int | None:
    """Return the context that Ollama is configured to load a model with, from its ``/api/show``."""
    # Without num_ctx it loads far less than the model supports; how much depends on the machine.
    set_to = _CONTEXT.search(str(shown.get("parameters") or ""))
    return int(set_to.group(1)) if set_to else None


def started_context(props: Mapping[str, Any]) -> int | None:
    """Return the context that llama.cpp was started with, from its ``/props``."""
    return tokens(props.get("default_generation_settings"), "n_ctx")


def _ask(client: "httpx.Client", root: str, model: str) -> int | None:
    listed = _entry(_get(client, f"{root}/v1/models"), "data", "id", model)
    length = tokens(listed, "context_length", "max_model_len", "max_context_length")
    if length is not None:
        return length
    length = started_context(_get(client, f"{root}/props"))
    if length is not None:
        return length
    studio = _get(client, f"{root}/api/v0/models/{quote(model, safe='')}")
    length = tokens(studio, "loaded_context_length", "max_context_length")
    return length if length is not None else _ollama(client, root, model)


def _ollama(client: "httpx.Client", root: str, model: str) -> int | None:
    running = _get(client, f"{root}/api/ps")
    if not isinstance(running.get("models"), list):
        return None
    length = tokens(_entry(running, "models", "name", model), "context_length")
    if length is not None:
        return length
    return set_context(_get(client, f"{root}/api/show", {"model": model}))


def _get(client: "httpx.Client", url: str, post: Any = None) -> Mapping[str, Any]:
    status, answer = get_json(client, url, post=post)
    return mapping(answer) if 200 <= status < 300 else {}  # noqa: PLR2004


def _entry(answer: Mapping[str, Any], name: str, key: str, model: str) -> Mapping[str, Any]:
    for each in entries(answer, name):
        if each.get(key) in {model, f"{model}:latest"}:
            return each
    return {}
