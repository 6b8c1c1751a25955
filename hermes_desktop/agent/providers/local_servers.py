"""Model servers on this machine: discovery at their usual ports, and the size of their context.

All ports are queried concurrently, for a second at most, on loopback only, without a key. A server
counts as a model server only if it lists models in the known formats.

Ollama, LM Studio, llama.cpp and vLLM each report the context in a different place. Only local
addresses are queried, each place briefly; the key is sent only to the address that it belongs to
anyway.
"""

import ipaddress
import logging
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from hermes_desktop.agent.context_length import ENOUGH
from hermes_desktop.agent.providers.response_values import (
    context_in_entry,
    entries,
    get_json,
    mapping,
    tokens,
)
from hermes_desktop.agent.types import ModelChoice

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

PATIENCE_S = 1.0
_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d+)", re.MULTILINE)


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
    import httpx  # noqa: PLC0415 - needed only for a query

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
    set_to = _NUM_CTX.search(str(shown.get("parameters") or ""))
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


USUAL_PORTS: tuple[tuple[str, int], ...] = (
    ("ollama", 11434),
    ("lmstudio", 1234),
    ("llama.cpp", 8080),
    ("vllm", 8000),
)
_MOST_SHOWN = 32
_UNAUTHORIZED, _STARTING = (401, 403), 503
_NO_MODELS = {
    "ollama": "It has no model yet: download one with `ollama pull`.",
    "lmstudio": "It has no model yet: download one in LM Studio.",
}


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that a local server offers.

    Attributes:
        id: Its name in requests.
        context_length: The size of its context as it is loaded or configured; None: unknown.
        too_small: That size, or else the largest possible one, is less than the assistant needs.
        could_be: The largest context it could be loaded with; None: unknown.
    """

    id: str
    context_length: int | None = None
    too_small: bool = False
    could_be: int | None = None


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A model server on this machine.

    Attributes:
        kind: ``ollama``, ``lmstudio``, ``llama.cpp``, ``vllm``, or ``openai`` for another one.
        base_url: Its value for ``model.base_url``.
        problem: Why it cannot answer yet, as a sentence; "" when it can.
    """

    kind: str
    base_url: str
    models: tuple[LocalModel, ...] = ()
    problem: str = ""


def find_servers(
    ports: Sequence[tuple[str, int]] = USUAL_PORTS, patience_s: float = PATIENCE_S
) -> tuple[LocalServer, ...]:
    """Return the model servers of this machine. Blocks for up to ``patience_s``.

    Args:
        ports: The ports to query, with the kind that is usual there.
        patience_s: The time-out; servers that respond later are left out.
    """
    import httpx  # noqa: F401, PLC0415 - importing it later would use up the time of the search

    until = time.monotonic() + patience_s
    found: dict[int, LocalServer] = {}

    def look(port: int) -> None:
        server = _look(port, until)
        if server is not None:
            found[port] = server

    places = dict.fromkeys(port for _, port in ports)
    threads = [
        threading.Thread(target=look, args=(port,), name=f"model-look-{port}", daemon=True)
        for port in places
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until + 0.1 - time.monotonic()))
    return tuple(found[port] for port in places if port in dict(found))


def too_small(context_length: int | None, could_be: int | None = None) -> bool:
    """Return whether a context is known to be too small for the assistant."""
    known = context_length if context_length is not None else could_be
    return known is not None and known < ENOUGH


def _look(port: int, until: float) -> LocalServer | None:
    import httpx  # noqa: PLC0415 - needed only for a search

    root = f"http://127.0.0.1:{port}"
    # The time allows for a few waits; none of them may use it up.
    timeout = max(0.05, (until - time.monotonic()) / 2)
    try:
        with httpx.Client(timeout=timeout, trust_env=False) as client:
            return _ServerProbe(client, root, until).server()
    except (httpx.HTTPError, TimeoutError):
        return None
    except Exception:  # whatever a foreign server sends is not our fault
        log.debug("The response at %s cannot be parsed", root, exc_info=True)
        return None


