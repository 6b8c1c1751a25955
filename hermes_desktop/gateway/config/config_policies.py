"""Policies for automatic session resets of chats and for the display of streamed replies."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, cast, get_args

from hermes_desktop.gateway.config.coercion import as_bool, as_mapping, as_number, as_whole_number

ResetMode = Literal["none", "idle", "daily", "both"]
StreamTransport = Literal["auto", "draft", "edit", "off"]


@dataclass(frozen=True, slots=True)
class SessionResetPolicy:
    """When a chat starts a new session automatically.

    Attributes:
        mode: Never, after an idle time, once a day, or whichever comes first.
        at_hour: Local hour of the daily reset, 0 to 23.
        idle_minutes: The idle time after which a chat is reset.
        notify: Whether the chat is notified.
        notify_exclude_platforms: Platforms that are never notified.
        bg_process_max_age_hours: The age from which a background process no longer keeps a chat
            active.
    """

    mode: ResetMode = "none"
    at_hour: int = 4
    idle_minutes: int = 1440
    notify: bool = True
    notify_exclude_platforms: tuple[str, ...] = ("api_server", "webhook")
    bg_process_max_age_hours: int = 24

    def to_dict(self) -> dict[str, Any]:
        """Return the form stored in the configuration."""
        return {
            "mode": self.mode,
            "at_hour": self.at_hour,
            "idle_minutes": self.idle_minutes,
            "notify": self.notify,
            "notify_exclude_platforms": list(self.notify_exclude_platforms),
            "bg_process_max_age_hours": self.bg_process_max_age_hours,
        }

    @classmethod
    def from_dict(cls, data: object) -> "SessionResetPolicy":
        """Read a policy; what is missing, null or out of range becomes the default."""
        given = {key: value for key, value in as_mapping(data).items() if value is not None}
        excluded = given.get("notify_exclude_platforms")
        mode = given.get("mode")
        return cls(
            mode=cast(ResetMode, mode) if mode in get_args(ResetMode) else "none",
            at_hour=as_whole_number(given.get("at_hour"), default=4, low=0, high=23),
            idle_minutes=as_whole_number(given.get("idle_minutes"), default=1440, low=1),
            notify=as_bool(given.get("notify"), default=True),
            notify_exclude_platforms=tuple(str(name) for name in excluded)
            if isinstance(excluded, list | tuple)
            else ("api_server", "webhook"),
            bg_process_max_age_hours=as_whole_number(
                given.get("bg_process_max_age_hours"), default=24, low=0
            ),
        )


@dataclass(frozen=True, slots=True)
class StreamingConfig:
    """How a reply is shown in a chat while it is being generated.

    Attributes:
        transport: By drafts, by editing one message, whichever the platform has, or not at all.
        edit_interval: Minimum number of seconds between two edits.
        buffer_threshold: Minimum number of new characters for an edit.
        cursor: Shown at the end of an incomplete text.
        fresh_final_after_seconds: When a reply that took longer is sent again as a new, complete
            message; 0: never.
    """

    enabled: bool = False
    transport: StreamTransport = "auto"
    edit_interval: float = 0.8
    buffer_threshold: int = 24
    cursor: str = " ▉"
    fresh_final_after_seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the form stored in the configuration."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: object) -> "StreamingConfig":
        """Read settings. ``mode`` names a transport and, unlike ``transport``, switches it on."""
        given = {key: value for key, value in as_mapping(data).items() if value is not None}
        mode = _transport(given.get("mode"))
        transport = mode or _transport(given.get("transport")) or "auto"
        return cls(
            enabled=as_bool(given.get("enabled"), default=mode not in {None, "off"}),
            transport=transport,
            edit_interval=as_number(given.get("edit_interval"), default=0.8),
            buffer_threshold=as_whole_number(given.get("buffer_threshold"), default=24, low=1),
            cursor=str(given.get("cursor", " ▉")),
            fresh_final_after_seconds=as_number(
                given.get("fresh_final_after_seconds"), default=0.0
            ),
        )


def _transport(value: object) -> StreamTransport | None:
    """Return the transport of that name; YAML reads ``on`` and ``off`` as booleans."""
    if isinstance(value, bool):
        return "auto" if value else "off"
    name = str(value).strip().lower()
    return cast(StreamTransport, name) if name in get_args(StreamTransport) else None
