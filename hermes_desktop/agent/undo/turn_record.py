"""Records of turns on the disk: the content of the folder before and after each turn."""

import json
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from hermes_desktop.agent.undo.folder_scan import Entries, Entry
from hermes_desktop.agent.undo.record_files import RecordFiles
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic

RecordState = Literal["running", "done", "undone"]


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What a turn changed in one folder.

    While the turn runs, ``before`` is all of the folder; afterwards, only what was changed. A turn
    whose program was killed stays ``running`` and is compared when it is undone.

    Attributes:
        id: Its name; later turns have greater ones.
        session_id: The session.
        message_id: The row of the user's message.
        folder: The folder that paths are relative to.
        began: When the snapshot began, in nanoseconds since the epoch.
        whole: ``before`` began as a snapshot of the whole folder; otherwise as single files.
        before: The entries before the turn.
        after: The entries after it; None: gone. Paths in neither are unchanged.
        why_not: Why there is no snapshot of the folder, as a sentence; "" where there is one.
    """

    id: str
    session_id: str
    message_id: int
    folder: Path
    began: int
    state: RecordState = "running"
    whole: bool = False
    before: Entries = field(default_factory=dict)
    after: dict[str, Entry | None] = field(default_factory=dict)
    why_not: str = ""


def turn_records(folder: Path) -> RecordFiles[TurnRecord]:
    """Return the records of a home's turns, stored in a folder."""
    return RecordFiles(folder, stored_record, decoded_record, "The record of a turn")


def records_since(
    records: RecordFiles[TurnRecord],
    session_id: str,
    parts: Collection[str],
    *,
    message_id: int,
    since: float,
    least: str = "",
) -> list[TurnRecord]:
    """Return the records of a conversation's turns from a message on, without undone ones.

    After a compaction the message may be another row; then the time decides.

    Args:
        records: The records of the home.
        session_id: The newest part of the conversation.
        parts: The ids of its other parts.
        message_id: The row of the message.
        since: When it was written, in seconds since the epoch.
        least: The least name of the records that are read.
    """
    return [
        each
        for each in records.all(least)
        if (each.session_id == session_id or each.session_id in parts)
        and each.state != "undone"
        and (
            (each.session_id == session_id and each.message_id >= message_id)
            or each.began / 1e9 >= since
        )
    ]


def new_record(session_id: str, message_id: int, folder: Path, now_ns: int) -> TurnRecord:
    """Return the record of a turn that begins."""
    return TurnRecord(new_name(now_ns), session_id, message_id, folder, now_ns)


def new_name(now_ns: int) -> str:
    """Return a name for a record; later ones are greater."""
    return f"{now_ns // 1_000_000:014d}-{secrets.token_hex(4)}"


def least_name(seconds: float) -> str:
    """Return a name that those of later records exceed; takes seconds since the epoch."""
    return f"{max(int(seconds * 1000), 0):014d}"


def began_of(record_id: str) -> float:
    """Return when a turn began, in seconds since the epoch; 0 for a foreign name."""
    digits = record_id.partition("-")[0]
    return int(digits) / 1000 if digits.isascii() and digits.isdigit() else 0.0


def read_entries(path: Path) -> Entries:
    """Read entries that :func:`write_entries` stored; none if they cannot be read."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): Entry.read(values) for name, values in stored.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def write_entries(path: Path, entries: Entries) -> None:
    """Store the entries of a folder for its next snapshot.

    Raises:
        OSError: They cannot be written.
    """
    make_private_folder(path.parent)
    write_text_atomic(path, json.dumps({name: each.stored() for name, each in entries.items()}))


def stored_record(record: TurnRecord) -> dict[str, Any]:
    """Return a record for JSON."""
    return {
        "version": 1,
        "session_id": record.session_id,
        "message_id": record.message_id,
        "folder": str(record.folder),
        "began": record.began,
        "state": record.state,
        "whole": record.whole,
        "why_not": record.why_not,
        "before": {name: each.stored() for name, each in record.before.items()},
        "after": {
            name: None if each is None else each.stored() for name, each in record.after.items()
        },
    }


def decoded_record(name: str, stored: dict[str, Any]) -> TurnRecord:
    """Decode a stored record. Raises various errors where it is none."""
    state = stored["state"]
    if stored["version"] != 1 or state not in {"running", "done", "undone"}:
        raise ValueError("another version")
    record = TurnRecord(
        name,
        str(stored["session_id"]),
        int(stored["message_id"]),
        Path(stored["folder"]),
        int(stored["began"]),
        state,
        bool(stored["whole"]),
        why_not=str(stored["why_not"]),
    )
    return replace(
        record,
        before={path: Entry.read(each) for path, each in stored["before"].items()},
        after={
            path: None if each is None else Entry.read(each)
            for path, each in stored["after"].items()
        },
    )
