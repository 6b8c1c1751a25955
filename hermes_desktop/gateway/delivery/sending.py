"""Sending of texts to a platform: in pieces, with few retries, and never twice."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hermes_desktop.core.concurrency.bounded_calls import BoundedCalls
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import ErrorKind, Piece, PlatformAdapter, SendResult
from hermes_desktop.gateway.platforms.messages import Shown
from hermes_desktop.gateway.platforms.reply_text import split_text

log = logging.getLogger(__name__)

_RETRIES = 2
_PAUSE_S = 2.0
_LONGEST_PAUSE_S = 60.0
_FALLBACK_LENGTH = 3500
"""Length limit of an unformatted message, as its platform counts; every platform accepts it."""
_NO_USE_TO_SEND = frozenset({"forbidden", "transient", "rate_limited"})

AdapterOf = Callable[[Platform], PlatformAdapter | None]


@dataclass(frozen=True, slots=True)
class SendPolicy:
    """Retry and time-out settings; tests use shorter ones.

    Attributes:
        pause: Waits for the given number of seconds.
        send_timeout_s: How long a platform may take to accept one piece.
        jitter: Returns a number from 0 to 1 that spreads retries.
        later_s: The seconds after which a text that certainly was not sent is retried.
    """

    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    send_timeout_s: float = 60.0
    jitter: Callable[[], float] = random.random
    later_s: float = 120.0


@dataclass(frozen=True, slots=True)
class Parcel:
    """A text and its destination.

    Attributes:
        reply_to: The message that its first piece is shown as a reply to.
        shown: Messages in the chat that show its beginning; they are edited instead of sent.
    """

    platform: Platform
    chat_id: str
    text: str
    thread_id: str | None = None
    reply_to: str | None = None
    shown: tuple[Shown, ...] = ()


def failed(error: str, kind: ErrorKind | None = None, *, retryable: bool = False) -> SendResult:
    """Return the result for a text that is not known to have arrived."""
    return SendResult(success=False, error=error, error_kind=kind, retryable=retryable)


async def send_once(
    adapter: PlatformAdapter, chat_id: str, text: str, **more: str | None
) -> SendResult:
    """Send a text without retries. Never raises: an adapter's exception is an unknown outcome."""
    return await _called(adapter, adapter.send(chat_id, text, **more))


async def _called(adapter: PlatformAdapter, call: Awaitable[SendResult]) -> SendResult:
    try:
        return await call
    except TimeoutError as error:
        return failed(str(error) or "no answer in time", "unknown")
    except OSError as error:
        return failed(str(error) or type(error).__name__, "unknown")
    except Exception as error:  # an adapter's bug must not end the turn
        log.exception("Sending to %s failed", adapter.platform.value)
        return failed(str(error) or type(error).__name__, "unknown")


class Sender:
    """Sender of parcels. Used on the event loop.

    Args:
        adapter_of: Returns the current adapter of a platform.
        send_policy: Retry and time-out settings.
    """

    def __init__(self, adapter_of: AdapterOf, send_policy: SendPolicy) -> None:
        self._adapter_of = adapter_of
        self._send_policy = send_policy
        self._bounded = BoundedCalls()

    async def send(self, adapter: PlatformAdapter, parcel: Parcel) -> SendResult:
        """Send a whole text. Never raises.

        Returns:
            The result of its last piece. ``retryable`` only if nothing of it was sent.
        """
        result = SendResult(success=True)
        pieces = await adapter.cut_aside(parcel.text)
        for number, piece in enumerate(pieces):
            shown = parcel.shown[number] if number < len(parcel.shown) else None
            result = await self._place(adapter, parcel, piece, shown)
            if not result.success:
                return replace(result, retryable=result.retryable and number == 0)
            parcel = replace(parcel, reply_to=None)
        for spare in parcel.shown[len(pieces) :]:
            await adapter.delete_message(parcel.chat_id, spare.message_id)
        return result

    async def _place(
        self, adapter: PlatformAdapter, parcel: Parcel, piece: Piece, shown: Shown | None
    ) -> SendResult:
        """Place a piece in the chat: in the message that shows its beginning, or in a new one."""
        if shown is not None:
            if shown.piece == piece:
                return SendResult(success=True, message_id=shown.message_id)
            result = await self._with_retry(adapter, parcel, piece, shown)
            if result.success or result.error_kind in _NO_USE_TO_SEND:
                return result
            await adapter.delete_message(parcel.chat_id, shown.message_id)
        return await self._with_retry(adapter, parcel, piece)

    async def _with_retry(
        self,
        adapter: PlatformAdapter,
        parcel: Parcel,
        piece: Piece,
        shown: Shown | None = None,
    ) -> SendResult:
        asked_to_wait = False
        result = await self._try(adapter, parcel, piece, shown)
        for retry in range(_RETRIES):
            if result.success or not result.retryable:
                break
            pause = _PAUSE_S * 2**retry + self._send_policy.jitter()
            if result.retry_after is not None and not asked_to_wait:
                asked_to_wait = True
                pause = result.retry_after
                if pause > _LONGEST_PAUSE_S:  # too long for the reply to be useful now
                    break
            await self._send_policy.pause(pause)
            adapter = self._adapter_of(parcel.platform) or adapter
            result = await self._try(adapter, parcel, piece, shown)
        if result.error_kind == "bad_format":
            plain = piece.plain or (piece.text if piece.form is not None else _plain(piece.text))
            length = adapter.message_length
            most = max(length(piece.text), _FALLBACK_LENGTH) if piece.form else _FALLBACK_LENGTH
            parts = split_text(plain, most, length, numbered=False)
            return await self._send_plain(adapter, parcel, parts, shown)
        return result

    async def _send_plain(
        self, adapter: PlatformAdapter, parcel: Parcel, parts: Sequence[str], shown: Shown | None
    ) -> SendResult:
        """Send a text without any formatting, one message per part."""
        result = SendResult(success=True)
        for number, part in enumerate(parts):
            result = await self._try(adapter, parcel, Piece(part), None if number else shown)
            if not result.success:
                return replace(result, retryable=result.retryable and number == 0)
            parcel = replace(parcel, reply_to=None)
        return result

    async def _try(
        self, adapter: PlatformAdapter, parcel: Parcel, piece: Piece, shown: Shown | None
    ) -> SendResult:
        if shown is not None:
            call = adapter.edit_piece(parcel.chat_id, shown.message_id, piece)
        else:
            more: dict[str, Any] = {"reply_to": parcel.reply_to, "thread_id": parcel.thread_id}
            call = adapter.send_piece(parcel.chat_id, piece, **more)
        try:
            return await self._bounded.within(
                self._send_policy.send_timeout_s,
                _called(adapter, call),
                doing=f"Sending to {parcel.platform.value}",
            )
        except (TimeoutError, RuntimeError) as error:
            return failed(str(error), "unknown")


def _plain(text: str) -> str:
    """Return a text without markup that a platform could not parse."""
    for mark in ("**", "__", "```", "`"):
        text = text.replace(mark, "")
    return text
