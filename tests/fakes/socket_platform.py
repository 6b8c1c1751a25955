"""A messaging platform over a real loopback socket, for tests of everything above adapters.

    async with chat_server() as chat:                       # or: with chat_process() as chat
        registry = socket_registry(Platform.TELEGRAM)
        config = GatewayConfig(platforms={Platform.TELEGRAM: socket_config(chat.port)})
        …                                                   # a runner or host with both
        chat.say("hello", chat="c1", user="u1")             # process: chat.call("say", "hello")
        await until(lambda: chat.texts("c1") == ["reply 1"])
        chat.set(silent=True); chat.drop(); chat.refuse("rate_limited", retry_after=0.1)

The service (``tests/fakes/socket_chat.py``) keeps messages until the bot has acknowledged them,
which the adapter does when the gateway has handled them.
"""

import asyncio
import contextlib
import itertools
import json
from typing import Any

from hermes_desktop.core.clock import Clock
from hermes_desktop.gateway.config.gateway_config import Platform, PlatformConfig
from hermes_desktop.gateway.platforms.base import (
    MessageEvent,
    Piece,
    PlatformAdapter,
    SendResult,
    TokenIdentity,
)
from hermes_desktop.gateway.platforms.checks import CheckResult
from hermes_desktop.gateway.platforms.reconnect import LinkTiming
from hermes_desktop.gateway.platforms.registry import AdapterContext, AdapterRegistry
from hermes_desktop.gateway.session import SessionSource
from tests.fakes.socket_chat import ChatProcess, ChatServer, chat_process, chat_server

__all__ = [
    "QUICK",
    "ChatProcess",
    "ChatServer",
    "SocketPlatform",
    "chat_process",
    "chat_server",
    "check_socket_platform",
    "socket_config",
    "socket_registry",
]


QUICK = LinkTiming(
    connect_s=1.0,
    disconnect_s=1.0,
    probe_s=0.5,
    first_pause_s=0.05,
    longest_pause_s=0.2,
    quick_again_s=0.0,
)
"""Time-outs and back-off suitable for a test."""


def socket_config(
    port: int, *, allow_from: str = "u1", token: str = "socket-token", **extra: Any
) -> PlatformConfig:
    """Return the settings of the platform.

    Args:
        port: The port of the service.
        allow_from: The authorized senders.
        token: The bot's token.
        extra: ``expected_silence_s`` (2), ``send_timeout_s`` (2), ``limit`` (None): characters of a
            message; ``edits``: texts can be changed, so that replies may grow.
    """
    return PlatformConfig(
        enabled=True, token=token, extra={"port": port, "allow_from": allow_from, **extra}
    )


def socket_registry(
    *platforms: Platform, timing: LinkTiming = QUICK, checked: bool = True
) -> AdapterRegistry:
    """Return a registry that serves these platforms (Telegram by default) over the socket.

    Args:
        checked: Settings are tested by a request to the service; else only by connecting.
    """
    served = platforms or (Platform.TELEGRAM,)
    checks = dict.fromkeys(served, check_socket_platform) if checked else {}
    return AdapterRegistry(
        dict.fromkeys(served, make_socket_platform), checks=checks, timing=timing
    )


