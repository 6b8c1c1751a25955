"""Background tasks of chats, and the file that records them for the next run."""

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hermes_desktop.core.errors import BusyError
from hermes_desktop.core.files.atomic_files import write_text_atomic
from hermes_desktop.core.files.private_files import make_private_folder
from hermes_desktop.gateway.sessions.session_records import SessionSource
from hermes_desktop.gateway.turns.turn import TurnRecord

log = logging.getLogger(__name__)

MOST_TASKS = 4
"""Limit of running and waiting tasks per chat; all chats of a runner share three times as many."""
MOST_TOGETHER = 12
_MOST_WORDS = 60
_MOST_READ = 1_000_000

TaskState = Literal["waiting", "running", "over"]


@dataclass(slots=True, eq=False)
class BackgroundTask:
    """A request that is answered in a separate session.

    Attributes:
        id: Its user-visible name.
        session_key: The chat in which it was requested.
        session_id: Its own session.
        source: Where the result is delivered.
        source_tag: The recorded origin of its session.
        model: The model settings chosen for the chat's session.
        record: The turn.
        agent: Set once it runs.
    """

    id: str
    session_key: str
    session_id: str
    prompt: str
    source: SessionSource
    source_tag: str
    started_at: float
    record: TurnRecord
    model: Mapping[str, str]
    message_id: str | None = None
    state: TaskState = "waiting"
    agent: Any = None

    @property
    def words(self) -> str:
        """The beginning of the request."""
        return first_words(self.prompt)


@dataclass(frozen=True, slots=True)
class InterruptedTask:
    """A task of an earlier run that was interrupted."""

    id: str
    session_key: str
    session_id: str
    prompt: str
    source: SessionSource


class TaskFile:
    """File of unfinished background tasks. Blocking.

    A file that cannot be read or written is logged and counts as absent.

    Args:
        path: The file; its folder is created when first needed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, tasks: Iterable[BackgroundTask]) -> None:
        """Record the unfinished tasks."""
        listed = [
            {
                "id": each.id,
                "session_key": each.session_key,
                "session_id": each.session_id,
                "prompt": each.prompt,
                "source": each.source.to_dict(),
            }
            for each in tasks
        ]
        try:
            if not listed:
                self._path.unlink(missing_ok=True)
                return
            make_private_folder(self._path.parent)
            write_text_atomic(self._path, json.dumps(listed, ensure_ascii=False))
        except OSError as error:
            log.warning("Background tasks cannot be noted: %s", error)

    def take(self) -> tuple[InterruptedTask, ...]:
        """Return the tasks that an earlier run did not finish, and delete the file."""
        try:
            with self._path.open(encoding="utf-8") as stream:
                listed = json.loads(stream.read(_MOST_READ))
            self._path.unlink()
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, RecursionError) as error:
            log.warning("Background tasks cannot be read: %s", error)
            return ()
        entries = listed if isinstance(listed, list) else []
        return tuple(each for each in map(_cut_off, entries) if each is not None)


def _cut_off(entry: Any) -> InterruptedTask | None:
    try:
        return InterruptedTask(
            str(entry["id"]),
            str(entry["session_key"]),
            str(entry["session_id"]),
            str(entry["prompt"]),
            SessionSource.from_dict(entry["source"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def first_words(text: str) -> str:
    """Return the beginning of a text on one line."""
    flat = " ".join(text[:1000].split())
    return flat if len(flat) <= _MOST_WORDS else flat[: _MOST_WORDS - 1] + "…"


def result_words(task: BackgroundTask, text: str) -> str:
    """Return the message that delivers a result to its chat."""
    return f"Background task “{task.words}” is done:\n\n{text}"


def failure_words(task: BackgroundTask, why: str) -> str:
    """Return the message about a failed task for its chat."""
    return f"Background task “{task.words}” came to nothing: {why}"


def cut_off_words(task: InterruptedTask, prefix: str) -> str:
    """Return the message for a chat whose task was interrupted by the end of the program."""
    return (
        f"Background task “{first_words(task.prompt)}” was cut off because the program ended. What "
        f"it did until then is kept; say {prefix}background again if it is still wanted."
    )


def too_many_tasks(number: int) -> BusyError:
    """Return the error for reaching the limit of background tasks."""
    return BusyError(
        "Too many background tasks run.",
        f"There are {number} of them.",
        "Wait for one, or stop one: /agents lists them.",
    )
