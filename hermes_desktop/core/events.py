"""What happened, as frozen records. One class per kind of news; no behaviour.

*Liveliness* (turns, gateway status) is published by whoever does it. *Data* (which sessions
changed) is published by the state watcher alone, whoever wrote.
"""

from dataclasses import dataclass
from typing import Literal

from hermes_desktop.core.gateway_events import (
    GatewayState,
    GatewayStatusChanged,
    HealthState,
    HostingRefusal,
    OtherGateway,
    PairingChanged,
    PlatformHealth,
    SessionReset,
    UndoneWork,
)
from hermes_desktop.core.turn_events import (
    ApprovalChoice,
    ApprovalRequested,
    ApprovalResolved,
    ContextUsed,
    QuestionAnswered,
    QuestionAsked,
    ToolFinished,
    ToolStarted,
    TurnDelta,
    TurnFinished,
    TurnNote,
    TurnQueued,
    TurnStarted,
)

__all__ = [
    "OFFERED_SESSION",
    "ApprovalChoice",
    "ApprovalRequested",
    "ApprovalResolved",
    "ContextUsed",
    "Event",
    "GatewayState",
    "GatewayStatusChanged",
    "HealthState",
    "HostingRefusal",
    "Notice",
    "NoticeCleared",
    "OtherGateway",
    "PairingChanged",
    "PlatformHealth",
    "QuestionAnswered",
    "QuestionAsked",
    "SessionReset",
    "SessionsChanged",
    "SettingChanged",
    "SettingsChanged",
    "StateFileChanged",
    "ToolFinished",
    "ToolStarted",
    "TurnDelta",
    "TurnFinished",
    "TurnNote",
    "TurnQueued",
    "TurnStarted",
    "UndoneWork",
]


@dataclass(frozen=True, slots=True)
class SessionsChanged:
    """Rows of state.db are not what they were.

    Attributes:
        session_ids: Sessions whose row or messages changed (or appeared).
        removed_ids: Sessions whose row is gone.
        reload_all: True when we cannot tell which; everything must be read again.
    """

    session_ids: frozenset[str] = frozenset()
    removed_ids: frozenset[str] = frozenset()
    reload_all: bool = False


@dataclass(frozen=True, slots=True)
class StateFileChanged:
    """The file behind state.db was replaced, vanished or came back."""

    description: str


@dataclass(frozen=True, slots=True)
class StoreConditionChanged:
    """Whether conversations may be written here is not what it was; ask the store."""


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """One setting that was changed.

    Attributes:
        key: Its name; of a secret the variable.
        effect: When it counts: ``live``, ``reconnect``, ``restart`` or ``next start``.
        platform: The platform it belongs to, "" for none.
    """

    key: str
    effect: str
    platform: str = ""


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Settings were changed here; what they are now stands in the files."""

    changes: tuple[SettingChanged, ...]


OFFERED_SESSION = "session:"
"""Begins the key of a notice whose action opens a session; its id follows."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell a person in the strip above the page.

    Attributes:
        level: How it is drawn and how long it stays (errors stay).
        key: Notices of the same key replace each other; "" never replaces.
        action: Words of the button in it, "" for none; what it does is known by the key.
    """

    level: Literal["info", "ok", "warning", "error"]
    title: str
    detail: str = ""
    hint: str = ""
    key: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True)
class NoticeCleared:
    """The matter of the notice with this key is settled."""

    key: str


Event = (
    SessionsChanged
    | StateFileChanged
    | StoreConditionChanged
    | TurnQueued
    | TurnStarted
    | TurnDelta
    | ToolStarted
    | ToolFinished
    | ApprovalRequested
    | ApprovalResolved
    | QuestionAsked
    | QuestionAnswered
    | ContextUsed
    | TurnNote
    | TurnFinished
    | GatewayStatusChanged
    | PairingChanged
    | SessionReset
    | SettingsChanged
    | Notice
    | NoticeCleared
)
