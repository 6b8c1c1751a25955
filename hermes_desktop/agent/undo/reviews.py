"""Changed files that other programs run later and that the user has not reviewed; on the disk."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_desktop.agent.undo.record_files import RecordFiles
from hermes_desktop.agent.undo.runs_later import RunsLater


@dataclass(frozen=True, slots=True)
class Review:
    """The files of one turn in one folder, until the user keeps them or puts them back.

    Attributes:
        id: The name of the review, and of the turn's record.
        session_id: The session.
    """

    id: str
    session_id: str
    files: tuple[RunsLater, ...]


def pending_reviews(folder: Path) -> RecordFiles[Review]:
    """Return the reviews of a home, stored in a folder."""
    return RecordFiles(folder, _stored, _decoded, "A review of changed files")


def reviews_of(reviews: RecordFiles[Review], session_ids: Collection[str]) -> tuple[Review, ...]:
    """Return the reviews of these sessions, the earliest turn first."""
    return tuple(each for each in reviews.all() if each.session_id in session_ids)


def _stored(review: Review) -> dict[str, Any]:
    files = [[each.path, each.by] for each in review.files]
    return {"session_id": review.session_id, "files": files}


def _decoded(name: str, stored: dict[str, Any]) -> Review:
    files = tuple(RunsLater(str(path), str(by)) for path, by in stored["files"])
    return Review(name, str(stored["session_id"]), files)
