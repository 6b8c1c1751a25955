"""When a chat begins a new conversation by itself, and how a reply is shown while it grows."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, cast, get_args

from hermes_desktop.gateway.config.coercion import as_bool, as_mapping, as_number, as_whole_number

ResetMode = Literal["none", "idle", "daily", "both"]
StreamTransport = Literal["auto", "draft", "edit", "off"]


@dataclass(frozen=True, slots=True)
class SessionResetPolicy:
    """When a chat starts a new conversation by itself.

    Attributes:
        mode: Not at all, after idling, once a day, or whichever comes first.
        at_hour: Local hour of the daily start, 0 to 23.
        idle_minutes: How long a chat may be silent.
        notify: Whether the chat is told.
        notify_exclude_platforms: Platforms that are never told.
        bg_process_max_age_hours: From when on a background process no longer keeps a chat alive.
    """

    mode: ResetMode = "none"
    at_hour: int = 4
    idle_minutes: int = 1440
    notify: bool = True
    notify_exclude_platforms: tuple[str, ...] = ("api_server", "webhook")
    bg_process_max_age_hours: int = 24

    def to_dict(self) -> dict[str, Any]:
        """As stored in the configuration."""
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
    """How a reply is shown in a chat while it is being written.

    Attributes:
        transport: By drafts, by editing one message, whichever the platform has, or not at all.
        edit_interval: Seconds between two edits at least.
        buffer_threshold: Characters that are worth an edit.
        cursor: Stands at the end of a text that still grows.
        fresh_final_after_seconds: When a reply that took longer is sent anew, whole; 0: never.
    """

    enabled: bool = False
    transport: StreamTransport = "auto"
    edit_interval: float = 0.8
    buffer_threshold: int = 24
    cursor: str = " ▉"
    fresh_final_after_seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """As stored in the configuration."""
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
    """A transport by its name; YAML makes ``on`` and ``off`` truth values."""
    if isinstance(value, bool):
        return "auto" if value else "off"
    name = str(value).strip().lower()
    return cast(StreamTransport, name) if name in get_args(StreamTransport) else None
