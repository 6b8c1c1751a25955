"""Import of sessions from exported files. Blocking.

Everything is checked before the first session is written: a file with a mistake changes nothing.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes_desktop.core.errors import HermesError
from hermes_desktop.services.transfer.import_cleaning import LostValue, cleaned
from hermes_desktop.state import SessionDB
from hermes_desktop.state.import_export import import_checks
from hermes_desktop.state.records.cancellation import (
    CancelSignal,
    OnProgress,
    Progress,
    silent,
    stop_if,
)

Session = Mapping[str, Any]

_MOST_TOLD = 10
_MOST_SHOWN = 60
_PORTION = import_checks.DEFAULT


class ImportRefusedError(HermesError):
    """The file holds something that cannot be imported; nothing was changed."""


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import would do.

    Attributes:
        sessions: All sessions of the file, parents before their children.
        known: Ids that exist already and will be left as they are.
        lost: Values of sessions to be added that cannot be kept.
    """

    sessions: tuple[Session, ...]
    known: frozenset[str]
    lost: tuple[LostValue, ...] = ()

    @property
    def fresh(self) -> tuple[Session, ...]:
        """The sessions that will be added."""
        return tuple(each for each in self.sessions if each["id"] not in self.known)

    @property
    def by_source(self) -> Mapping[str, int]:
        """The number of sessions to be added of each source, the largest number first."""
        return dict(Counter(each.get("source") or "unknown" for each in self.fresh).most_common())


@dataclass(slots=True)
class Imported:
    """The result of an import.

    Attributes:
        ids: Sessions that were added.
        skipped: Sessions that existed already.
        detached: The number of parents that could not be kept.
        retitled: Sessions whose title was taken: id and new title.
    """

    ids: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    detached: int = 0
    retitled: list[Mapping[str, Any]] = field(default_factory=list)


def parse(text: str) -> list[Any]:
    """Parse the objects of a file: one JSON array, one object, or one object per line.

    Raises:
        ImportRefusedError: It is none of these.
    """
    stripped = text.lstrip("\ufeff").strip()
    if stripped.startswith("["):
        return _whole(stripped)
    found: list[Any] = []
    # Not splitlines(): the texts may contain U+2028 and the like.
    for number, line in enumerate(stripped.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            if number == 1:
                return _whole(stripped)
            raise _no_json(f"Line {number}: {error}") from error
    return found


def _whole(text: str) -> list[Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _no_json(str(error)) from error
    return value if isinstance(value, list) else [value]


def plan_import(db: SessionDB | None, given: Sequence[Any]) -> ImportPlan:
    """Check everything that is to be imported.

    Args:
        db: The store; None when there is none yet.
        given: Exported sessions or conversations.

    Raises:
        ImportRefusedError: One of them is invalid; the error says what is wrong and where.
    """
    opened = [
        each
        for session in given
        for each in import_checks.opened([session], import_checks.UNLIMITED)
    ]
    problems = list(_problems(opened))
    if problems:
        more = len(problems) - _MOST_TOLD
        lines = problems[:_MOST_TOLD] + ([f"… and {more} more"] if more > 0 else [])
        raise ImportRefusedError(
            "This file cannot be imported.", "\n".join(lines), "Nothing was changed; fix the file."
        )
    known = frozenset(
        each["id"] for each in opened if db is not None and db.get_session(each["id"]) is not None
    )
    ready = [cleaned(each) for each in _parents_first(opened)]
    lost = [loss for each, losses in ready if each["id"] not in known for loss in losses]
    return ImportPlan(tuple(each for each, _ in ready), known, tuple(lost))


def _problems(sessions: Sequence[Any]) -> Iterator[str]:
    seen: set[str] = set()
    for number, session in enumerate(sessions, start=1):
        for problem in import_checks.problems([session], import_checks.UNLIMITED):
            name = _shortened(problem.get("session_id") or "")
            yield f"Session {number}{f' ({name})' if name else ''}: {problem['error']}."
        session_id = session.get("id") if isinstance(session, Mapping) else None
        if isinstance(session_id, str):
            if session_id in seen:
                yield f"Session {number} ({_shortened(session_id)}) appears twice."
            seen.add(session_id)


def _shortened(session_id: str) -> str:
    return session_id if len(session_id) <= _MOST_SHOWN else session_id[:_MOST_SHOWN] + "…"


def _parents_first(sessions: Sequence[Session]) -> list[Session]:
    """Sort sessions so that every parent among them comes before its children."""
    by_id = {each["id"]: each for each in sessions}
    ordered: dict[str, Session] = {}
    for session in sessions:
        path: dict[str, Session] = {}
        current: Session | None = session
        while current is not None and current["id"] not in ordered and current["id"] not in path:
            path[current["id"]] = current
            current = by_id.get(current.get("parent_session_id") or "")
        ordered.update((each["id"], each) for each in reversed(path.values()))
    return list(ordered.values())


def run_import(
    db: SessionDB,
    plan: ImportPlan,
    *,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> Imported:
    """Add the planned sessions in batches; after a failure the same import can be continued.

    Raises:
        ImportRefusedError: The store refuses a batch after all; earlier batches stay.
        CancelledError: It was cancelled; what was added stays.
    """
    done = Imported(skipped=sorted(plan.known))
    total = len(plan.fresh)
    for portion in _portions(plan.fresh):
        stop_if(cancel, "The import")
        report = db.import_sessions(portion, limits=import_checks.UNLIMITED)
        if not report["ok"]:
            words = "\n".join(str(each["error"]) for each in report["errors"][:_MOST_TOLD])
            raise ImportRefusedError("This file cannot be imported.", words, "Fix the file.")
        done.ids += report["imported_ids"]
        done.skipped += report["skipped_ids"]
        done.detached += report["detached"]
        done.retitled += report["retitled"]
        on_progress(Progress("Importing", len(done.ids), total))
    return done


def _portions(sessions: Sequence[Session]) -> Iterator[list[Session]]:
    """Yield batches as large as one call accepts: by number, messages and bytes."""
    portion: list[Session] = []
    messages = size = 0
    for session in sessions:
        count = len(session.get("messages") or ())
        length = len(
            json.dumps(session, ensure_ascii=False, default=str).encode("utf-8", "replace")
        )
        if portion and (
            len(portion) >= _PORTION.sessions
            or messages + count > _PORTION.messages_together
            or size + length > _PORTION.bytes_together
        ):
            yield portion
            portion, messages, size = [], 0, 0
        portion.append(session)
        messages, size = messages + count, size + length
    if portion:
        yield portion


def _no_json(where: str) -> ImportRefusedError:
    return ImportRefusedError(
        "This file is not an export of sessions.",
        where,
        "Use a file written by `hermes-desktop sessions export` or `hermes sessions export`.",
    )