@dataclass(frozen=True, slots=True)
class _ServerProbe:
    client: "httpx.Client"
    root: str
    until: float

    def server(self) -> LocalServer | None:
        base_url = f"{self.root}/v1"
        status, answer = self._get("/v1/models")
        if status in _UNAUTHORIZED and isinstance(answer, Mapping):
            return LocalServer("openai", base_url, problem="It requires a key: set model.api_key.")
        if status == _STARTING and _loads(answer):
            return LocalServer("llama.cpp", base_url, problem="It is still loading its model.")
        data = mapping(answer).get("data", "nothing")
        if not _ok(status) or not isinstance(data, list | None):
            return None
        listed = entries(answer, "data")
        kind, models = self._models(listed)
        problem = "" if models else _NO_MODELS.get(kind, "It offers no models.")
        return LocalServer(kind, base_url, models, problem)

    def _models(self, listed: list[Mapping[str, Any]]) -> tuple[str, tuple[LocalModel, ...]]:
        owners = {str(each.get("owned_by")) for each in listed}
        if "vllm" in owners:
            return "vllm", _plain(listed)
        if "llamacpp" in owners:
            return "llama.cpp", self._llama_cpp(listed)
        status, answer = self._get("/api/tags")
        if _ok(status) and isinstance(mapping(answer).get("models"), list):
            return "ollama", self._ollama(entries(answer, "models"))
        status, answer = self._get("/api/v0/models")
        if _ok(status) and entries(answer, "data"):
            chat = [e for e in entries(answer, "data") if e.get("type") != "embeddings"]
            return "lmstudio", tuple(_studio_model(entry) for entry in chat if _id(entry))
        return "openai", _plain(listed)

    def _llama_cpp(self, listed: list[Mapping[str, Any]]) -> tuple[LocalModel, ...]:
        _, props = self._get("/props")
        length = started_context(mapping(props))
        models = []
        for entry in listed:
            most = tokens(entry.get("meta"), "n_ctx_train")
            # One server has one context; if it serves several models, it does not say whose it is.
            known = length if len(listed) == 1 else None
            models.append(LocalModel(_id(entry), known, too_small(known, most), most))
        return tuple(models)

    def _ollama(self, listed: list[Mapping[str, Any]]) -> tuple[LocalModel, ...]:
        _, running = self._get("/api/ps")
        loaded = {str(e.get("name")): context_in_entry(e) for e in entries(running, "models")}
        models = []
        for entry in listed[:_MOST_SHOWN]:
            name = str(entry.get("name") or entry.get("model") or "")
            if name and (model := self._ollama_model(name, loaded.get(name))) is not None:
                models.append(model)
        rest = [str(each.get("name") or "") for each in listed[_MOST_SHOWN:]]
        return (*models, *(LocalModel(name) for name in rest if name))

    def _ollama_model(self, name: str, loaded: int | None) -> LocalModel | None:
        if time.monotonic() > self.until:
            return LocalModel(name, loaded, too_small(loaded))
        status, shown = self._get("/api/show", {"model": name})
        facts = mapping(shown) if _ok(status) else {}
        can = facts.get("capabilities")
        if isinstance(can, list) and can and "completion" not in can:
            return None
        info = mapping(facts.get("model_info"))
        most = next((tokens(info, key) for key in info if key.endswith(".context_length")), None)
        length = loaded if loaded is not None else set_context(facts)
        return LocalModel(name, length, too_small(length, most), most)

    def _get(self, path: str, post: Any = None) -> tuple[int, Any]:
        return get_json(self.client, f"{self.root}{path}", until=self.until, post=post)


def _plain(listed: list[Mapping[str, Any]]) -> tuple[LocalModel, ...]:
    models = []
    for entry in listed:
        length = context_in_entry(entry)
        if _id(entry):
            models.append(LocalModel(_id(entry), length, too_small(length), length))
    return tuple(models)


def _studio_model(entry: Mapping[str, Any]) -> LocalModel:
    length, most = tokens(entry, "loaded_context_length"), tokens(entry, "max_context_length")
    return LocalModel(_id(entry), length, too_small(length, most), most)


def _id(entry: Mapping[str, Any]) -> str:
    return str(entry.get("id") or "")


def _ok(status: int) -> bool:
    return 200 <= status < 300  # noqa: PLR2004


def _loads(answer: Any) -> bool:
    said = str(mapping(mapping(answer).get("error")).get("message") or "")
    return "loading" in said.lower()
