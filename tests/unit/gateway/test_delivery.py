"""A reply on its way out, and what becomes of it."""

import pytest

from hermes_desktop.gateway.delivery import send
from hermes_desktop.gateway.platforms.base import MessageEvent, SendResult
from tests.fakes.platform import FakePlatform


@pytest.mark.asyncio
async def test_sending_says_what_became_of_it(caplog: pytest.LogCaptureFixture) -> None:
    platform = FakePlatform()
    assert (await send(platform, "c", "hi")).success
    assert (await send(platform, "c", "")).success
    assert platform.sent == [("c", "hi")]
    platform.result = SendResult(success=False, error="forbidden")
    assert (await send(platform, "c", "hi")).error == "forbidden"
    platform.failure = OSError("down")
    assert await send(platform, "c", "hi") == SendResult(success=False, error="down")
    assert "forbidden" in caplog.text


def test_an_adapter_without_a_gateway_takes_nothing() -> None:
    with pytest.raises(RuntimeError, match="telegram"):
        FakePlatform().handle_message(MessageEvent("hi"))
