"""HTTP to Telegram. Loads python-telegram-bot: imported late, on a thread, by ``api`` alone."""

import json
import logging
import math
from http import HTTPStatus
from typing import Any

from telegram.error import TelegramError
from telegram.request import HTTPXRequest

from hermes_desktop.core.proxies import route_to
from hermes_desktop.gateway.platforms.telegram.options import TelegramOptions
from hermes_desktop.gateway.platforms.telegram.records import RefusalError

_CONNECT_S, _READ_S = 10.0, 20.0
_CONNECTIONS = 16
_LONGEST_WAIT_S = 86_400.0


class RefusedCallError(TelegramError):
    """Carries a refusal through the library, which would convert it into something less exact."""

    def __init__(self, refusal: RefusalError) -> None:
        super().__init__(refusal.words)
        self.refusal = refusal


class NotTelegramError(TelegramError):
    """The response did not come from the Bot API."""


class Wire(HTTPXRequest):
    """HTTP connections that parse Telegram's responses here, once.

    Args:
        options: Proxy.
        connections: The maximum number of connections.

    Raises:
        ProxySettingError: The environment names a proxy that cannot be used.
    """

    __slots__ = ("results",)

    def __init__(self, options: TelegramOptions, connections: int = _CONNECTIONS) -> None:
        super().__init__(
            connection_pool_size=connections,
            read_timeout=_READ_S,
            write_timeout=_READ_S,
            connect_timeout=_CONNECT_S,
            pool_timeout=_CONNECT_S,
            proxy=options.proxy or route_to(options.base_url).proxy,
            # The library would read the environment by other rules, and fails on some of it.
            httpx_kwargs={"trust_env": False},
        )
        self.results: list[Any] = []

    async def do_request(
        self, url: str, method: str, *args: Any, **kwargs: Any
    ) -> tuple[int, bytes]:
        """Send a request and wait for its response.

        Raises:
            RefusedCallError: Telegram refused it.
            NotTelegramError: Another server responded.
            TelegramError: There was no response.
        """
        code, payload = await super().do_request(url, method, *args, **kwargs)
        well = HTTPStatus.OK <= code < HTTPStatus.MULTIPLE_CHOICES
        if well and method == "GET":  # a file
            return code, payload
        answer = _answer(code, payload)
        if not well or not answer.get("ok"):
            raise RefusedCallError(_refusal(code, answer))
        self.answered(answer.get("result"))
        return code, payload

    def answered(self, result: Any) -> None:
        """Handle the result of a successful call."""


class TelegramPollHttp(Wire):
    """The connection for polling. Keeps updates as they were sent.

    The library parses a batch as a whole or not at all; one update of an unknown, newer kind would
    block all others forever.
    """

    __slots__ = ()

    def answered(self, result: Any) -> None:
        """Keep the received updates."""
        self.results = result if isinstance(result, list) else []


def _answer(code: int, payload: bytes) -> dict[str, Any]:
    """Return Telegram's response.

    Raises:
        NotTelegramError: The response comes from something else: a proxy, or the login page of a
            network. It says nothing about a token or a chat.
    """
    try:
        answer = json.loads(payload.decode("utf-8", "replace"))
    except ValueError:
        answer = None
    if isinstance(answer, dict) and isinstance(answer.get("ok"), bool):
        return answer
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return {}
    raise NotTelegramError(f"something else answered in its place (HTTP {code})")


def _refusal(code: int, answer: dict[str, Any]) -> RefusalError:
    told = answer.get("error_code")
    if HTTPStatus.OK <= code < HTTPStatus.MULTIPLE_CHOICES and isinstance(told, int):
        code = told
    parameters = answer.get("parameters")
    if not isinstance(parameters, dict):
        parameters = {}
    words = str(answer.get("description") or _phrase(code))
    moved = parameters.get("migrate_to_chat_id")
    wait = _seconds(parameters.get("retry_after"))
    return RefusalError(code, words, wait, str(moved) if moved else "")


def _seconds(value: Any) -> float | None:
    """Return how long to wait, limited to one day."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return min(max(0.0, float(value)), _LONGEST_WAIT_S)


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return f"HTTP {code}"


def quiet() -> None:
    """Silence libraries' logs: addresses contain the token, responses contain messages."""
    for name in ("telegram", "httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
