"""The interfaces of the services that the window needs. No Qt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.events import GatewayStatusChanged
from hermes_desktop.gateway.access.pairing import PairedUser
from hermes_desktop.services.hosting.pairing_requests import PairingRequestView

_MOST_LETTERS = 60


class GatewayControl(Protocol):
    """The gateway of this home, hosted here or by another program; see ``GatewayHost``."""

    @property
    def status(self) -> GatewayStatusChanged:
        """The current status."""
        ...

    def look(self) -> GatewayStatusChanged:
        """Return the status, with each platform's last contact as of this moment."""
        ...

    async def start(self, *, insist: bool = False) -> None:
        """Start the gateway; the status holds the outcome."""
        ...

    async def stop(self) -> None:
        """Stop the gateway, or stop waiting for the other one to end."""
        ...

    async def restart(self) -> None:
        """Stop and start the gateway."""
        ...

    async def take_over(self, *, insist: bool = False) -> None:
        """Ask the other gateway to stop, and start the hosted one; ``stop`` ends the waiting."""
        ...

    def hurry(self) -> None:
        """Interrupt the turns that a stop waits for."""
        ...

    async def reconnect(self, platform: str) -> None:
        """Reconnect a platform now."""
        ...

    async def pause(self, platform: str) -> None:
        """Pause a platform: fetch none of its messages."""
        ...

    async def resume(self, platform: str) -> None:
        """Resume a paused platform."""
        ...


class PairingService(Protocol):
    """The pairing service: who is authorized to write to the assistant; see ``PairingRequests``."""

    async def pending(self) -> Sequence[PairingRequestView]:
        """Return the pairing requests, oldest first."""
        ...

    async def approve(self, platform: str, entry_id: str) -> PairedUser:
        """Approve a request."""
        ...

    async def deny(self, platform: str, entry_id: str) -> PairingRequestView:
        """Deny a request."""
        ...

    async def approved(self) -> Sequence[PairedUser]:
        """Return the approved senders."""
        ...

    async def revoke(self, platform: str, user_id: str) -> bool:
        """Revoke a sender's access."""
        ...


@dataclass(frozen=True, slots=True)
class Person:
    """A sender with a pairing request, or an approved sender.

    Attributes:
        name: The sender's chosen name, in one short printable line, else the id.
        when: Time of the request or approval, in seconds since the epoch; 0 if it is not recorded.
        entry_id: Identifies the request; "" for approved senders.
    """

    platform: str
    user_id: str
    name: str
    when: float
    entry_id: str = ""

    @classmethod
    def waiting(cls, user: PairingRequestView, now: float) -> "Person":
        """Return the sender of a pairing request."""
        when = round(now - user.age_s)
        return cls(
            user.platform, user.user_id, _one_line(user.label, user.user_id), when, user.entry_id
        )

    @classmethod
    def paired(cls, user: PairedUser) -> "Person":
        """Return an approved sender."""
        name = _one_line(user.user_name, user.user_id)
        return cls(user.platform, user.user_id, name, user.approved_at)

    @property
    def key(self) -> tuple[str, str]:
        """Identifies the same request or sender across reads."""
        return self.platform, self.entry_id or self.user_id


@dataclass(frozen=True, slots=True)
class PairingLists:
    """Pairing requests and approved senders, as read together."""

    pending: tuple[Person, ...] = ()
    approved: tuple[Person, ...] = ()

    @classmethod
    async def read(cls, service: PairingService, clock: Clock) -> "PairingLists":
        """Read both lists.

        Args:
            service: The pairing service.
            clock: For the time of a request.
        """
        waiting, now = await service.pending(), clock.time()
        paired = await service.approved()
        return cls(
            tuple(Person.waiting(each, now) for each in waiting),
            tuple(Person.paired(each) for each in paired),
        )


def _one_line(name: str, otherwise: str) -> str:
    letters = "".join(each if each.isprintable() else " " for each in name)
    words = " ".join(letters.split()) or otherwise
    return words if len(words) <= _MOST_LETTERS else f"{words[: _MOST_LETTERS - 1]}…"
