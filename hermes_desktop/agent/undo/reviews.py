"""Changed files that run by themselves later and that nobody has looked at yet; on the disk."""

import contextlib
import json
import logging
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.agent.undo.runs_later import RunsLater
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Review:
    """The files of one turn in one folder that wait for the user to keep them or put them back.

    Attributes:
        record_id: The record of the turn, and the name of the review.
        session_id: The session.
    """

    record_id: str
    session_id: str
    files: tuple[RunsLater, ...]


class Reviews:
    """What waits to be looked at in a home. Blocking; thread-safe.

    Args:
        folder: The folder of the reviews.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, review: Review) -> None:
        """Store a review.

        Raises:
            OSError: It cannot be written.
        """
        make_private_folder(self._folder)
        files = [[each.path, each.by] for each in review.files]
        text = json.dumps({"session_id": review.session_id, "files": files})
        write_text_atomic(self._path(review.record_id), text)

    def remove(self, record_id: str) -> None:
        """Delete a review, if it is there: the user has decided."""
        with contextlib.suppress(OSError):
            self._path(record_id).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """Return the names of the reviews, the earliest turn first."""
        try:
            return sorted(path.stem for path in self._folder.glob("*.json"))
        except OSError:
            return []

    def of_sessions(self, session_ids: Collection[str]) -> tuple[Review, ...]:
        """Return what waits in these sessions, the earliest turn first."""
        found = (self._read(name) for name in self.names())
        return tuple(each for each in found if each is not None and each.session_id in session_ids)

    def _read(self, name: str) -> Review | None:
        try:
            stored = json.loads(self._path(name).read_text(encoding="utf-8"))
            files = tuple(RunsLater(str(path), str(by)) for path, by in stored["files"])
            return Review(name, str(stored["session_id"]), files)
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            log.warning("A review of changed files cannot be read: %s", type(error).__name__)
            return None

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"
