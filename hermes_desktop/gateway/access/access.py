"""The door of a gateway: who comes in, and what those hear who do not."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import ConfigError, HermesError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import PairingChanged
from hermes_desktop.gateway.access.authorization import is_authorized, stranger_treatment
from hermes_desktop.gateway.access.pairing import PairingAnswer, PairingStore
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.settings.config_file import Lookup

log = logging.getLogger(__name__)

TOO_MANY = "Too many people are asking to be let in right now. Try again later."
_MOST_REFUSALS, _REFUSALS_S = 5, 60.0
"""Strangers may come in thousands; a bot that answers them all is soon stopped by its platform."""


class Access:
    """Decides about senders. On the loop, except :meth:`allows`.

    Args:
        config: Lists and policies.
        lookup: Gives the values of variables as they stand now: who is taken off a list is out at
            once. May block, and raise :class:`ConfigError`.
        pairing: Requests and approvals.
        worker: Where their files are read, in the order of the calls.
        bus: Hears when somebody asks to be let in.
    """

    def __init__(
        self,
        config: GatewayConfig,
        lookup: Callable[[], Lookup],
        pairing: PairingStore,
        *,
        worker: WorkerThreads,
        bus: EventBus,
    ) -> None:
        self._config = config
        self._lookup = lookup
        self._pairing = pairing
        self._worker = worker
        self._bus = bus
        self._refused: deque[float] = deque(maxlen=_MOST_REFUSALS)

    def use(self, config: GatewayConfig) -> None:
        """Judge by other lists and policies from now on."""
        self._config = config

    def allows(self, source: SessionSource | None) -> bool:
        """Whether a sender may write. Reads files; any thread.

        Nobody may, but the person at this machine, while the lists cannot be read.
        """
        if source is not None and source.platform is Platform.DESKTOP:
            return True
        try:
            lookup = self._lookup()
        except ConfigError as error:
            log.warning("A message is refused: %s", error)
            return False
        return is_authorized(source, self._config, lookup, self._pairing.is_approved)

    async def admits(self, source: SessionSource | None) -> bool:
        """Whether a sender may write."""
        if source is not None and source.platform is Platform.DESKTOP:
            return True
        return await self._worker.run(self.allows, source)

    async def answer_to_stranger(self, source: SessionSource) -> str:
        """What somebody hears who may not write; "" is silence. Notes that they asked.

        Groups and strangers without an id hear nothing. Never raises.
        """
        if source.chat_type != "dm" or not source.user_id or source.is_bot:
            return ""
        try:
            answer = await self._worker.run(self._asked, source, source.user_id)
        except HermesError as error:
            log.warning("A stranger's request could not be noted: %s", error)
            return ""
        if answer is None:
            return ""
        if answer.why == "asked_lately":
            return ""
        if answer.code is None:
            return TOO_MANY if self._may_refuse_aloud() else ""
        self._bus.publish(PairingChanged())
        return _invitation(source.platform.value, answer.code)

    def _may_refuse_aloud(self) -> bool:
        """Whether one more stranger is told to come later; the rest of a minute hear nothing."""
        now = asyncio.get_running_loop().time()
        if len(self._refused) == _MOST_REFUSALS and now - self._refused[0] < _REFUSALS_S:
            return False
        self._refused.append(now)
        return True

    def _asked(self, source: SessionSource, user_id: str) -> PairingAnswer | None:
        if stranger_treatment(source.platform, self._config, self._lookup()) == "ignore":
            return None
        return self._pairing.request(source.platform.value, user_id, source.user_name)


def _invitation(platform: str, code: str) -> str:
    return (
        "I do not know you yet. Send this code to the owner of this assistant:\n\n"
        f"{code}\n\n"
        "The owner lets you in from the window of Hermes Desktop, or with\n"
        f"hermes-desktop gateway pairing approve {platform} {code}\n\n"
        "The code is good for one hour."
    )
