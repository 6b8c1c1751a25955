"""A channel of a platform may have a model of its own; what is chosen in it stands over that."""

from pathlib import Path

import pytest

from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, PlatformConfig
from hermes_desktop.gateway.runner.execution import channel_model
from hermes_desktop.gateway.session import SessionSource
from tests.fakes.gateway import running_gateway

OWN = PlatformConfig.from_dict(
    {
        "extra": {"allow_from": "u1"},
        "channel_overrides": {
            "c2": {"model": "big", "provider": "openrouter"},
            7: {"model": "small"},
            "c4": {"system_prompt": "Be brief."},
        },
    }
)
PLATFORMS = {Platform.TELEGRAM: OWN}


@pytest.mark.asyncio
async def test_who_answers_in_which_channel(tmp_path: Path) -> None:
    config = GatewayConfig(platforms=PLATFORMS)
    async with running_gateway(tmp_path / "state.db", config=config) as gateway:
        wanted: list[dict[str, str]] = []
        gateway.factory.on_make = lambda request: wanted.append(dict(request.model_override))
        for chat in ("c1", "c2"):
            await gateway.telegram.receive("Hello", chat_id=chat)
        assert wanted == [{}, {"model": "big", "provider": "openrouter"}]
        (key,) = (each for each in gateway.runner.session_store._entries if ":c2" in each)
        gateway.runner._session_model_overrides[key] = {"model": "chosen"}
        await gateway.telegram.receive("Again", chat_id="c2")
        assert wanted[-1] == {"model": "chosen"}


@pytest.mark.parametrize(
    ("source", "model"),
    [
        (SessionSource(Platform.TELEGRAM, "c1", thread_id="7"), {"model": "small"}),
        (SessionSource(Platform.TELEGRAM, "c2", thread_id="7"), {"model": "small"}),
        (SessionSource(Platform.TELEGRAM, "c3", parent_chat_id="7"), {"model": "small"}),
        (SessionSource(Platform.TELEGRAM, "c4"), {}),
        (SessionSource(Platform.DISCORD, "c2"), {}),
        (None, {}),
    ],
)
def test_the_nearest_place_counts(source: SessionSource | None, model: dict[str, str]) -> None:
    assert channel_model(PLATFORMS, source) == model
