"""Events of the gateway and its platforms, as frozen records."""

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
    """The health of one messaging platform, computed on request.

    Attributes:
        name: Value of the platform, such as ``telegram``.
        state: ``connected`` only if its server has responded recently; ``silent`` when a response
            is overdue; ``unavailable`` when this version cannot serve it.
        last_heard_at: When its server last responded, in seconds since the epoch.
        detail: One sentence for the user, "" when all is well.
        next_try_at: When the next connection attempt is made, in seconds since the epoch.
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
        name: Its name for the user: ``hermes gateway`` or ``another Hermes Desktop``.
        started_at: When its process started, in seconds since the epoch; None if unknown.
        state: The state it reports, "" if it reports none.
    """

    name: str
    pid: int
    started_at: float | None = None
    state: str = ""
    platforms: tuple[PlatformHealth, ...] = ()


@dataclass(frozen=True, slots=True)
class HostingRefusal:
    """The reason why the gateway was not started, and what the user can do about it.

    Attributes:
        would_not_run: Work that would not be done if the gateway were started here.
        may_insist: Whether starting it anyway makes sense.
    """

    title: str
    detail: str = ""
    hint: str = ""
    would_not_run: tuple[str, ...] = ()
    may_insist: bool = False


@dataclass(frozen=True, slots=True)
class UndoneWork:
    """Work that ``hermes`` expects from a running gateway and that Hermes Desktop does not do.

    Attributes:
        jobs: How many scheduled jobs.
        cards: How many kanban cards.
        job_names: Some of the jobs, each in one short line.
        board_names: Some of the boards, in the same form.
        boards: How many boards the cards are on.
    """

    jobs: int = 0
    cards: int = 0
    job_names: tuple[str, ...] = ()
    board_names: tuple[str, ...] = ()
    boards: int = 0


@dataclass(frozen=True, slots=True)
class GatewayStatusChanged:
    """The state of the embedded gateway changed.

    Attributes:
        state: ``stopped``, ``starting``, ``running``, ``working`` (turns run), ``degraded`` (a
            platform does not work), ``stopping``, ``attached`` (another gateway has the home).
        detail: One sentence for the user.
        running_turns: How many turns run now, those of the desktop's own chat included.
        waiting_turns: How many of them wait for the user's answer.
        platforms: The messaging platforms of this gateway, sorted by name.
        other: The other gateway, while there is one.
        refusal: Why it was not started, until it is.
        offers_start: It was stopped from outside, or the other gateway ended, and it stays off
            until the user starts it; ``detail`` gives the reason.
        undone: What does not run while a Hermes Desktop, this or another one, has the home.
        since: When our gateway started serving, in seconds since the epoch; None while it does not.
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
    waiting_turns: int = 0


@dataclass(frozen=True, slots=True)
class PairingChanged:
    """A pairing request arrived or was answered: read the requests again."""


@dataclass(frozen=True, slots=True)
class SessionReset:
    """A new session was started automatically in a chat of a messaging platform.

    Attributes:
        reason: ``idle``, ``daily``, ``suspended`` or ``resume_pending_expired``.
        text: The text that was sent to the chat.
    """

    session_key: str
    platform: str
    chat_name: str
    old_session_id: str
    new_session_id: str
    reason: str
    text: str
