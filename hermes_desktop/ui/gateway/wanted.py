"""What the window needs of the services behind it, and no more. No Qt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hermes_desktop.core.events import GatewayStatusChanged
from hermes_desktop.gateway.access.pairing import PairedUser
from hermes_desktop.services.hosting.pairing_requests import WaitingUser

_MOST_LETTERS = 60


class GatewayControl(Protocol):
    """The gateway of this home, hosted here or by another program; see ``GatewayHost``."""

    @property
    def status(self) -> GatewayStatusChanged:
        """How it is now."""
        ...

    def look(self) -> GatewayStatusChanged:
        """The same, with when each platform was last heard of as it is at this moment."""
        ...

    async def start(self, *, insist: bool = False) -> None:
        """Start it; what came of it stands in the status."""
        ...

    async def stop(self) -> None:
        """Stop it, or stop waiting for the other one to go."""
        ...

    async def restart(self) -> None:
        """Stop and start it."""
        ...

    async def take_over(self, *, insist: bool = False) -> None:
        """Ask the other one to stop, and start ours; ``stop`` ends the waiting."""
        ...

    def hurry(self) -> None:
        """Interrupt the turns that a stop waits for."""
        ...

    async def reconnect(self, platform: str) -> None:
        """Connect a platform anew, now."""
        ...

    async def pause(self, platform: str) -> None:
        """Fetch no messages of a platform."""
        ...

    async def resume(self, platform: str) -> None:
        """Fetch them again."""
        ...


class PairingDesk(Protocol):
    """Who may write to the assistant; see ``PairingRequests``."""

    async def pending(self) -> Sequence[WaitingUser]:
        """Who asks, the one who waits longest first."""
        ...

    async def approve(self, platform: str, entry_id: str) -> PairedUser:
        """Let somebody in."""
        ...

    async def deny(self, platform: str, entry_id: str) -> WaitingUser:
        """Do not."""
        ...

    async def approved(self) -> Sequence[PairedUser]:
        """Who was let in."""
        ...

    async def revoke(self, platform: str, user_id: str) -> bool:
        """Let somebody in no more."""
        ...


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who asks to be let in, or was.

    Attributes:
        name: What they call themselves, in one short printable line, else their id.
        when: When they asked, or were let in, in seconds since the epoch; 0 when nobody noted it.
        entry_id: Names the request; "" for those who were let in.
    """

    platform: str
    user_id: str
    name: str
    when: float
    entry_id: str = ""

    @classmethod
    def waiting(cls, user: WaitingUser, now: float) -> "Person":
        """Somebody who asks."""
        when = round(now - user.age_s)
        return cls(
            user.platform, user.user_id, _one_line(user.label, user.user_id), when, user.entry_id
        )

    @classmethod
    def paired(cls, user: PairedUser) -> "Person":
        """Somebody who was let in."""
        name = _one_line(user.user_name, user.user_id)
        return cls(user.platform, user.user_id, name, user.approved_at)

    @property
    def key(self) -> tuple[str, str]:
        """Stays the same while the same thing is meant."""
        return self.platform, self.entry_id or self.user_id


def _one_line(name: str, otherwise: str) -> str:
    letters = "".join(each if each.isprintable() else " " for each in name)
    words = " ".join(letters.split()) or otherwise
    return words if len(words) <= _MOST_LETTERS else f"{words[: _MOST_LETTERS - 1]}…"
