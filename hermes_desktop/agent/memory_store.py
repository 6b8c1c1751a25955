"""The memory of a user across conversations, and the changes that wait for approval.

Two files in ``memories``; entries are separated by a line with §. Where the user approves each
change, it waits in ``pending/memory``, one file each, in the format that ``hermes`` uses, too.
"""

import contextlib
import hashlib
import json
import logging
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hermes_desktop.core.errors import NotFoundError, RefusedError, StateError
from hermes_desktop.core.files import file_lock
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic

log = logging.getLogger(__name__)

LIMITS: Final[Mapping[str, int]] = {"memory": 2200, "user": 1375}
_FILES: Final = {"memory": "MEMORY.md", "user": "USER.md"}
_NAMES: Final = {"memory": "memory", "user": "user profile"}
_BETWEEN: Final = "\n§\n"
_ID = re.compile(r"[0-9a-f]{4,32}")
_MOST_PENDING = 200
_MOST_READ = 20_000
_SUMMARY = 160


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory entry.

    Attributes:
        id: Identifies it as long as its text is unchanged.
    """

    id: str
    target: str
    text: str


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """A change that waits for the user's approval.

    Attributes:
        old_text: A part of the entry that is replaced or removed.
    """

    id: str
    action: str
    target: str
    content: str
    old_text: str
    summary: str
    created_at: float


class MemoryStore:
    """The memory of one home. Blocking; our processes and threads exclude each other.

    Args:
        home: The Hermes home.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / "memories"
        self._pending = home / "pending" / "memory"
        self._lock = home / "desktop" / "memory.lock"

    # Reading

    def texts(self, target: str) -> list[str]:
        """Return the entries of one file.

        Raises:
            OSError: It cannot be read.
        """
        try:
            text = (self._folder / _FILES[target]).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return []
        return [each.strip() for each in text.split(_BETWEEN) if each.strip()]

    def entries(self, target: str) -> tuple[Entry, ...]:
        """Return the entries with their ids."""
        return tuple(Entry(_name(target, text), target, text) for text in self.texts(target))

    def used(self, target: str) -> int:
        """Return how many characters of its limit a file uses."""
        return len(_BETWEEN.join(self.texts(target)))

    def pending(self) -> tuple[PendingWrite, ...]:
        """Return the pending changes, oldest first; invalid files are skipped."""
        try:
            files = sorted(self._pending.glob("*.json"))[:_MOST_PENDING]
        except OSError:
            return ()
        found = [each for file in files if (each := _read(file)) is not None]
        return tuple(sorted(found, key=lambda each: each.created_at))

    # Changing

    def change(self, action: str, target: str, content: str = "", old_text: str = "") -> list[str]:
        """Add, replace or remove an entry; return all entries of that file afterwards.

        Raises:
            RefusedError: It is invalid, or does not fit; nothing was changed.
            StateError: It cannot be written.
        """
        with self._alone():
            entries = self.texts(target)
            if action == "add":
                _need(content)
                if content not in entries:
                    entries.append(content)
            else:
                at = _find(entries, old_text)
                if action == "remove":
                    del entries[at]
                else:
                    _need(content)
                    entries[at] = content
            self._write(target, entries)
        return entries

    def forget(self, entry: Entry) -> None:
        """Remove an entry.

        Raises:
            NotFoundError: It no longer exists.
            StateError: It cannot be written.
        """
        with self._alone():
            entries = self.texts(entry.target)
            if entry.text not in entries:
                raise _not_there()
            entries.remove(entry.text)
            self._write(entry.target, entries)

    def find(self, name: str) -> Entry:
        """Return an entry by its id, or by a part of its text that is unique to it.

        Raises:
            NotFoundError: There is none, or several.
        """
        known = [*self.entries("memory"), *self.entries("user")]
        found = [each for each in known if each.id == name.lower()]
        found = found or [each for each in known if name and name.lower() in each.text.lower()]
        if len(found) != 1:
            raise (
                _not_there()
                if not found
                else NotFoundError(
                    "Several entries contain this text.",
                    f"{len(found)} do.",
                    "Use the ID of the entry.",
                )
            )
        return found[0]

    def stage(
        self, action: str, target: str, content: str, old_text: str, *, now: float
    ) -> PendingWrite:
        """Store a change until the user approves it.

        Raises:
            RefusedError: It is invalid at present, or too many changes are pending.
            StateError: It cannot be written.
        """
        with self._alone():
            if len(self.pending()) >= _MOST_PENDING:
                raise RefusedError("Too many changes are already waiting.")
            if action != "remove":
                _need(content)
            if action != "add":
                _find(self.texts(target), old_text)
            name = secrets.token_hex(4)
            what = content if action != "remove" else old_text
            verb = {"add": "add to", "replace": "replace in", "remove": "remove from"}[action]
            summary = f"{verb} {_NAMES[target]}: {' '.join(what.split())[:_SUMMARY]}"
            payload = {
                "action": action,
                "target": target,
                "content": content or None,
                "old_text": old_text or None,
            }
            document = {
                "id": name,
                "subsystem": "memory",
                "action": action,
                "summary": summary,
                "origin": "assistant_tool",
                "created_at": now,
                "payload": payload,
            }
            make_private_folder(self._pending)
            text = json.dumps(document, ensure_ascii=False, indent=2)
            write_text_atomic(self._pending / f"{name}.json", text)
        return PendingWrite(name, action, target, content, old_text, summary, now)

    def approve(self, name: str) -> PendingWrite:
        """Apply a pending change.

        Raises:
            NotFoundError: No change with that name is pending.
            RefusedError: It can no longer be applied; it stays pending.
            StateError: It cannot be written.
        """
        waiting = self._waiting(name)
        if waiting.content not in self.texts(waiting.target) or waiting.action != "add":
            self.change(waiting.action, waiting.target, waiting.content, waiting.old_text)
        self._drop(waiting)
        return waiting

    def reject(self, name: str) -> PendingWrite:
        """Discard a pending change. Errors as in :meth:`approve`."""
        waiting = self._waiting(name)
        self._drop(waiting)
        return waiting

    # Internals

    def _waiting(self, name: str) -> PendingWrite:
        for each in self.pending():
            if each.id == name.lower():
                return each
        raise NotFoundError(
            "There is no pending change with this name.",
            f"“{name[:40]}” is not a pending change.",
            "Check the pending changes.",
        )

    def _drop(self, waiting: PendingWrite) -> None:
        (self._pending / f"{waiting.id}.json").unlink(missing_ok=True)

    def _write(self, target: str, entries: list[str]) -> None:
        text = _BETWEEN.join(entries)
        if len(text) > LIMITS[target]:
            raise RefusedError(
                "This is too long to remember.",
                f"{len(text)} of {LIMITS[target]} characters.",
                "Remove or shorten an entry first.",
            )
        make_private_folder(self._folder)
        write_text_atomic(self._folder / _FILES[target], text)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            make_private_folder(self._lock.parent)
            with file_lock.hold(self._lock):
                yield
        except OSError as error:
            raise StateError(
                "The memory cannot be changed.", str(error.strerror or error)
            ) from error


