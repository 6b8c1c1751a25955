"""Preparation of exported sessions for import: converts times, sets folders aside, lists losses.

Pure functions over the objects of an export; nothing is read or written.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hermes_desktop.state.records.content_codec import decode_json
from hermes_desktop.state.records.stored_values import (
    IMPORTED_FOLDER,
    LATEST_SECONDS,
    seconds_of,
)

Session = Mapping[str, Any]

_TIMES = ("started_at", "ended_at")
_LONGEST_SHOWN = 40
_LARGEST_INTEGER = 2**63


@dataclass(frozen=True, slots=True)
class LostValue:
    """A value of an export that cannot be kept.

    Attributes:
        session_id: The session it belongs to.
        field: Its name, such as ``started_at``.
        value: The value, shortened.
        instead: What is stored in its place.
        count: The number of affected messages of the session; 0 for a value of the session itself.
    """

    session_id: str
    field: str
    value: str
    instead: str
    count: int = 0

    @property
    def text(self) -> str:
        """One sentence for display."""
        where = f" of {self.count:,} message{'s' * (self.count != 1)}" if self.count else ""
        return f"{self.session_id}: {self.field}{where} ({self.value}) is lost; {self.instead}."


def cleaned(session: Session) -> tuple[Session, tuple[LostValue, ...]]:
    """Return a session whose values can all be stored, and the values lost for that.

    ISO 8601 times and times in milliseconds become epoch seconds. The working folder moves to
    ``IMPORTED_FOLDER``: a folder named by a file is only information until the user confirms
    it.
    """
    session_id = str(session["id"])
    kept = dict(session)
    losses = [*_times(session_id, kept), *_numbers(session_id, kept)]
    _set_folder_aside(kept)
    messages = kept.get("messages")
    if messages:
        kept["messages"], lost = _messages(session_id, messages)
        losses += lost
    return kept, tuple(losses)


def _times(session_id: str, kept: dict[str, Any]) -> Iterator[LostValue]:
    for name in _TIMES:
        given = kept.get(name)
        if given is None:
            continue
        kept[name] = seconds_of(given)
        if kept[name] is None:
            instead = "the time of the import is used" if name == "started_at" else "none is used"
            yield LostValue(session_id, name, _shown(given), instead)


def _numbers(session_id: str, kept: dict[str, Any]) -> Iterator[LostValue]:
    """Drop integers that SQLite cannot hold; other odd types are stored as they are."""
    for name, given in list(kept.items()):
        if type(given) is int and not -_LARGEST_INTEGER <= given < _LARGEST_INTEGER:
            kept[name] = None
            yield LostValue(session_id, name, _shown(given), "the number is too large")


def _set_folder_aside(kept: dict[str, Any]) -> None:
    folder = kept.pop("cwd", None)
    if not isinstance(folder, str) or not folder.strip():
        return
    config = kept.get("model_config")
    config = config if isinstance(config, Mapping) else decode_json(config)
    kept["model_config"] = {**(config if isinstance(config, Mapping) else {}),
                            IMPORTED_FOLDER: folder}  # fmt: skip


def _messages(session_id: str, messages: list[Any]) -> tuple[list[Any], list[LostValue]]:
    found: list[Any] = []
    lost = 0
    example = ""
    for message in messages:
        given = message.get("timestamp")
        if given is None or (type(given) is float and abs(given) < LATEST_SECONDS):
            found.append(message)
            continue
        moment = seconds_of(given)
        if moment is None:
            lost, example = lost + 1, example or _shown(given)
        found.append({**message, "timestamp": moment})
    if not lost:
        return found, []
    return found, [
        LostValue(session_id, "timestamp", example, "the time of the import is used", lost)
    ]


def _shown(value: Any) -> str:
    try:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
    except ValueError:  # an integer of thousands of digits
        text = "an infinite number"
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
