"""Records of message sources and of chats' sessions, and the session key that joins the two."""

import dataclasses
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hermes_desktop.core.ids import is_safe_session_id
from hermes_desktop.gateway.config.coercion import as_bool
from hermes_desktop.gateway.config.gateway_config import Platform, platform_or_none

_ALWAYS_WRITTEN = frozenset(
    {
        "platform",
        "chat_id",
        "chat_name",
        "chat_type",
        "user_id",
        "user_name",
        "thread_id",
        "chat_topic",
    }
)
_SOURCE_IDS = {
    "user_id",
    "user_id_alt",
    "thread_id",
    "chat_id_alt",
    "scope_id",
    "guild_id",
    "profile",
}
_NEVER_WRITTEN = frozenset({"delivered_via_upstream_relay"})
_MODEL_OVERRIDE_KEYS = ("model", "provider", "base_url")
_UNSAFE_KEY = re.compile(r"\.\.|^[/\\]|^[A-Za-z]:")


@dataclass(slots=True)
class SessionSource:
    """The chat and the sender of a message.

    Attributes:
        chat_type: ``dm``, ``group``, ``channel``, ``thread`` or ``forum``.
        user_id_alt: A second id of the same sender, preferred where it is known.
        scope_id: Server or workspace; ``guild_id`` is its older name and always the same.
        role_authorized: The platform authorized the sender by role.
        delivered_via_upstream_relay: True for this run only; never stored.
    """

    platform: Platform
    chat_id: str
    chat_name: str | None = None
    chat_type: str = "dm"
    user_id: str | None = None
    user_name: str | None = None
    thread_id: str | None = None
    chat_topic: str | None = None
    user_id_alt: str | None = None
    chat_id_alt: str | None = None
    is_bot: bool = False
    scope_id: str | None = None
    guild_id: str | None = None
    parent_chat_id: str | None = None
    message_id: str | None = None
    role_authorized: bool = False
    profile: str | None = None
    auto_thread_created: bool = False
    auto_thread_initial_name: str | None = None
    delivered_via_upstream_relay: bool = False

    def __post_init__(self) -> None:
        self.scope_id = self.guild_id = self.scope_id or self.guild_id

    @property
    def description(self) -> str:
        """A short, readable name of the chat."""
        place = self.chat_name or self.user_name or self.chat_id
        kind = "with" if self.chat_type == "dm" else self.chat_type
        text = f"{self.platform.value} {kind} {place}"
        return f"{text}, thread {self.thread_id}" if self.thread_id else text

    def to_dict(self) -> dict[str, Any]:
        """Return the form stored in the routing index; optional fields only when set."""
        data: dict[str, Any] = {}
        for name in _SOURCE_FIELDS:
            value = getattr(self, name)
            if value or name in _ALWAYS_WRITTEN:
                data[name] = value
        data["platform"] = self.platform.value
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "SessionSource":
        """Read the form that :meth:`to_dict` returns; unknown keys are dropped.

        Raises:
            KeyError: Platform or chat id is missing.
            ValueError: The platform is unknown.
        """
        values = {key: value for key, value in data.items() if key in _SOURCE_FIELDS}
        for name in _SOURCE_IDS & values.keys():
            if values[name] is not None:
                values[name] = str(values[name])
        values["platform"] = Platform(data["platform"])
        values["chat_id"] = str(data["chat_id"])
        values["chat_type"] = str(data.get("chat_type") or "dm")
        return cls(**values)


