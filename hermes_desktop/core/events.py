"""The events of the program, as frozen records. One class per kind of event; no behavior.

*Activity* events (turns, gateway status) are published by the component that is active. *Data*
events (which sessions changed) are published by the state watcher alone, whichever program wrote.
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
    ContextUsed,
    ToolFinished,
    ToolStarted,
    TurnDelta,
    TurnFinished,
    TurnNote,
    TurnQueued,
    TurnStarted,
)
from hermes_desktop.core.user_requests import RequestPending, RequestResolved

__all__ = [
    "OFFERED_SESSION",
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
    "RequestPending",
    "RequestResolved",
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
    """Rows of state.db have changed.

    Attributes:
        session_ids: Sessions whose row or messages changed (or appeared).
        removed_ids: Sessions whose row was deleted.
        reload_all: True when the changed sessions are unknown; everything must be read again.
    """

    session_ids: frozenset[str] = frozenset()
    removed_ids: frozenset[str] = frozenset()
    reload_all: bool = False


@dataclass(frozen=True, slots=True)
class StateFileChanged:
    """The file behind state.db was replaced, vanished or reappeared."""

    description: str


@dataclass(frozen=True, slots=True)
class StoreConditionChanged:
    """Whether conversations may be written has changed; query the store."""


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """One changed setting.

    Attributes:
        key: Its name; for a secret, the variable.
        effect: When it takes effect: ``live``, ``reconnect``, ``restart`` or ``next start``.
        platform: The platform it belongs to, "" for none.
    """

    key: str
    effect: str
    platform: str = ""


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Settings were changed here; the current values are in the files."""

    changes: tuple[SettingChanged, ...]


OFFERED_SESSION = "session:"
"""Prefix of the key of a notice whose action opens a session; the session's id follows."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice to the user in the strip above the page.

    Attributes:
        level: How it is drawn and how long it stays (errors stay).
        key: Notices of the same key replace each other; "" never replaces.
        action: Label of its button, "" for none; the key determines what the button does.
    """

    level: Literal["info", "ok", "warning", "error"]
    title: str
    detail: str = ""
    hint: str = ""
    key: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True)
class NoticeCleared:
    """The cause of the notice with this key is resolved."""

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
    | RequestPending
    | RequestResolved
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
