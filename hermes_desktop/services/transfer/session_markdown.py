"""Rendering of one conversation as a Markdown document."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from hermes_desktop.state.records.stored_values import seconds_of

_NAMES = {"user": "You", "assistant": "Hermes", "system": "System", "tool": "Tool"}
_FRONT = ("id", "title", "source", "model", "started_at", "ended_at", "end_reason", "cwd",
          "message_count", "input_tokens", "output_tokens")  # fmt: skip
_HIDDEN_ROLES = {"session_meta"}
_BACKTICKS = re.compile("`+")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_LONGEST_SLUG, _LONGEST_ID = 60, 100
_GOOD_ID = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{_LONGEST_ID - 1}}}")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""Names that Windows gives to devices, whatever their ending."""


def file_name(session_id: str, title: str | None) -> str:
    """Return a file name for the document: the id, and the title as far as file names allow.

    An id that is no good file name is followed by its checksum, so that no two ids have one name.
    """
    plain = unicodedata.normalize("NFKD", title or "").encode("ascii", "ignore").decode()
    slug = _NOT_IN_NAMES.sub("-", plain.lower()).strip("-")[:_LONGEST_SLUG].strip("-")
    safe = _safe(session_id)
    return f"{safe}-{slug}.md" if slug else f"{safe}.md"


def _safe(session_id: str) -> str:
    if _GOOD_ID.fullmatch(session_id) and not _RESERVED.fullmatch(session_id):
        return session_id
    checksum = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"_{re.sub(r'[^A-Za-z0-9._-]', '_', session_id)[:_LONGEST_ID]}-{checksum}"


def document(conversation: Mapping[str, Any]) -> str:
    """Return the document: facts first, then the messages, with tool output in code blocks.

    Args:
        conversation: As returned by ``export_session_lineage``.
    """
    title = " ".join(str(conversation.get("title") or "Untitled session").split())
    parts = ["---\n", *_front(conversation), "---\n", f"\n# {title}\n"]
    for message in conversation.get("messages") or ():
        if message.get("role") not in _HIDDEN_ROLES:
            parts.extend(_message(message))
    return "".join(parts)


def _front(conversation: Mapping[str, Any]) -> Iterator[str]:
    """Yield YAML lines, each value written as JSON, which YAML can read."""
    segments = conversation.get("segments") or [conversation]
    values = {**conversation, "started_at": segments[0].get("started_at")}
    for name in _FRONT:
        value = values.get(name)
        if value is None:
            continue
        if name in {"started_at", "ended_at"}:
            value = _time(value)
        yield f"{name}: {json.dumps(value, ensure_ascii=False)}\n"
    if len(segments) > 1:
        yield f"parts: {json.dumps([each.get('id') for each in segments])}\n"


def _message(message: Mapping[str, Any]) -> Iterator[str]:
    role = str(message.get("role"))
    name = _NAMES.get(role, role)
    if role == "tool" and message.get("tool_name"):
        name = f"{name} {message['tool_name']}"
    yield f"\n## {name} · {_time(message.get('timestamp'))}\n"
    text = _text(message.get("content"))
    if text.strip():
        yield "\n" + (_fenced(text) if role == "tool" else text.strip("\n")) + "\n"
    for call in message.get("tool_calls") or ():
        yield "\n" + _call(call) + "\n"


def _call(call: Any) -> str:
    inner = call.get("function") if isinstance(call, Mapping) else None
    function = inner if isinstance(inner, Mapping) else {}
    arguments = function.get("arguments", call if not function else "")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"**{function.get('name') or 'tool'}**\n\n{_fenced(text)}"


def _text(content: Any) -> str:
    """Return structured content as its text parts; other parts are named by their type."""
    if isinstance(content, list):
        return "\n\n".join(_part(part) for part in content)
    return content if isinstance(content, str) else "" if content is None else json.dumps(content)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping):
        text = part.get("text")
        return text if isinstance(text, str) else f"[{part.get('type') or 'attachment'}]"
    return str(part)


def _fenced(text: str) -> str:
    """Return a code block whose fence is longer than every run of backticks in it."""
    longest = max((len(found) for found in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.rstrip(chr(10))}\n{fence}"


def _time(moment: Any) -> str:
    seconds = seconds_of(moment)
    if seconds is None:
        return "?"
    try:
        return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return "?"