def build_session_key(
    source: SessionSource,
    group_sessions_per_user: bool = True,  # noqa: FBT001, FBT002 - names and order are given
    thread_sessions_per_user: bool = False,  # noqa: FBT001, FBT002
    profile: str | None = None,
) -> str:
    """Return the session key of a message.

    Args:
        source: The source of the message.
        group_sessions_per_user: Each member of a group has a separate session.
        thread_sessions_per_user: The same inside a thread, which is otherwise shared.
        profile: Name of the profile; None, "" and ``default`` mean ``main``.
    """
    namespace = "main" if profile in {None, "", "default"} else profile
    person = _person(source.platform, source.user_id_alt or source.user_id)
    parts: list[str | None] = [f"agent:{namespace}", source.platform.value, source.chat_type]
    if source.chat_type == "dm":
        parts += [_person(source.platform, source.chat_id) or person, source.thread_id]
    else:
        parts += [source.chat_id, source.thread_id]
        if group_sessions_per_user and (thread_sessions_per_user or not source.thread_id):
            parts.append(person)
    return ":".join(part for part in parts if part)


def _person(platform: Platform, name: str | None) -> str | None:
    """Return a user's id; WhatsApp writes the same one with device and server, or without."""
    if platform is Platform.WHATSAPP and name:
        return re.split("[:@]", name, maxsplit=1)[0]
    return name


_SOURCE_FIELDS = tuple(
    item.name for item in dataclasses.fields(SessionSource) if item.name not in _NEVER_WRITTEN
)
_SOURCE_VALUES = operator.attrgetter(*_SOURCE_FIELDS)


def _beyond_source(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in _SOURCE_FIELDS}


@dataclass(slots=True)
class SessionEntry:
    """The current session of a chat. Times are local, without a zone.

    Attributes:
        session_key: The chat (:func:`build_session_key`).
        session_id: The session, a row of ``sessions``; changes at a rotation.
        platform: None when the stored name is unknown.
        suspended: Stopped by its user; kept as it is.
        model_override: Model chosen in this chat; never holds a secret.
        previous_session_id: The session that a reset left, to return to; of this run only.
        previous_finalized: Whether the end of that was already processed; of this run only.
        unknown: Unknown content of the stored entry; written back as it was.
    """

    session_key: str
    session_id: str
    created_at: datetime
    updated_at: datetime
    origin: SessionSource | None = None
    display_name: str | None = None
    platform: Platform | None = None
    chat_type: str = "dm"
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    total_tokens: int = 0
    estimated_cost_usd: float = 0.0
    cost_status: str = "unknown"
    last_prompt_tokens: int = 0
    was_auto_reset: bool = False
    auto_reset_reason: str | None = None
    reset_had_activity: bool = False
    is_fresh_reset: bool = False
    expiry_finalized: bool = False
    suspended: bool = False
    resume_pending: bool = False
    resume_reason: str | None = None
    last_resume_marked_at: datetime | None = None
    model_override: dict[str, str] | None = None
    previous_session_id: str | None = field(default=None, compare=False)
    previous_finalized: bool = field(default=False, compare=False)
    unknown: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_foreign(self) -> bool:
        """Whether it belongs to a platform that only other programs know."""
        return self.platform is None and "platform" in self.unknown

    def fingerprint(self) -> tuple[Any, ...]:
        """Return a value that differs when the stored form differs; cheap to compute."""
        override = tuple((self.model_override or {}).items())
        origin = None if self.origin is None else _SOURCE_VALUES(self.origin)
        return (_ENTRY_VALUES(self), origin, override)

    def to_dict(self) -> dict[str, Any]:
        """Return the form stored in the routing index."""
        data = {name: getattr(self, name) for name in _ENTRY_FIELDS}
        for name in ("created_at", "updated_at", "last_resume_marked_at"):
            data[name] = data[name].isoformat() if data[name] is not None else None
        data["platform"] = self.platform.value if self.platform is not None else None
        data["origin"] = self.origin.to_dict() if self.origin is not None else None
        data["model_override"] = without_credentials(self.model_override)
        for name, value in self.unknown.items():
            if name == "origin" and data["origin"] is not None:
                data["origin"] = {**value, **data["origin"]}
            elif data.get(name) is None:
                data[name] = value
        for name in ("origin", "model_override"):
            if not data[name]:
                del data[name]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "SessionEntry":
        """Read the form that :meth:`to_dict` returns; unknown keys are preserved.

        Raises:
            KeyError: Key, id or one of the two times is missing.
            ValueError: An id could name a path, or a time cannot be read.
            TypeError: A value has an invalid type.
        """
        values = {
            key: value for key, value in data.items() if key in _ENTRY_FIELDS and value is not None
        }
        values["session_key"] = _safe_key(data["session_key"])
        values["session_id"] = _safe_id(data["session_id"])
        values["created_at"] = _local(datetime.fromisoformat(data["created_at"]))
        values["updated_at"] = _local(datetime.fromisoformat(data["updated_at"]))
        _drop_misfits(values)
        values["last_resume_marked_at"] = _time_or_none(data.get("last_resume_marked_at"))
        values["platform"] = platform_or_none(data.get("platform"))
        finalized = data.get("expiry_finalized", data.get("memory_flushed"))
        values["expiry_finalized"] = as_bool(finalized, default=False)
        values["origin"] = _origin_or_none(data.get("origin"))
        values["model_override"] = without_credentials(data.get("model_override"))
        return cls(**values, unknown=_unknown(data, values))


