"""One TLS context for all connections: it holds every root certificate, 0.8 MiB and 20 ms each."""

import threading
from typing import TYPE_CHECKING

from hermes_desktop.core.clock import Clock, SystemClock

if TYPE_CHECKING:
    import ssl

RENEWED_S = 86_400.0


class SharedTls:
    """Makes the context when it is first asked for, and anew once a day.

    Root certificates on the disk change while a program runs for months. Any thread.

    Args:
        clock: Measures the day.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._made_at = 0.0

    def context(self) -> "ssl.SSLContext":
        """The context for a new connection. Blocks.

        Raises:
            OSError: The root certificates cannot be read.
        """
        with self._lock:
            now = self._clock.monotonic()
            if self._context is None or now - self._made_at > RENEWED_S:
                import httpx  # noqa: PLC0415 - only who calls needs it

                self._context = httpx.create_ssl_context()
                self._made_at = now
            return self._context
