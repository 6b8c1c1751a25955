"""Policies for automatic session resets of chats and for the display of streamed replies."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, cast, get_args

from hermes_desktop.gateway.config.coercion import as_bool, as_mapping, as_number, as_whole_number
from hermes_desktop.settings.options import setting, top_or_inside

ResetMode = Literal["none", "idle", "daily", "both"]
StreamTransport = Literal["auto", "draft", "edit", "off"]

_CHATS, _REPLIES = "New sessions of chats", "Replies"
_OLD_CHATS = "Chats that were inactive for longer start a new session with the next message."
_GROWING = "Only on platforms where a text that was sent can be changed."
ALL_CHATS = "All chats"
"""What the titles of the general policy begin with."""


@dataclass(frozen=True, slots=True)
class SessionResetPolicy:
    """When a chat starts a new session automatically.

    Attributes:
        mode: Never, after an idle time, once a day, or whichever comes first.
        idle_minutes: The idle time after which a chat is reset.
        at_hour: Local hour of the daily reset, 0 to 23.
        notify: Whether the chat is notified.
        notify_exclude_platforms: Platforms that are never notified.
        bg_process_max_age_hours: The age from which a background process no longer keeps a chat
            active.
    """

    mode: ResetMode = setting(
        "session_reset.mode",
        "none",
        title=f"{ALL_CHATS}: new session",
        help="When a chat starts a new session automatically. The previous one is kept, and "
        "you can return to it.",
        section=_CHATS,
        choices={
            "none": "never automatically",
            "idle": "after a period without messages",
            "daily": "once a day",
            "both": "whichever of the two comes first",
        },
        places=top_or_inside("session_reset.mode", owns=1),
        consequence=_OLD_CHATS,
    )
    idle_minutes: int = setting(
        "session_reset.idle_minutes",
        1440,
        title=f"{ALL_CHATS}: inactive for (minutes)",
        help="How long a chat can be inactive, for the modes idle and both.",
        section=_CHATS,
        minimum=1,
        maximum=52_560_000,  # a hundred years
        places=top_or_inside("session_reset.idle_minutes", owns=1),
        variables=("SESSION_IDLE_MINUTES",),
        variable_wins=True,
        consequence=_OLD_CHATS,
    )
    at_hour: int = setting(
        "session_reset.at_hour",
        4,
        title=f"{ALL_CHATS}: hour of day",
        help="The local hour, for the modes daily and both.",
        section=_CHATS,
        minimum=0,
        maximum=23,
        places=top_or_inside("session_reset.at_hour", owns=1),
        variables=("SESSION_RESET_HOUR",),
        variable_wins=True,
        consequence=_OLD_CHATS,
    )
    notify: bool = setting(
        "session_reset.notify",
        default=True,
        title=f"{ALL_CHATS}: notify the chat",
        help="Tells the chat that a new session starts. The notice says how to return to the "
        "previous one.",
        section=_CHATS,
        places=top_or_inside("session_reset.notify", owns=1),
    )
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
        usual, excluded = cls(), given.get("notify_exclude_platforms")
        mode = given.get("mode")
        return cls(
            mode=cast(ResetMode, mode) if mode in get_args(ResetMode) else usual.mode,
            at_hour=as_whole_number(given.get("at_hour"), default=usual.at_hour, low=0, high=23),
            idle_minutes=as_whole_number(
                given.get("idle_minutes"), default=usual.idle_minutes, low=1
            ),
            notify=as_bool(given.get("notify"), default=usual.notify),
            notify_exclude_platforms=tuple(map(str, excluded))
            if isinstance(excluded, list | tuple)
            else usual.notify_exclude_platforms,
            bg_process_max_age_hours=as_whole_number(
                given.get("bg_process_max_age_hours"),
                default=usual.bg_process_max_age_hours,
                low=0,
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

    enabled: bool = setting(
        "streaming.enabled",
        default=False,
        title="Stream replies",
        help="Shows a reply while it is being written.",
        section=_REPLIES,
        places=top_or_inside("streaming.enabled", owns=1),
        consequence=_GROWING,
    )
    transport: StreamTransport = setting(
        "streaming.transport",
        "auto",
        title="Streaming method",
        help="Drafts, edits of one message, whichever the platform supports, or off.",
        section=_REPLIES,
        choices={
            "auto": "the best that the platform supports",
            "draft": "as a draft",
            "edit": "by editing one message",
            "off": "not at all",
        },
        places=top_or_inside("streaming.transport", owns=1),
        consequence=_GROWING,
    )
    edit_interval: float = setting(
        "streaming.edit_interval",
        0.8,
        title="Seconds between updates",
        help="The shortest time between two updates of a streamed reply.",
        section=_REPLIES,
        minimum=0.1,
        maximum=60,
        places=top_or_inside("streaming.edit_interval", owns=1),
        consequence="Platforms throttle frequent updates.",
    )
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
        usual, mode = cls(), _transport(given.get("mode"))
        transport = mode or _transport(given.get("transport")) or usual.transport
        return cls(
            enabled=as_bool(given.get("enabled"), default=mode not in {None, "off"}),
            transport=transport,
            edit_interval=as_number(given.get("edit_interval"), default=usual.edit_interval),
            buffer_threshold=as_whole_number(
                given.get("buffer_threshold"), default=usual.buffer_threshold, low=1
            ),
            cursor=str(given.get("cursor", usual.cursor)),
            fresh_final_after_seconds=as_number(
                given.get("fresh_final_after_seconds"), default=usual.fresh_final_after_seconds
            ),
        )


def _transport(value: object) -> StreamTransport | None:
    """Return the transport of that name; YAML reads ``on`` and ``off`` as booleans."""
    if isinstance(value, bool):
        return "auto" if value else "off"
    name = str(value).strip().lower()
    return cast(StreamTransport, name) if name in get_args(StreamTransport) else None