_ENTRY_FIELDS = tuple(
    item.name
    for item in dataclasses.fields(SessionEntry)
    if item.name not in {"previous_session_id", "previous_finalized", "unknown"}
)
_ENTRY_VALUES = operator.attrgetter(
    *(name for name in _ENTRY_FIELDS if name not in {"origin", "model_override"})
)


def _unknown(data: Mapping[str, Any], read: Mapping[str, Any]) -> dict[str, Any]:
    """Return the unknown part of a stored entry."""
    ours = {*_ENTRY_FIELDS, "memory_flushed"}
    left = {key: value for key, value in data.items() if key not in ours}
    if read["platform"] is None and data.get("platform"):
        left["platform"] = data["platform"]
    origin = data.get("origin")
    if isinstance(origin, Mapping):
        parts = origin if read["origin"] is None else _beyond_source(origin)
        if parts:
            left["origin"] = dict(parts)
    return left


def _safe_id(value: object) -> str:
    text = str(value)
    if not is_safe_session_id(text):
        raise ValueError("the session id could name a path")
    return text


def _safe_key(value: object) -> str:
    text = str(value)
    if not text or _UNSAFE_KEY.search(text):
        raise ValueError("the session key could name a path")
    return text


def _local(time: datetime) -> datetime:
    """Return a local time without the zone that another program may have written."""
    return time if time.tzinfo is None else time.astimezone().replace(tzinfo=None)


def _drop_misfits(values: dict[str, Any]) -> None:
    """Remove values of an unusable type, so that the defaults apply."""
    for item in dataclasses.fields(SessionEntry):
        value = values.get(item.name)
        if isinstance(item.default, bool) and value is not None:
            values[item.name] = as_bool(value, default=item.default)
        elif isinstance(item.default, int | float) and (
            isinstance(value, bool) or not isinstance(value, int | float)
        ):
            values.pop(item.name, None)


def _time_or_none(value: object) -> datetime | None:
    try:
        return _local(datetime.fromisoformat(str(value))) if value else None
    except ValueError:
        return None


def _origin_or_none(value: object) -> SessionSource | None:
    if not isinstance(value, Mapping):
        return None
    try:
        return SessionSource.from_dict(value)
    except ValueError:  # an unknown platform: the entry is still useful
        return None


def without_credentials(value: object) -> dict[str, str] | None:
    """Return a model choice reduced to names and address; None when nothing is left."""
    if not isinstance(value, Mapping):
        return None
    kept = {key: str(value[key]) for key in _MODEL_OVERRIDE_KEYS if value.get(key) is not None}
    return kept or None


def is_shared_session(
    source: SessionSource, *, group_sessions_per_user: bool, thread_sessions_per_user: bool
) -> bool:
    """Return whether several users share a session, so that each message names its sender."""
    if source.chat_type == "dm":
        return False
    return not (thread_sessions_per_user if source.thread_id else group_sessions_per_user)
