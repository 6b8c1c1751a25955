"""What a check of an endpoint tells."""

import threading

import pytest

from hermes_desktop.agent.providers.endpoint_check import EndpointAnswer, check_endpoint
from hermes_desktop.agent.providers.model_list import ListedModel, nearest, read_models
from hermes_desktop.agent.types import ModelChoice
from tests.fakes import model_server
from tests.fakes.local_server import LocalServerDouble
from tests.fakes.model_server import ModelServer, refused_address

KEY = "sk-check-0123456789"


def _checked(base_url: str, model: str = "fake-model", key: str | None = KEY) -> EndpointAnswer:
    choice = ModelChoice(model, base_url, key, "custom", "a test")
    return check_endpoint(choice, cancel=threading.Event())


def test_a_model_that_answers() -> None:
    with ModelServer() as server:
        answer = _checked(server.base_url)
        assert answer.kind == "ok"
        assert "fake-model" in answer.words
        assert answer.models == ("fake-model",)
        assert server.requests[0].json["max_tokens"] == 16


def test_only_the_list() -> None:
    with ModelServer() as server:
        answer = _checked(server.base_url, model="")
        assert (answer.kind, answer.words) == ("ok", f"{server.host} offers 1 model.")
        assert not server.requests


def test_a_small_context_is_told() -> None:
    entry = {"id": "m", "owned_by": "vllm", "max_model_len": 8192}
    reply = {
        "choices": [{"message": {"content": "ready"}, "finish_reason": "stop"}],
    }
    answers = {"/v1/models": {"data": [entry]}, "/v1/chat/completions": reply}
    with LocalServerDouble(answers) as server:
        answer = _checked(server.base_url, "m")
    assert (answer.kind, answer.context_length) == ("ok", 8192)
    assert "64,000" in answer.hint


def test_a_refused_key() -> None:
    with ModelServer() as server:
        server.script(model_server.error(401, f"Incorrect API key: {KEY}", code="invalid_api_key"))
        answer = _checked(server.base_url)
    assert answer.kind == "refused"
    assert KEY not in str(answer)


def test_a_missing_model_names_the_nearest() -> None:
    with ModelServer() as server:
        server.script(model_server.error(404, "The model does not exist", code="model_not_found"))
        answer = _checked(server.base_url, "fake-modle")
    assert answer.kind == "model_missing"
    assert answer.hint == "Did you mean fake-model?"


def test_a_wrong_address() -> None:
    with LocalServerDouble({"/v1/models": b"<html><title>Shop</title>"}) as server:
        assert _checked(server.base_url).kind == "misconfigured"
    with LocalServerDouble({}) as server:
        assert _checked(server.base_url).kind == "misconfigured"
        assert _checked(server.base_url, model="").kind == "misconfigured"


def test_nobody_there() -> None:
    with refused_address() as url:
        answer = _checked(url)
    assert answer.kind == "unreachable"
    assert "server refused the connection" in answer.words


def test_one_that_is_busy() -> None:
    with ModelServer() as server:
        server.script(model_server.error(429, "Slow down", headers={"Retry-After": "7"}))
        answer = _checked(server.base_url)
        assert answer.kind == "failed"
        assert "7 seconds" in answer.hint
        assert len(server.requests) == 1


def test_cancelled() -> None:
    stop = threading.Event()
    stop.set()
    with ModelServer() as server:
        choice = ModelChoice("m", server.base_url, None, "custom", "a test")
        assert check_endpoint(choice, cancel=stop).kind == "cancelled"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"data": [{"id": "a", "context_length": 8192}]}', (ListedModel("a", 8192),)),
        (
            b'{"models": [{"name": "models/g", "inputTokenLimit": 9}]}',
            (ListedModel("g", 9),),
        ),
        (b'[{"id": "together"}]', (ListedModel("together"),)),
        (b'{"data": []}', ()),
        (b'{"data": null}', ()),
        (b"<html>", None),
        (b"[1, 2", None),
        (b'{"error": {}}', None),
    ],
)
def test_lists_of_several_servers(body: bytes, expected: object) -> None:
    assert read_models(body) == expected


def test_the_nearest_names() -> None:
    ids = ["openai/gpt-4o", "gpt-4o-2024-08-06", "llama3:8b", "claude-x"]
    assert nearest("gpt4o", ids)[0] == "openai/gpt-4o"
    assert nearest("llama-3", ids) == ("llama3:8b",)
    assert nearest("zzzz", ids) == ()
