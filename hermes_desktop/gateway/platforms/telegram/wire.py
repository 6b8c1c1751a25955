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
    """Carries a refusal through the library, which would make something less exact of it."""

    def __init__(self, refusal: RefusalError) -> None:
        super().__init__(refusal.words)
        self.refusal = refusal


class NotTelegramError(TelegramError):
    """What answered is not the Bot API."""


class Wire(HTTPXRequest):
    """Connections of our own kind: Telegram's answers are read here, once.

    Args:
        options: Proxy.
        connections: How many at once.

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
        """Send a request and wait for its answer.

        Raises:
            RefusedCallError: Telegram said no.
            NotTelegramError: Somebody else answered.
            TelegramError: It said nothing.
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
        """What a call of Telegram's gave."""


class PollWire(Wire):
    """The connection that messages come by. Keeps them as they were sent.

    The library reads a batch whole or not at all; one update that is newer than it would keep all
    others from us for ever.
    """

    __slots__ = ()

    def answered(self, result: Any) -> None:
        """Keep what came."""
        self.results = result if isinstance(result, list) else []


def _answer(code: int, payload: bytes) -> dict[str, Any]:
    """What Telegram says.

    Raises:
        NotTelegramError: It is not Telegram that says it: a proxy, or a page to log in to a
            network. Nothing follows from that for a token or a chat.
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
    """How long we are to wait; a day at most, whatever is asked for."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return min(max(0.0, float(value)), _LONGEST_WAIT_S)


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return f"HTTP {code}"


def quiet() -> None:
    """Keep libraries from logging: addresses hold the token, answers what people say."""
    for name in ("telegram", "httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
