"""Events and claim answers about the gateway identity of a home, as frozen records."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord

log = logging.getLogger(__name__)

StopKind = Literal["takeover", "stop", "kill", "restart"]
IdentityState = Literal["free", "attached", "claiming", "hosting", "stopping"]


@dataclass(frozen=True, slots=True)
class ForeignGateway:
    """Another gateway that runs for this home.

    Attributes:
        state: Its reported state: ``running``, ``draining``, …; "" when it reports none.
        platforms: Name → the reported status of that platform.
        age_s: The age of its process in seconds; None when unknown.
    """

    record: GatewayRecord
    state: str = ""
    platforms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    active_agents: int = 0
    age_s: float | None = field(default=None, compare=False)

    @property
    def is_hermes_desktop(self) -> bool:
        """Whether another Hermes Desktop hosts it."""
        return self.record.is_hermes_desktop

    def was_started_by(self, pid: int) -> bool:
        """Return whether it is the identity process of the Hermes Desktop with this pid."""
        return self.is_hermes_desktop and self.record.argv[-2:] == ("--parent", str(pid))


# ------------------------------------------------------------------------------ answers to a claim


@dataclass(frozen=True, slots=True)
class Claimed:
    """The home was claimed; only now may pollers open. Token locks name this record."""

    record: GatewayRecord


@dataclass(frozen=True, slots=True)
class HeldByOther:
    """A gateway is already running: attached mode.

    ``gateway`` is None when it holds the lock and has no record yet.
    """

    gateway: ForeignGateway | None


@dataclass(frozen=True, slots=True)
class NotHere:
    """The home is not claimed.

    Attributes:
        why: ``obstacle`` (sandbox, other system), ``service`` (one is installed for this home),
            ``recent_stop`` (the command line stopped it less than half a minute ago), ``contested``
            (the other gateway was brought back twice), ``no_home``, ``not_stopped`` (the other
            gateway did not stop), ``not_ours`` (only another program may write the conversations of
            this home), ``failed``.
        detail: One sentence for the user.
        service: The definition of that service.
        wait_s: The seconds for which claims are still refused for that reason.
    """

    why: Literal[
        "obstacle",
        "service",
        "recent_stop",
        "contested",
        "no_home",
        "not_stopped",
        "not_ours",
        "failed",
    ]
    detail: str = ""
    service: Path | None = None
    wait_s: float = 0.0


ClaimAnswer = Claimed | HeldByOther | NotHere


# ----------------------------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The gateway was asked to stop; call ``release()`` before the deadline.

    Within two seconds all pollers are closed and no new turn starts; turns may finish
    until ``drain_until``, then they are interrupted and marked to be resumed. A second event of
    this kind shortens the first.

    Attributes:
        deadline: When the identity process leaves automatically, in seconds of the monotonic clock.
        comes_back: Claim again after :data:`~.identity_supervisor.RESTART_PAUSE_S` and restart the
            gateway. Otherwise only the user starts it again.
    """

    kind: StopKind
    deadline: float
    comes_back: bool = False

    @property
    def drain_until(self) -> float:
        """When running turns are interrupted."""
        return self.deadline - 1.0


@dataclass(frozen=True, slots=True)
class HardStop:
    """The identity is gone: close pollers now, interrupt turns, then ``confirm_stopped()``.

    Attributes:
        kind: The kind of marker that explains it; None when there is no marker.
        detail: One sentence for the user.
    """

    kind: StopKind | None
    detail: str


@dataclass(frozen=True, slots=True)
class IdentityLost:
    """Another gateway has the home, or (None) the home is gone: stop within two seconds."""

    owner: GatewayRecord | None


@dataclass(frozen=True, slots=True)
class IdentityRenewed:
    """Another identity process holds the home for us: token locks must name this record."""

    record: GatewayRecord


@dataclass(frozen=True, slots=True)
class ForeignChanged:
    """The other gateway appeared, disappeared (None) or reports a different status."""

    gateway: ForeignGateway | None


@dataclass(frozen=True, slots=True)
class MustEnd:
    """Our gateway did not stop and another one runs: the whole program has to end."""


IdentityEvent = StopRequested | HardStop | IdentityLost | IdentityRenewed | ForeignChanged | MustEnd


def guarded(listener: Callable[[IdentityEvent], None]) -> Callable[[IdentityEvent], None]:
    """Wrap a listener so that its exceptions are logged and do not affect later decisions."""

    def hear(event: IdentityEvent) -> None:
        try:
            listener(event)
        except Exception:  # the identity must keep running
            log.exception("A listener to the identity failed on %s", event)

    return hear