def _name(target: str, text: str) -> str:
    return hashlib.sha256(f"{target}\n{text}".encode()).hexdigest()[:6]


def _need(text: str) -> None:
    if not text.strip() or "§" in text:
        raise RefusedError("content must not be empty or contain the character §.")


def _find(entries: list[str], part: str) -> int:
    found = [at for at, each in enumerate(entries) if part and part in each]
    if len(found) != 1:
        raise RefusedError(f"old_text is found in {len(found)} entries; it must be in exactly one.")
    return found[0]


def _read(file: Path) -> PendingWrite | None:
    try:
        with file.open(encoding="utf-8", errors="replace") as stream:
            document = json.loads(stream.read(_MOST_READ))
    except (OSError, ValueError, RecursionError):
        return None
    payload = document.get("payload") if isinstance(document, dict) else None
    if not isinstance(payload, dict) or not _ID.fullmatch(file.stem):
        return None
    action, target = payload.get("action"), payload.get("target")
    if action not in {"add", "replace", "remove"} or target not in LIMITS:
        return None
    return PendingWrite(
        id=file.stem,
        action=str(action),
        target=str(target),
        content=_text(payload.get("content")),
        old_text=_text(payload.get("old_text")),
        summary=_text(document.get("summary")),
        created_at=_number(document.get("created_at")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and value == value else 0.0  # noqa: PLR0124 - NaN


def _not_there() -> NotFoundError:
    return NotFoundError("There is no such entry.", "", "Check the memory.")
