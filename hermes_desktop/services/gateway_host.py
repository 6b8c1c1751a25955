"""The gateway of a home as window, tray and command line see it: start, stop, state.

Two runners stand behind it. The *private* one serves the desktop's own chat for the whole life of
the program. The *hosted* one serves the messaging platforms, is built anew from re-read settings
at every start, and lives only while this program holds the identity of the home.
"""

import logging

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import GatewayState, GatewayStatusChanged
from hermes_desktop.gateway.run import GatewayRunner

log = logging.getLogger(__name__)

DRAIN_S = 15.0


class GatewayHost:
    """Hosts the gateway of one home, or follows the one that another program hosts.

    Everything is called on the loop. What became of a call stands in :attr:`status`, and each
    change of that is published once as :class:`GatewayStatusChanged`; nobody else publishes it.
    ``start``, ``stop``, ``restart`` and ``take_over`` run one after the other, in the order they
    were called; none of them raises because a gateway could not be started.

    The states, in the words of the event: ``stopped`` (nobody hosts the home, ``refusal`` says
    why if somebody wanted to), ``starting``, ``running``, ``working``, ``degraded``, ``stopping``
    (also while it restarts: a ``stopped`` is always final until somebody starts it again) and
    ``attached`` (``other`` is the gateway that has the home). ``running_turns`` counts the turns
    of the desktop's own chat, too, in every state.
    """

    def __init__(self, runner: GatewayRunner, bus: EventBus) -> None:
        self._runner = runner
        self._status = GatewayStatusChanged("stopped")
        self._unsubscribe = bus.subscribe(GatewayStatusChanged, self._remember)

    @property
    def status(self) -> GatewayStatusChanged:
        """How it is now, as it was published last."""
        return self._status

    @property
    def state(self) -> GatewayState:
        """The state alone."""
        return self._status.state

    async def open(self) -> None:
        """Begin to watch who is the gateway and, with autostart on, start hosting by itself.

        Returns before the gateway runs: follow :attr:`status`. Called once.
        """

    async def start(self, *, insist: bool = False) -> None:
        """Start hosting; returns when the gateway runs, is refused or attached.

        Args:
            insist: A person has read the refusal in :attr:`status` and wants it all the same;
                counts only where that refusal says ``may_insist``.
        """
        del insist
        await self._runner.start()

    async def stop(self, *, drain_s: float = DRAIN_S) -> None:
        """Stop hosting and give the home back; the desktop's own chat goes on.

        Nothing starts it again by itself until the program is started anew.

        Args:
            drain_s: How long running turns may take to end by themselves; progress stands in
                ``status.detail``.
        """
        await self._runner.stop(drain_s=drain_s)
        self._unsubscribe()

    async def restart(self, *, drain_s: float = DRAIN_S) -> None:
        """Stop, read the settings again, start. Starts what was stopped.

        Args:
            drain_s: As in :meth:`stop`.
        """
        await self.stop(drain_s=drain_s)
        await self.start()

    async def take_over(self) -> None:
        """Ask the other gateway to stop and host the home instead; may take two minutes.

        Only on a person's word. The progress stands in ``status.detail``. One that does not go,
        or that something brings back, is left alone: the state stays ``attached`` and
        ``refusal`` says why.
        """
        raise NotImplementedError

    def hurry(self) -> None:
        """Interrupt the turns that a stop, restart, close or take-over waits for, now."""

    async def reconnect(self, platform: str) -> None:
        """Connect a platform anew, now.

        Args:
            platform: :attr:`PlatformHealth.name`.

        Raises:
            RefusedError: It is not among the platforms that are hosted here.
        """
        raise _not_hosted(platform)

    async def pause(self, platform: str) -> None:
        """Leave a platform until :meth:`resume`. Args and errors as in :meth:`reconnect`."""
        raise _not_hosted(platform)

    async def resume(self, platform: str) -> None:
        """Serve a paused platform again. Args and errors as in :meth:`reconnect`."""
        raise _not_hosted(platform)

    async def close(self, *, drain_s: float = DRAIN_S) -> None:
        """Stop hosting if needed and stop watching; afterwards nothing of it runs any more.

        Args:
            drain_s: As in :meth:`stop`; :meth:`hurry` cuts it short.
        """
        await self.stop(drain_s=drain_s)

    def _remember(self, status: GatewayStatusChanged) -> None:
        self._status = status


def _not_hosted(platform: str) -> RefusedError:
    return RefusedError(
        f"{platform} is not served here.",
        "The gateway of this program does not run, or has no such platform.",
        "Start the gateway first.",
    )
