"""Message handler for connections whose messages must not be accepted."""

import asyncio
import logging

from hermes_desktop.gateway.platforms.messages import MessageEvent

log = logging.getLogger(__name__)


def not_taken(event: MessageEvent) -> "asyncio.Task[str | None]":
    """Refuse a message of an abandoned or trial connection; its server delivers it again."""

    async def cancelled() -> str | None:
        raise asyncio.CancelledError

    log.info("A message of a connection that is not used is not taken: %s", event.message_id)
    return asyncio.get_running_loop().create_task(cancelled())
