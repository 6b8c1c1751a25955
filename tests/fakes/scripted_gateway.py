"""A scripted gateway that records its calls.

For window states that a real gateway reaches only with platforms, other programs and minutes of
waiting. The calls to a real gateway are tested with a real one.
"""

import asyncio
from dataclasses import replace

from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import GatewayStatusChanged, OtherGateway, PlatformHealth

NOW = 1_772_366_400.0


def health(name: str, state: str = "connected", *, ago: float | None = None, **more):
    """Return one platform, with its last contact so many seconds before :data:`NOW`."""
    heard = None if ago is None else NOW - ago
    return PlatformHealth(name, state, heard, **more)


SEVERAL = (
    health("discord", "retrying", ago=400, detail="The connection was reset.",
           next_try_at=NOW + 25),
    health("email", "unavailable"),
    health("matrix", ago=3),
    health("signal", "paused", ago=7_300),
    health("slack", "fatal", detail="Slack refused the token. It answered: invalid_auth."),
    health("telegram", ago=12),
)  # fmt: skip
OTHER = OtherGateway(
    "hermes gateway", 4711, NOW - 3 * 3600 - 60, "running",
    (PlatformHealth("telegram", "connected"), PlatformHealth("matrix", "connected")),
)  # fmt: skip


class ScriptedGateway:
    """A replacement of ``GatewayHost``.

    Attributes:
        asked: The calls, in order.
        then: The status that a call results in, by its name.
        may_go: A call waits for this before it has an effect; initially set.
    """

    def __init__(self, bus: EventBus, status: GatewayStatusChanged | None = None) -> None:
        self._bus = bus
        self.status = status or GatewayStatusChanged("stopped")
        self.asked: list[str] = []
        self.then: dict[str, GatewayStatusChanged] = {
            "start": GatewayStatusChanged("running"),
            "stop": GatewayStatusChanged("stopped"),
            "restart": GatewayStatusChanged("running"),
            "take_over": GatewayStatusChanged("running"),
        }
        self.may_go = asyncio.Event()
        self.may_go.set()

    def say(self, state: str = "", **fields) -> None:
        """Change the status and publish it."""
        if state:
            self.status = GatewayStatusChanged(state, **fields)
        else:
            self.status = replace(self.status, **fields)
        self._bus.publish(self.status)

    def look(self) -> GatewayStatusChanged:
        return self.status

    async def start(self, *, insist: bool = False) -> None:
        await self._do("start", "start insisting" if insist else "start")

    async def stop(self) -> None:
        await self._do("stop")

    async def restart(self) -> None:
        await self._do("restart")

    async def take_over(self, *, insist: bool = False) -> None:
        await self._do("take_over", "take_over insisting" if insist else "take_over")

    def hurry(self) -> None:
        self.asked.append("hurry")

    async def reconnect(self, platform: str) -> None:
        self.asked.append(f"reconnect {platform}")

    async def pause(self, platform: str) -> None:
        self.asked.append(f"pause {platform}")

    async def resume(self, platform: str) -> None:
        self.asked.append(f"resume {platform}")

    async def _do(self, name: str, words: str = "") -> None:
        self.asked.append(words or name)
        await self.may_go.wait()
        self.status = self.then[name]
        self._bus.publish(self.status)
