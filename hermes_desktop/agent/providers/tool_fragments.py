"""Assembly of tool calls from the pieces in which they are streamed."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_desktop.agent.types import ToolCall
from hermes_desktop.state.records.content_codec import clean_text

MOST_CALLS = 128
"""More in one answer are not a legitimate request."""
MOST_ARGUMENTS = 4 * 1024 * 1024


@dataclass(slots=True)
class _Slot:
    index: object
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    told: bool = False


class ToolFragments:
    """Collects pieces in the order of arrival; a call may be cut anywhere.

    Pieces belong together by their index; a new id at a used index begins another call, and a
    piece without an index belongs to the call with its id, or to the latest.
    """

    def __init__(self) -> None:
        self._slots: list[_Slot] = []

    def take(self, pieces: Any) -> None:
        """Add the ``tool_calls`` of one chunk, or of a whole answer; invalid ones are skipped."""
        for place, piece in enumerate(pieces if isinstance(pieces, list) else ()):
            if isinstance(piece, Mapping):
                self._take_one(piece, alone=len(pieces) == 1, place=place)

    def newly_named(self) -> list[str]:
        """Return the names of calls that are known by now, and were not returned before."""
        found = [slot for slot in self._slots if slot.name and slot.size and not slot.told]
        for slot in found:
            slot.told = True
        return [clean_text(slot.name) for slot in found]

    def calls(self) -> tuple[ToolCall, ...]:
        """Return the calls, each with an id that is unique among them."""
        calls: list[ToolCall] = []
        taken: set[str] = set()
        for slot in self._slots:
            call_id = slot.id if slot.id and slot.id not in taken else _new_id()
            taken.add(call_id)
            name, arguments = clean_text(slot.name), clean_text("".join(slot.pieces))
            calls.append(ToolCall(call_id, name, arguments))
        return tuple(calls)

    def _take_one(self, piece: Mapping[str, Any], *, alone: bool, place: int) -> None:
        call_id = piece["id"] if isinstance(piece.get("id"), str) else ""
        index = piece.get("index", None if alone else place)
        slot = self._slot(index, call_id)
        if slot is None:
            return
        slot.id = slot.id or call_id
        function = piece.get("function")
        inner = function if isinstance(function, Mapping) else piece
        name = inner.get("name")
        if isinstance(name, str) and name != slot.name:  # some repeat it in every piece
            slot.name += name
        _add_arguments(slot, inner.get("arguments"))

    def _slot(self, index: object, call_id: str) -> _Slot | None:
        for slot in reversed(self._slots):
            same_place = index is not None and slot.index == index
            if same_place and (not call_id or not slot.id or slot.id == call_id):
                return slot
            if index is None and call_id and slot.id == call_id:
                return slot
        if index is None and not call_id and self._slots:
            return self._slots[-1]
        if len(self._slots) >= MOST_CALLS:
            return None
        self._slots.append(_Slot(index))
        return self._slots[-1]


def _add_arguments(slot: _Slot, arguments: Any) -> None:
    if arguments is None:
        return
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    slot.size += len(text)
    if slot.size <= MOST_ARGUMENTS:  # a longer one is broken, and is answered as such
        slot.pieces.append(text)


def _new_id() -> str:
    return f"call_{secrets.token_hex(8)}"
