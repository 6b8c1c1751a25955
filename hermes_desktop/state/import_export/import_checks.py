"""Validation of an import: limits and structure, checked before anything is written."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_desktop.core.ids import is_safe_session_id
from hermes_desktop.state.records.content_codec import decode_json


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one import, each a number or infinity. Sizes in bytes of JSON."""

    sessions: float = 500
    messages: float = 10_000
    messages_together: float = 50_000
    bytes: float = 5 * 1024 * 1024
    bytes_together: float = 25 * 1024 * 1024


DEFAULT = Limits()
"""Guaranteed to callers of ``SessionDB.import_sessions``, as in ``hermes``."""
UNLIMITED = Limits(math.inf, math.inf, math.inf, math.inf, math.inf)
"""For files chosen by the user: whatever an export wrote can be imported again."""

LONGEST_ID = 200
"""Far more than any id that Hermes makes; file names have room for it on every system."""

_TEXTS = (
    "source",
    "title",
    "parent_session_id",
    "user_id",
    "model",
    "system_prompt",
    "end_reason",
    "cwd",
    "git_branch",
    "git_repo_root",
    "billing_provider",
    "billing_base_url",
    "billing_mode",
    "cost_status",
    "cost_source",
    "pricing_version",
)
"""Fields that must be text: a list as a user or a number as a folder would be nonsense."""

Problem = dict[str, Any]


def opened(sessions: Any, limits: Limits = DEFAULT) -> list[Any]:
    """Return the sessions of an import; an exported conversation becomes its segments.

    Raises:
        ValueError: It is not a list, or too long.
    """
    if not isinstance(sessions, list | tuple):
        raise ValueError("sessions must be a list")  # noqa: TRY004 - what users of the class expect
    found: list[Any] = []
    for session in sessions:
        segments = session.get("segments") if isinstance(session, Mapping) else None
        found.extend(segments if isinstance(segments, list) and segments else [session])
    if len(found) > limits.sessions:
        raise ValueError(f"sessions must contain at most {limits.sessions} entries")
    return found


def problems(sessions: Sequence[Any], limits: Limits = DEFAULT) -> list[Problem]:
    """Return all obstacles to an import: position, message and, where known, the session."""
    found: list[Problem] = []
    seen: set[str] = set()
    messages = size = 0
    for index, session in enumerate(sessions):
        words, count, length = _look(session, seen, limits)
        if words:
            found.append(_problem(index, words, session))
        messages, size = messages + count, size + length
    if not found and messages > limits.messages_together:
        found.append({"index": 0, "error": f"more than {limits.messages_together} messages in all"})
    if not found and size > limits.bytes_together:
        found.append(
            {"index": 0, "error": f"more than {limits.bytes_together / 2**20:.0f} MiB in all"}
        )
    return found


def _problem(index: int, words: str, session: Any) -> Problem:
    problem: Problem = {"index": index, "error": words}
    session_id = session.get("id") if isinstance(session, Mapping) else None
    return {**problem, "session_id": session_id} if isinstance(session_id, str) else problem


def _look(session: Any, seen: set[str], limits: Limits) -> tuple[str, int, int]:
    """Return the error of one session ("" if none), and how many messages and bytes it has."""
    if not isinstance(session, Mapping):
        return "session must be an object", 0, 0
    words = _wrong_fields(session, seen)
    if words:
        return words, 0, 0
    messages = session.get("messages") or []
    if len(messages) > limits.messages:
        return f"more than {limits.messages} messages", len(messages), 0
    size = _size(session)
    if size > limits.bytes:
        return f"larger than {limits.bytes / 2**20:.0f} MiB", len(messages), size
    return _wrong_messages(messages), len(messages), size


def _wrong_fields(session: Mapping[str, Any], seen: set[str]) -> str:
    words = _wrong_id(session.get("id"), seen)
    if words:
        return words
    for name in _TEXTS:
        if not isinstance(session.get(name), str | None):
            return f"{name} must be a string"
    if not _is_config(session.get("model_config")):
        return "model_config must be a JSON object"
    return "" if isinstance(session.get("messages"), list | None) else "messages must be a list"


def _wrong_id(session_id: object, seen: set[str]) -> str:
    if not isinstance(session_id, str) or not session_id:
        return "session id is required"
    if not is_safe_session_id(session_id):
        return "session id cannot be used: it looks like a path or has control characters"
    if len(session_id) > LONGEST_ID:
        return f"its id has {len(session_id):,} characters, and at most {LONGEST_ID} are accepted"
    if session_id in seen:
        return "duplicate session id"
    seen.add(session_id)
    return ""


def _is_config(value: Any) -> bool:
    return (
        value is None
        or value == ""
        or isinstance(value, Mapping)
        or isinstance(decode_json(value), dict)
    )


def _wrong_messages(messages: Sequence[Any]) -> str:
    for index, message in enumerate(messages):
        if not isinstance(message, Mapping):
            return "messages must contain only objects"
        role = message.get("role")
        if not isinstance(role, str) or not role:
            return f"messages[{index}].role must be a non-empty string"
    return ""


def _size(session: Mapping[str, Any]) -> int:
    """Return the bytes of the session as JSON."""
    return len(json.dumps(session, ensure_ascii=False, default=str).encode("utf-8", "replace"))
