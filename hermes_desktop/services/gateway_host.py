"""The embedded gateway as the window and the command line see it: start, stop, state."""

import logging

from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import GatewayState, GatewayStatusChanged
from hermes_desktop.gateway.run import GatewayRunner

log = logging.getLogger(__name__)

DRAIN_S = 15.0


class GatewayHost:
    """Holds one runner and remembers the last thing it said about itself.

    In this version the runner is always private: it serves the chat of this machine, takes no
    lock and writes none of the gateway's files.
    """

    def __init__(self, runner: GatewayRunner, bus: EventBus) -> None:
        self._runner = runner
        self._status = GatewayStatusChanged("stopped")
        self._unsubscribe = bus.subscribe(GatewayStatusChanged, self._remember)

    @property
    def status(self) -> GatewayStatusChanged:
        """The state it announced last."""
        return self._status

    @property
    def state(self) -> GatewayState:
        """The state alone."""
        return self._status.state

    async def start(self) -> None:
        """Start the runner and its adapters."""
        await self._runner.start()

    async def stop(self, *, drain_s: float = DRAIN_S) -> None:
        """Let running turns end, at most so long, then interrupt them; close everything."""
        await self._runner.stop(drain_s=drain_s)
        self._unsubscribe()

    def _remember(self, status: GatewayStatusChanged) -> None:
        self._status = status