async def check_socket_platform(config: PlatformConfig, context: AdapterContext) -> CheckResult:
    """Check a token with the service, without logging in."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(config.extra["port"]))
    try:
        request = {"type": "who_am_i", "token": config.token or ""}
        writer.write(json.dumps(request).encode() + b"\n")
        answer = json.loads(await reader.readline() or b"{}")
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    if answer.get("type") == "you":
        return CheckResult("ok", name=answer["name"])
    code = answer.get("code", "closed")
    return CheckResult(
        "refused" if code == "bad_token" else "unreachable", words=f"The service said {code}."
    )


def make_socket_platform(config: PlatformConfig, context: AdapterContext) -> "SocketPlatform":
    """Create the adapter."""
    return SocketPlatform(config, context.platform, clock=context.clock)


class SocketPlatform(PlatformAdapter):
    """The bot's side of the chat service."""

    def __init__(
        self, config: PlatformConfig, platform: Platform, *, clock: Clock | None = None
    ) -> None:
        super().__init__(platform, clock=clock)
        extra = config.extra
        self._port = int(extra["port"])
        self._send_timeout_s = float(extra.get("send_timeout_s", 2.0))
        self.expected_silence_s = float(extra.get("expected_silence_s", 2.0))
        self.max_message_length = extra.get("limit")
        self.edits_messages = bool(extra.get("edits"))
        self.token = TokenIdentity("socket-bot-token", config.token or "")
        self.is_open = False
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}

    async def connect(self, *, is_reconnect: bool = False) -> bool:
        reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._say(type="hello", token=self.token.secret if self.token else "")
        answer = json.loads(await reader.readline() or b"{}")
        if answer.get("type") != "welcome":
            code = answer.get("code", "closed")
            self.set_fatal_error(code, f"The service said {code}.", retryable=code != "bad_token")
            await self.disconnect()
            return False
        self.heard()
        self.is_open = True
        self._reading = asyncio.create_task(self._read(reader), name="socket platform")
        return True

    async def disconnect(self) -> None:
        self.is_open = False
        if self._reading is not None and self._reading is not asyncio.current_task():
            self._reading.cancel()
            await asyncio.wait([self._reading])
        self._reading = None
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        self._forget_answers()

    async def send(
        self,
        chat_id: str,
        text: str,
        *,
        reply_to: str | None = None,
        thread_id: str | None = None,
    ) -> SendResult:
        if not self.is_open:
            return SendResult(False, error="not connected", error_kind="transient", retryable=True)
        answer = await self._ask(
            self._send_timeout_s,
            type="send",
            chat=chat_id,
            text=text,
            reply_to=reply_to,
            thread=thread_id,
        )
        if answer["type"] == "sent":
            return SendResult(True, message_id=answer["id"])
        return SendResult(
            False,
            error=answer["error"],
            error_kind=answer["kind"],
            retryable=answer.get("retryable", False),
            retry_after=answer.get("retry_after"),
        )

    async def edit_piece(self, chat_id: str, message_id: str, piece: Piece) -> SendResult:
        answer = await self._ask(
            self._send_timeout_s, type="edit", chat=chat_id, id=message_id, text=piece.text
        )
        if answer["type"] == "sent":
            return SendResult(True, message_id=answer["id"])
        return SendResult(
            False,
            error=answer["error"],
            error_kind=answer["kind"],
            retryable=answer.get("retryable", False),
            retry_after=answer.get("retry_after"),
        )

    async def probe(self) -> bool:
        if not self.is_open:
            return False
        try:
            await self._ask(self.expected_silence_s or 2.0, type="ping")
        except (OSError, TimeoutError):
            return False
        return True

    async def _ask(self, timeout: float, **message: Any) -> dict[str, Any]:
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        try:
            self._say(n=number, **message)
            async with asyncio.timeout(timeout):
                return await answer
        finally:
            self._answers.pop(number, None)

    def _say(self, **message: Any) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while line := await reader.readline():
                self.heard()
                self._take(json.loads(line))
        self.is_open = False
        self._forget_answers()
        self.set_fatal_error(
            "connection_lost", "The service closed the connection.", retryable=True
        )

    def _forget_answers(self) -> None:
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(TimeoutError("The connection closed before an answer came"))

    def _take(self, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind in {"sent", "refused", "pong"}:
            answer = self._answers.get(message["n"])
            if answer is not None and not answer.done():
                answer.set_result(message)
        elif kind == "message":
            self._receive(message)

    def _receive(self, message: dict[str, Any]) -> None:
        source = SessionSource(
            self.platform,
            message["chat"],
            chat_type=message["chat_type"],
            user_id=message["user"],
            thread_id=message["thread"],
        )
        event = MessageEvent(
            message["text"], source=source, message_id=message["id"], timestamp=message["at"]
        )

        def dealt_with(task: "asyncio.Task[str | None]") -> None:
            if not task.cancelled():
                self._say(type="ack", id=event.message_id)

        self.handle_message(event).add_done_callback(dealt_with)
