"""Which model servers of this machine are found, and what is known of their models."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from hermes_desktop.agent.providers.local_servers import (
    USUAL_PORTS,
    LocalModel,
    LocalServer,
    find_servers,
)
from tests.fakes.local_server import LocalServerDouble
from tests.fakes.model_server import refused_address


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def _found(servers: ExitStack, answers: dict[str, Any]) -> tuple[LocalServer, ...]:
    double = servers.enter_context(LocalServerDouble(answers))
    found = find_servers([("any", double.port)], 2.0)
    assert not any(double.keys)
    assert all(server.base_url == double.base_url for server in found)
    return found


OLLAMA = {
    "/v1/models": {"object": "list", "data": [{"id": "qwen3:8b", "owned_by": "library"}]},
    "/api/tags": {
        "models": [{"name": "qwen3:8b"}, {"name": "nomic-embed-text:latest"}, {"name": "tiny"}]
    },
    "/api/ps": {"models": [{"name": "tiny", "context_length": 4096}]},
    "/api/show": {
        "capabilities": ["completion", "tools"],
        "parameters": "num_ctx                        65536",
        "model_info": {"qwen3.context_length": 131_072},
    },
}


def test_ollama_with_what_is_set_and_what_is_loaded(servers: ExitStack) -> None:
    (server,) = _found(servers, OLLAMA)
    assert server.kind == "ollama"
    assert server.models[0] == LocalModel("qwen3:8b", 65_536, too_small=False, could_be=131_072)
    assert server.models[2] == LocalModel("tiny", 4096, too_small=True, could_be=131_072)
    assert server.problem == ""


def test_ollama_leaves_out_what_cannot_talk(servers: ExitStack) -> None:
    shown = {"/api/show": {"capabilities": ["embedding"]}}
    (server,) = _found(servers, OLLAMA | shown)
    assert server.models == ()
    assert "ollama pull" in server.problem


def test_ollama_without_a_model(servers: ExitStack) -> None:
    answers = {"/v1/models": {"object": "list", "data": None}, "/api/tags": {"models": []}}
    (server,) = _found(servers, answers)
    assert (server.kind, server.models) == ("ollama", ())
    assert "ollama pull" in server.problem


def test_lm_studio_with_what_is_loaded(servers: ExitStack) -> None:
    data = [
        {"id": "a", "type": "llm", "state": "loaded", "loaded_context_length": 4096}
        | {"max_context_length": 131_072},
        {"id": "b", "type": "vlm", "state": "not-loaded", "max_context_length": 32_768},
        {"id": "e", "type": "embeddings", "max_context_length": 2048},
    ]
    answers = {"/v1/models": {"data": [{"id": "a"}]}, "/api/v0/models": {"data": data}}
    (server,) = _found(servers, answers)
    assert server.kind == "lmstudio"
    assert server.models == (
        LocalModel("a", 4096, too_small=True, could_be=131_072),
        LocalModel("b", None, too_small=True, could_be=32_768),
    )


def test_llama_cpp_with_what_it_was_started_with(servers: ExitStack) -> None:
    entry = {"id": "qwen.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 32_768}}
    answers = {
        "/v1/models": {"data": [entry]},
        "/props": {"default_generation_settings": {"n_ctx": 16_384}},
    }
    (server,) = _found(servers, answers)
    assert server.kind == "llama.cpp"
    assert server.models == (LocalModel("qwen.gguf", 16_384, too_small=True, could_be=32_768),)


def test_llama_cpp_that_loads(servers: ExitStack) -> None:
    loading = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
    (server,) = _found(servers, {"/v1/models": (503, loading)})
    assert server.models == ()
    assert "loading" in server.problem


def test_vllm_says_it_in_its_list(servers: ExitStack) -> None:
    entry = {"id": "Qwen/Qwen3", "owned_by": "vllm", "max_model_len": 131_072}
    (server,) = _found(servers, {"/v1/models": {"data": [entry]}})
    assert server.kind == "vllm"
    assert server.models == (LocalModel("Qwen/Qwen3", 131_072, could_be=131_072),)


def test_one_that_wants_a_key(servers: ExitStack) -> None:
    (server,) = _found(servers, {"/v1/models": (401, {"error": "Unauthorized"})})
    assert "key" in server.problem


@pytest.mark.parametrize(
    "answer",
    [b"<html>", b"[]", b"\xff", {"status": "up"}, (500, {"data": []}), (401, b"<html>"), {}],
)
def test_what_is_no_model_server_is_not_listed(servers: ExitStack, answer: Any) -> None:
    assert _found(servers, {"/v1/models": answer}) == ()


def test_one_that_hangs_holds_nobody_up(servers: ExitStack) -> None:
    hanging = servers.enter_context(LocalServerDouble({"/v1/models": "hang"}))
    entry = {"id": "m", "owned_by": "vllm"}
    good = servers.enter_context(LocalServerDouble({"/v1/models": {"data": [entry]}}))
    began = time.monotonic()
    found = find_servers([("a", hanging.port), ("b", good.port)], 0.6)
    assert [server.base_url for server in found] == [good.base_url]
    assert time.monotonic() - began < 10
    hanging.closing.set()


def test_nobody_there() -> None:
    with refused_address() as url:
        assert find_servers([("x", int(url.split(":")[2].split("/")[0]))]) == ()
    assert {port for _, port in USUAL_PORTS} == {11434, 1234, 8080, 8000}
