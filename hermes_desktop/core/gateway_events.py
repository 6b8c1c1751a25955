"""What happens to the gateway and its platforms, as frozen records."""

from dataclasses import dataclass, field
from typing import Literal

GatewayState = Literal[
    "stopped", "starting", "running", "working", "degraded", "stopping", "attached"
]


HealthState = Literal[
    "connecting",
    "connected",
    "silent",
    "retrying",
    "paused",
    "fatal",
    "disabled",
    "unavailable",
]


@dataclass(frozen=True, slots=True)
class PlatformHealth:
    """How one messaging platform is doing, computed when it was asked for.

    Attributes:
        name: Value of the platform, such as ``telegram``.
        state: ``connected`` only while its server was heard of lately; ``silent`` when it should
            have been and was not; ``unavailable`` when this version cannot serve it.
        last_heard_at: When its server was last heard of, in seconds since the epoch.
        detail: One sentence for a person, "" when all is well.
        next_try_at: When connecting is tried again, in seconds since the epoch.
    """

    name: str
    state: HealthState
    last_heard_at: float | None = None
    detail: str = ""
    next_try_at: float | None = None


@dataclass(frozen=True, slots=True)
class OtherGateway:
    """The gateway of another program that runs for this home.

    Attributes:
        name: What it is, for a person: ``hermes gateway`` or ``another Hermes Desktop``.
        started_at: When its process began, in seconds since the epoch; None when nobody tells.
        state: What it says about itself, "" when it does not.
    """

    name: str
    pid: int
    started_at: float | None = None
    state: str = ""
    platforms: tuple[PlatformHealth, ...] = ()


@dataclass(frozen=True, slots=True)
class HostingRefusal:
    """Why the gateway was not started, and what a person can do about it.

    Attributes:
        would_not_run: What others would wait for in vain if the gateway were started here.
        may_insist: Whether starting it all the same makes sense.
    """

    title: str
    detail: str = ""
    hint: str = ""
    would_not_run: tuple[str, ...] = ()
    may_insist: bool = False


@dataclass(frozen=True, slots=True)
class UndoneWork:
    """Work that ``hermes`` expects of a running gateway and that Hermes Desktop does not do.

    Attributes:
        jobs: How many scheduled jobs.
        cards: How many kanban cards.
        job_names: Some of the jobs, each in one short line.
        board_names: Some of the boards, likewise.
        boards: How many boards the cards are on.
    """

    jobs: int = 0
    cards: int = 0
    job_names: tuple[str, ...] = ()
    board_names: tuple[str, ...] = ()
    boards: int = 0


@dataclass(frozen=True, slots=True)
class GatewayStatusChanged:
    """The embedded gateway went to another state.

    Attributes:
        state: ``stopped``, ``starting``, ``running``, ``working`` (turns run), ``degraded`` (a
            platform does not work), ``stopping``, ``attached`` (another gateway has the home).
        detail: One sentence for a person.
        running_turns: How many turns run right now, those of the desktop's own chat included.
        platforms: The messaging platforms of this gateway, sorted by name.
        other: The other gateway, while there is one.
        refusal: Why it was not started, until it is.
        offers_start: It was stopped from outside, or the other gateway ended, and it stays off
            until a person starts it; ``detail`` says why.
        undone: What does not run while a Hermes Desktop, this or another one, has the home.
        since: When our gateway began to serve, in seconds since the epoch; None while it does not.
    """

    state: GatewayState
    detail: str = ""
    running_turns: int = 0
    platforms: tuple[PlatformHealth, ...] = ()
    other: OtherGateway | None = None
    refusal: HostingRefusal | None = None
    offers_start: bool = False
    undone: UndoneWork | None = None
    since: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PairingChanged:
    """Somebody asks to be let in, or was answered: the requests are to be read again."""


@dataclass(frozen=True, slots=True)
class SessionReset:
    """A chat of a messaging platform began anew by itself.

    Attributes:
        reason: ``idle``, ``daily``, ``suspended`` or ``resume_pending_expired``.
        text: The same words the chat was told.
    """

    session_key: str
    platform: str
    chat_name: str
    old_session_id: str
    new_session_id: str
    reason: str
    text: str
