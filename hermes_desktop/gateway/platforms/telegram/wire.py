"""HTTP to Telegram. Loads python-telegram-bot: imported late, on a thread, by ``api`` alone."""

import json
import logging
from http import HTTPStatus
from typing import Any

from telegram.error import TelegramError
from telegram.request import HTTPXRequest

from hermes_desktop.gateway.platforms.telegram.options import TelegramOptions
from hermes_desktop.gateway.platforms.telegram.records import RefusalError

_CONNECT_S, _READ_S = 10.0, 20.0
_CONNECTIONS = 16


class RefusedCallError(TelegramError):
    """Carries a refusal through the library, which would make something less exact of it."""

    def __init__(self, refusal: RefusalError) -> None:
        super().__init__(refusal.words)
        self.refusal = refusal


class Wire(HTTPXRequest):
    """Connections of our own kind: Telegram's answers are read here, once.

    Args:
        options: Proxy.
        connections: How many at once.
    """

    __slots__ = ("results",)

    def __init__(self, options: TelegramOptions, connections: int = _CONNECTIONS) -> None:
        super().__init__(
            connection_pool_size=connections,
            read_timeout=_READ_S,
            write_timeout=_READ_S,
            connect_timeout=_CONNECT_S,
            pool_timeout=_CONNECT_S,
            proxy=options.proxy,
        )
        self.results: list[Any] = []

    async def do_request(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        """Send a request and wait for its answer.

        Raises:
            RefusedCallError: Telegram said no.
            TelegramError: It said nothing, or nothing that could be read.
        """
        code, payload = await super().do_request(*args, **kwargs)
        if not HTTPStatus.OK <= code < HTTPStatus.MULTIPLE_CHOICES:
            raise RefusedCallError(_refusal(code, payload))
        return code, payload


class PollWire(Wire):
    """The connection that messages come by. Keeps them as they were sent.

    The library reads a batch whole or not at all; one update that is newer than it would keep all
    others from us for ever.
    """

    __slots__ = ()

    async def do_request(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        """Send a request, and keep what came."""
        self.results = []
        code, payload = await super().do_request(*args, **kwargs)
        found = json.loads(payload.decode("utf-8", "replace"))
        if isinstance(found, dict) and isinstance(found.get("result"), list):
            self.results = found["result"]
        return code, payload


def _refusal(code: int, payload: bytes) -> RefusalError:
    try:
        answer = json.loads(payload)
        words = str(answer["description"])
        parameters = answer.get("parameters") or {}
        wait = parameters.get("retry_after")
        moved = parameters.get("migrate_to_chat_id")
    except (ValueError, KeyError, TypeError, AttributeError):
        words, wait, moved = _phrase(code), None, None
    return RefusalError(
        code, words, float(wait) if wait is not None else None, str(moved) if moved else ""
    )


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return f"HTTP {code}"


def quiet() -> None:
    """Keep libraries from logging: addresses hold the token, answers what people say."""
    for name in ("telegram", "httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
