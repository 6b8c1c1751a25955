"""Records of undos on the disk: what an undo replaced, so that it can be reverted."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hermes_desktop.agent.undo.record_files import RecordFiles
from hermes_desktop.agent.undo.turn_record import (
    RecordState,
    TurnRecord,
    decoded_record,
    stored_record,
)


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """What one undo replaces. It is written before the first file is.

    Attributes:
        id: Its name; later undos have greater ones.
        session_id: The session.
        message_id: The row of the first message that was undone; 0: none was.
        folders: The entries of each folder, as the ``before`` of a turn; its ``after`` is what was
            put back.
        rows: The rows of the messages that were undone.
        turns: The records of the undone turns, and their states before.
        finished: The undo was not killed or cancelled.
    """

    id: str
    session_id: str
    message_id: int = 0
    folders: tuple[TurnRecord, ...] = ()
    rows: tuple[int, ...] = ()
    turns: Mapping[str, RecordState] = field(default_factory=dict)
    finished: bool = False


def undo_records(folder: Path) -> RecordFiles[UndoRecord]:
    """Return the records of a home's undos, stored in a folder."""
    return RecordFiles(folder, _stored, _decoded, "The record of an undo")


def begin_undo(records: RecordFiles[UndoRecord], record: UndoRecord) -> UndoRecord:
    """Store the record of an undo, joined with an unfinished one of the same messages.

    So a redo also restores what was replaced before the program was killed.

    Raises:
        OSError: It cannot be written; nothing may be replaced then.
    """
    earlier = [
        each
        for each in records.all()
        if not each.finished
        and (each.session_id, each.message_id) == (record.session_id, record.message_id)
        and record.message_id
    ]
    for each in earlier:
        record = _joined(each, record)
    records.write(record)
    for each in earlier:
        records.remove(each.id)
    return record


def _joined(earlier: UndoRecord, later: UndoRecord) -> UndoRecord:
    """Return the later record, extended by what the earlier one had replaced."""
    folders = {each.folder: each for each in earlier.folders}
    for each in later.folders:
        old = folders.get(each.folder)
        if old is None:
            folders[each.folder] = each
            continue
        fresh = {path: entry for path, entry in each.before.items() if path not in old.after}
        folders[each.folder] = replace(
            each, before={**fresh, **old.before}, after={**old.after, **each.after}
        )
    return replace(
        later,
        folders=tuple(folders.values()),
        rows=tuple(sorted({*earlier.rows, *later.rows})),
        turns={**later.turns, **earlier.turns},
    )


def _stored(record: UndoRecord) -> dict[str, Any]:
    return {
        "version": 1,
        "session_id": record.session_id,
        "message_id": record.message_id,
        "folders": [stored_record(each) for each in record.folders],
        "rows": list(record.rows),
        "turns": dict(record.turns),
        "finished": record.finished,
    }


def _decoded(name: str, stored: dict[str, Any]) -> UndoRecord:
    turns = stored["turns"]
    if stored["version"] != 1 or not set(turns.values()) <= {"running", "done", "undone"}:
        raise ValueError("another version")
    return UndoRecord(
        name,
        str(stored["session_id"]),
        int(stored["message_id"]),
        tuple(decoded_record(name, each) for each in stored["folders"]),
        tuple(map(int, stored["rows"])),
        dict(turns),
        bool(stored["finished"]),
    )
