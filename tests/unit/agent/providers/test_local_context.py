"""What model servers on this machine say about the context of their model."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from hermes_desktop.agent.providers.local_servers import is_local, probe_context
from hermes_desktop.agent.types import ModelChoice
from tests.fakes.local_server import LocalServerDouble
from tests.fakes.model_server import refused_address


class Local(LocalServerDouble):
    """A server whose model is asked about."""

    def says(self, answers: Mapping[str, Any]) -> int | None:
        self.answers.update(answers)
        choice = ModelChoice("qwen", self.base_url, "secret-key", "custom", "a test")
        found = probe_context(choice)
        assert set(self.keys) == {"Bearer secret-key"}  # llama.cpp tells nobody without it
        return found


@pytest.fixture
def local() -> Iterator[Local]:
    with Local() as running:
        yield running


def test_vllm_and_others_say_it_in_the_list(local: Local) -> None:
    listed = {
        "data": [{"id": "other", "max_model_len": 1}, {"id": "qwen", "max_model_len": 32_768}]
    }
    assert local.says({"/v1/models": listed}) == 32_768
    assert local.asked == ["GET /v1/models"]


def test_llama_cpp_says_what_it_was_started_with(local: Local) -> None:
    props = {"default_generation_settings": {"n_ctx": 4_096}}
    listed = {"data": [{"id": "qwen", "meta": {"n_ctx_train": 131_072}}]}
    assert local.says({"/v1/models": listed, "/props": props}) == 4_096


def test_lm_studio_says_what_is_loaded(local: Local) -> None:
    shown = {"loaded_context_length": 8_192, "max_context_length": 131_072}
    assert local.says({"/api/v0/models/qwen": shown}) == 8_192


def test_ollama_says_what_runs_or_what_is_set(local: Local) -> None:
    running = {"models": [{"name": "qwen:latest", "context_length": 16_384}]}
    assert local.says({"/api/ps": running}) == 16_384
    shown = {"parameters": "stop x\nnum_ctx 2048\n", "model_info": {"q.context_length": 131_072}}
    assert local.says({"/api/ps": {"models": []}, "/api/show": shown}) == 2_048
    assert local.says({"/api/show": {"model_info": {"q.context_length": 131_072}}}) is None


@pytest.mark.parametrize("nonsense", [b"<html>", b"[]", b'{"data": 3}', b"\xff", b'{"data": [1]}'])
def test_nonsense_is_not_known(local: Local, nonsense: bytes) -> None:
    everywhere = ("/v1/models", "/props", "/api/v0/models/qwen", "/api/ps", "/api/show")
    assert local.says(dict.fromkeys(everywhere, nonsense)) is None


def test_nobody_there_and_nobody_elsewhere() -> None:
    with refused_address() as url:
        assert probe_context(ModelChoice("qwen", url, None, "custom", "a test")) is None
    far = ModelChoice("qwen", "https://models.example/v1", "key", "custom", "a test")
    assert probe_context(far) is None
    assert is_local("http://[::1]:1/v1")
    assert is_local("http://localhost/v1")
    assert not is_local("http://127.0.0.1.example/v1")
