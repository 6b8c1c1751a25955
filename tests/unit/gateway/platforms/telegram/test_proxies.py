"""Telegram and the proxies of the environment."""

import asyncio

import pytest

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.gateway.platforms.telegram.loading import load_api
from hermes_desktop.gateway.platforms.telegram.options import TelegramOptions

TOKEN = "123456:AAbbccddeeffgghhiijjkkllmmnnoopp123"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize("no_proxy", ["fe80::/10", "[::1]", "http://x:y", "::1/128,10.0.0.0/8"])
def test_odd_exceptions_keep_nobody_from_telegram(
    monkeypatch: pytest.MonkeyPatch, no_proxy: str
) -> None:
    monkeypatch.setenv("NO_PROXY", no_proxy)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    api = load_api(TOKEN, TelegramOptions())
    asyncio.run(api.close())


def test_a_proxy_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:99999")
    with pytest.raises(ConfigError) as caught:
        load_api(TOKEN, TelegramOptions())
    assert "HTTPS_PROXY" in caught.value.detail
