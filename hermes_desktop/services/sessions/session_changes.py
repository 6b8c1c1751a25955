"""What the turns of a session changed, as far as the user can act on it. Blocking."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from hermes_desktop.agent.undo.restoring import Undo, plan_undo
from hermes_desktop.agent.undo.reviews import reviews_of
from hermes_desktop.agent.undo.turn_record import TurnRecord, least_name, records_since
from hermes_desktop.agent.undo.turn_undo import UndoStore
from hermes_desktop.services.sessions.session_actions import RunningTurn
from hermes_desktop.services.sessions.undo_plan import TurnUndoPlan
from hermes_desktop.state import SessionDB

_CLOCK_SLACK_S = 3600.0


@dataclass(frozen=True, slots=True)
class UnseenFiles:
    """Changed files that run automatically later and that the user has not looked at yet.

    Attributes:
        plan: Puts all of them back; the conversation stays.
        run_by: What runs each of them, by the path that is shown.
        reviews: The names of the reviews that they belong to.
    """

    plan: TurnUndoPlan
    run_by: Mapping[str, str] = field(default_factory=dict)
    reviews: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedByTurn:
    """The last turn of a session, which changed files.

    Attributes:
        message_id: The row of the user's message.
        last_id: The row of its last message.
        files: How many; 0: not known, because the turn was interrupted.
    """

    message_id: int
    last_id: int
    files: int


@dataclass(frozen=True, slots=True)
class SessionChanges:
    """What the turns of a session changed, as far as the user can act on it.

    Attributes:
        unseen: Files that run later and wait for the user.
        last_turn: The last turn, if it changed files and can be undone.
    """

    unseen: UnseenFiles | None = None
    last_turn: ChangedByTurn | None = None


class TurnChanges:
    """Finds what the turns of sessions changed. Blocking; may be called on any thread.

    Args:
        db: The shared file.
        store: What is kept of the home's turns.
        running_turn: Finds running turns.
    """

    def __init__(self, db: SessionDB, store: UndoStore, running_turn: RunningTurn) -> None:
        self._db = db
        self._store = store
        self._running_turn = running_turn

    def of(self, session_id: str) -> SessionChanges:
        """Return what the turns of a session changed, as far as the user can act on it.

        Args:
            session_id: Any part of the conversation.

        Raises:
            StateError: The shared file cannot be read.
        """
        reviewed = bool(self._store.reviews.names())
        recorded = self._db.condition.writable and bool(self._store.records.names())
        if not reviewed and not recorded:
            return SessionChanges()
        shown = self._db.resolve_resume_session_id(session_id)
        parts = {shown, *self._db.get_compression_lineage(shown)}
        return SessionChanges(
            self._unseen(shown, parts) if reviewed else None,
            self._last_turn(shown, parts) if recorded else None,
        )

    def keep(self, files: UnseenFiles) -> None:
        """Note that the user has looked at these files; they are not shown again."""
        for name in files.reviews:
            self._store.reviews.remove(name)

    def _last_turn(self, shown: str, parts: Collection[str]) -> ChangedByTurn | None:
        """Return the last turn if it changed files and can be undone; None otherwise."""
        asked = self._db.list_recent_user_messages(shown, limit=1)
        if not asked:
            return None
        message_id = int(asked[0]["id"])
        since = float(asked[0]["timestamp"] or 0.0)
        records = records_since(
            self._store.records,
            shown,
            parts,
            message_id=message_id,
            since=since,
            least=least_name(since - _CLOCK_SLACK_S),
        )
        interrupted = any(each.state == "running" for each in records)
        files = {
            (record.folder, path)
            for record in records
            for path, entry in record.after.items()
            if (left := entry or record.before.get(path)) and left.kind != "folder"
        }
        if not (interrupted or files) or (interrupted and self._running_turn(shown) is not None):
            return None
        last_id = max(self._db.active_message_ids(shown, message_id), default=message_id)
        return ChangedByTurn(message_id, last_id, 0 if interrupted else len(files))

    def _unseen(self, shown: str, parts: Collection[str]) -> UnseenFiles | None:
        """Return the changed files that run later and wait for the user; None for none."""
        run_by: dict[str, str] = {}
        records: list[TurnRecord] = []
        waiting = reviews_of(self._store.reviews, parts)
        for review in waiting:
            record = self._store.records.get(review.id)
            if record is None or record.state == "undone":
                continue
            paths = {each.path: each.by for each in review.files}
            run_by |= paths
            records.append(_narrowed(record, paths))
        files = plan_undo(self._store, records)
        steps = tuple(e for e in files.steps if e.state != "as-before" and e.now is not None)
        if not steps:
            return None
        plan = TurnUndoPlan(shown, 0, 0, "", Undo((), steps))
        shown_by = {each.shown: run_by[each.path] for each in steps}
        return UnseenFiles(plan, shown_by, tuple(each.id for each in waiting))


def _narrowed(record: TurnRecord, paths: Collection[str]) -> TurnRecord:
    """Return a record with these files only."""
    return replace(
        record,
        before={path: each for path, each in record.before.items() if path in paths},
        after={path: each for path, each in record.after.items() if path in paths},
        why_not="",
    )
