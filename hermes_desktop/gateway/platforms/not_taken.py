"""What becomes of a message that nobody here shall take."""

import asyncio
import logging

from hermes_desktop.gateway.platforms.messages import MessageEvent

log = logging.getLogger(__name__)


def not_taken(event: MessageEvent) -> "asyncio.Task[str | None]":
    """A message handler for connections that are left or only tried: its server brings it again."""

    async def cancelled() -> str | None:
        raise asyncio.CancelledError

    log.info("A message of a connection that is not used is not taken: %s", event.message_id)
    return asyncio.get_running_loop().create_task(cancelled())
