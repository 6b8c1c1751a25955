"""Notification of plugins about sessions that start and end, with a time-out."""

import logging
import threading
from typing import Any

from hermes_desktop import plugins
from hermes_desktop.plugins.hooks import boundary_reason_set

log = logging.getLogger(__name__)


def tell(name: str, *, reason: str = "", **kwargs: Any) -> None:
    """Call a hook. Never raises; a callback that takes too long is abandoned.

    Args:
        name: The hook.
        reason: What :func:`plugins.boundary_reason` returns meanwhile.
        kwargs: The hook's arguments.
    """
    over = threading.Event()

    def call() -> None:
        try:
            with boundary_reason_set(reason):
                plugins.invoke_hook(name, **kwargs)
        except Exception:  # third-party code
            log.warning("%s failed", name, exc_info=True)
        finally:
            over.set()

    threading.Thread(target=call, daemon=True).start()
    if not over.wait(plugins.SLOW_CALLBACK_S):
        slow = ", ".join(plugins.REGISTRY.hanging()) or "a plugin"
        log.error("%s is not awaited any longer: %s", name, slow)
