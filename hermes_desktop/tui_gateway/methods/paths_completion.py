"""Completion of paths."""

import os
from pathlib import Path
from typing import Any

from hermes_desktop.tui_gateway.serving_state import Call
from hermes_desktop.tui_gateway.session_record import folder_of

MOST_ITEMS = 50
_MOST_LOOKED_AT = 20_000


def complete_path(call: Call) -> dict[str, Any]:
    """Handle ``complete.path``: files and folders relative to the session's folder, or anywhere."""
    word = call.params.optional_text("word")
    session = call.session()[1] if call.params.has("session_id") else {}
    if not word or word.startswith("@") or "\0" in word:
        return {"items": []}
    head, slash, begun = word.rpartition("/")
    start = Path(folder_of(session))
    try:
        place = start / Path(f"{head}{slash}" or ".").expanduser()
        found = _matching(place, begun)
    except (OSError, RuntimeError):  # no permission, or no such home folder
        return {"items": []}
    return {"items": [_item(f"{head}{slash}", name, is_folder) for name, is_folder in found]}


def _matching(place: Path, begun: str) -> list[tuple[str, bool]]:
    """Return the matching names, folders first; hidden ones only if the dot was typed."""
    found: list[tuple[str, bool]] = []
    with os.scandir(place) as entries:
        for number, entry in enumerate(entries):
            if number >= _MOST_LOOKED_AT:
                break
            hidden = entry.name.startswith(".") and not begun.startswith(".")
            if not hidden and entry.name.lower().startswith(begun.lower()):
                found.append((entry.name, _is_folder(entry)))
    return sorted(found, key=lambda each: (not each[1], each[0]))[:MOST_ITEMS]


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _item(head: str, name: str, is_folder: bool) -> dict[str, str]:  # noqa: FBT001 - of a pair
    shown = f"{name}/" if is_folder else name
    return {"text": f"{head}{shown}", "display": shown, "meta": "dir" if is_folder else ""}
