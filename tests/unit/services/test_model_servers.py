"""Which models can be had, as window and command line ask for it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.agents.model_servers import ModelServers, ProviderView
from tests.fakes import model_server
from tests.fakes.local_server import LocalServerDouble
from tests.fakes.model_server import ModelServer

Opened = Callable[..., AbstractAsyncContextManager[ModelServers]]
pytestmark = pytest.mark.asyncio


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    @asynccontextmanager
    async def _open(
        config: str = "", env: str = "", ports: tuple[tuple[str, int], ...] = (), **variables: str
    ) -> AsyncIterator[ModelServers]:
        (tmp_path / "config.yaml").write_text(config, encoding="utf-8")
        (tmp_path / ".env").write_text(env, encoding="utf-8")
        servers = ModelServers(HermesPaths(tmp_path, tmp_path), variables, SecretRedactor(), ports)
        yield servers
        servers.close()

    return _open


async def test_servers_of_this_machine(opened: Opened) -> None:
    entry = {"id": "m", "owned_by": "vllm", "max_model_len": 4096}
    with LocalServerDouble({"/v1/models": {"data": [entry]}}) as server:
        async with opened(ports=(("vllm", server.port),)) as models:
            (found,) = await models.find_local()
    assert (found.kind, found.models[0].too_small) == ("vllm", True)


async def test_providers_with_and_without_a_key(opened: Opened) -> None:
    config = """
custom_providers:
  - {name: Mine, base_url: "http://127.0.0.1:1/v1", key_env: MINE_KEY, models: {a: {}, b: {}}}
providers:
  attic: {base_url: "http://127.0.0.1:2/v1", enabled: false}
  openai: {request_timeout: 3}
"""
    env = "GROQ_API_KEY=gsk-from-file\n"
    async with opened(config, env, OPENAI_API_KEY="sk-from-environment") as models:
        views = {view.name: view for view in await models.providers()}
    mine = ProviderView("Mine", "http://127.0.0.1:1/v1", "MINE_KEY", has_key=False, own=True)
    assert (views["Mine"].models, views["Mine"].problem) == (("a", "b"), "MINE_KEY is not set.")
    assert (views["Mine"].has_key, views["Mine"].own) == (mine.has_key, mine.own)
    assert not views["attic"].enabled
    assert views["openai"].has_key
    assert views["groq"].has_key
    assert views["ollama"].has_key
    assert not views["mistral"].has_key
    assert "sk-from" not in repr(views)


async def test_a_trial_with_the_key_of_the_page(opened: Opened) -> None:
    with ModelServer() as server:
        async with opened() as models:
            url = f"{server.base_url}/chat/completions"
            answer = await models.check_endpoint(url, "sk-typed-12345", "fake-model")
        assert answer.kind == "ok"
        assert server.requests[0].headers["Authorization"] == "Bearer sk-typed-12345"


async def test_a_stored_key_goes_to_its_own_host_only(opened: Opened) -> None:
    with ModelServer() as server:
        async with opened(OPENAI_API_KEY="sk-of-openai-123") as models:
            answer = await models.check_endpoint(server.base_url, None, "fake-model")
        assert answer.kind == "ok"
        assert "Authorization" not in server.requests[0].headers


@pytest.mark.parametrize("address", ["", "nonsense", "http://a:b@host/v1", "ftp://x/v1"])
async def test_an_address_that_makes_no_sense(opened: Opened, address: str) -> None:
    async with opened() as models:
        answer = await models.check_endpoint(address, "", "m")
    assert answer.kind == "misconfigured"
    assert answer.hint


async def test_the_chosen_model(opened: Opened) -> None:
    with ModelServer() as server:
        config = f"model: {{default: fake-model, base_url: '{server.base_url}', max_tokens: 999}}"
        async with opened(config) as models:
            assert (await models.check_chosen()).kind == "ok"
        async with opened("{}") as models:
            assert (await models.check_chosen()).kind == "misconfigured"


async def test_a_trial_that_is_given_up_ends_at_once(opened: Opened) -> None:
    with ModelServer() as server:
        server.script(model_server.hang())
        async with opened() as models:
            trial = asyncio.create_task(models.check_endpoint(server.base_url, "", "fake-model"))
            await asyncio.to_thread(server.wait_for_requests, 1)
            began = time.monotonic()
            trial.cancel()
            with pytest.raises(asyncio.CancelledError):
                await trial
        gone = await asyncio.to_thread(server.requests[0].client_gone.wait, 10)
        assert gone
        assert time.monotonic() - began < 10
