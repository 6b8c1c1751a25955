"""The typing sign of a chat, refreshed while a reply is being written."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import PlatformAdapter

log = logging.getLogger(__name__)

EVERY_S = 4.0
_CALL_S = 10.0


async def keep_typing(
    adapter_of: Callable[[Platform], PlatformAdapter | None],
    platform: Platform,
    chat_id: str,
    thread_id: str | None = None,
    *,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Show the typing sign until cancelled. Failures of the platform are ignored."""
    while True:
        adapter = adapter_of(platform)
        if adapter is not None:
            try:
                async with asyncio.timeout(_CALL_S):
                    await adapter.show_typing(chat_id, thread_id=thread_id)
            except Exception as error:  # noqa: BLE001 - the reply matters, not the sign
                log.debug("%s shows no sign of typing: %s", platform.value, error)
        await pause(EVERY_S)
