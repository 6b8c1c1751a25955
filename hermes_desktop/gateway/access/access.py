"""Admission of senders to the gateway, and the replies to those who are refused."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import ConfigError, HermesError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import PairingChanged
from hermes_desktop.gateway.access.authorization import is_authorized, stranger_treatment
from hermes_desktop.gateway.access.pairing import PairingResponse, PairingStore
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.settings.config_file import Lookup

log = logging.getLogger(__name__)

TOO_MANY = "Too many people are asking to be let in right now. Try again later."
_MOST_REFUSALS, _REFUSALS_S = 5, 60.0
"""Limit of refusal replies per period; platforms block a bot that answers every stranger."""


class Access:
    """Authorization of senders. Use on the event loop, except :meth:`allows`.

    Args:
        config: Lists and policies.
        lookup: Returns the current values of variables, so that a removed user is locked out
            immediately. May block, and raise :class:`ConfigError`.
        pairing: Requests and approvals.
        worker: The worker that reads their files, in the order of the calls.
        bus: Receives an event for each new pairing request.
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
        """Use other lists and policies from now on."""
        self._config = config

    def allows(self, source: SessionSource | None) -> bool:
        """Return whether a sender may write. Reads files; any thread.

        While the lists cannot be read, only the user of this machine may.
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
        """Return whether a sender may write."""
        if source is not None and source.platform is Platform.DESKTOP:
            return True
        return await self._worker.run(self.allows, source)

    async def answer_to_stranger(self, source: SessionSource) -> str:
        """Record a stranger's request; return the reply, "" for none.

        Groups and strangers without an id get no reply. Never raises.
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
            return TOO_MANY if self._may_send_refusal() else ""
        self._bus.publish(PairingChanged())
        return _invitation(source.platform.value, answer.code)

    def _may_send_refusal(self) -> bool:
        """Return whether another stranger may be asked to retry, within the reply limit."""
        now = asyncio.get_running_loop().time()
        if len(self._refused) == _MOST_REFUSALS and now - self._refused[0] < _REFUSALS_S:
            return False
        self._refused.append(now)
        return True

    def _asked(self, source: SessionSource, user_id: str) -> PairingResponse | None:
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
