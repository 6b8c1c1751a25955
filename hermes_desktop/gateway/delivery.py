"""Putting a reply into a chat, and noticing when it did not arrive."""

import logging

from hermes_desktop.gateway.platforms.base import PlatformAdapter, SendResult

log = logging.getLogger(__name__)


async def send(adapter: PlatformAdapter, chat_id: str, text: str) -> SendResult:
    """Send a text and look at what became of it. Never raises; failures are logged.

    An empty text is not sent: silence was decided on before.
    """
    if not text:
        return SendResult(success=True)
    try:
        result = await adapter.send(chat_id, text)
    except Exception as error:  # an adapter's bug must not take the turn with it
        log.exception("Sending to %s failed", adapter.platform.value)
        return SendResult(success=False, error=str(error) or type(error).__name__)
    if not result.success:
        log.warning("%s did not take a reply: %s", adapter.platform.value, result.error)
    return result
