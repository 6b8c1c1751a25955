"""The methods of SessionDB that delete, archive and prune sessions."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Unpack

from hermes_desktop.state.conversations import trash_rows
from hermes_desktop.state.conversations.trash_rows import ConversationScope
from hermes_desktop.state.facade import long_deletion
from hermes_desktop.state.facade.pin_face import PinFace, PinReads
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, Progress, silent
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.records import SessionRow
from hermes_desktop.state.records.stored_rows import marks
from hermes_desktop.state.sessions import (
    archiving,
    bulk_filters,
    bulk_selection,
    deletion,
    lineage,
    pins,
)
from hermes_desktop.state.sessions.bulk_filters import Candidate, FilterFields, SessionFilter
from hermes_desktop.state.sessions.bulk_selection import Selection
from hermes_desktop.state.sessions.deletion import DeletionScope

Still = Callable[[sqlite3.Connection], tuple[str, Sequence[object]]]
"""Returns a condition on the session ``s`` as SQL, with its values."""


class DeletionReads(PinReads):
    """The part of ``SessionDB`` that previews a deletion or a bulk operation."""

    def lineage_ids_for_delete(self, session_id: str) -> DeletionScope:
        """Return the whole conversation a session belongs to, and its subagents."""
        return self.read(lambda conn: deletion.conversation_scope(conn, session_id))

    def selection(self, choice: SessionFilter, *, for_archive: bool = False) -> Selection:
        """Return what pruning (or archiving) with this filter would affect and what it spares."""
        own_pins = self._own_pins()
        return self.read(
            lambda conn: bulk_selection.select(conn, choice, own_pins, spare_parts=not for_archive)
        )

    def candidates(self, choice: SessionFilter) -> list[Candidate]:
        """Return the sessions that :meth:`prune` with this filter would delete, oldest first."""
        return list(self.selection(choice).candidates)

    def ended_session_of(
        self, choice: SessionFilter
    ) -> Callable[[sqlite3.Connection, str], ConversationScope | None]:
        """Return :func:`trash_rows.ended_session`, limited to sessions that still match."""

        def taking(conn: sqlite3.Connection, session_id: str) -> ConversationScope | None:
            where, values = choice.where(conn)
            if not choice.include_pinned:
                if session_id in self._own_pins():
                    return None
                where += f" AND {pins.not_pinned_sql(conn)}"
            still = deletion.ids_where(conn, f"s.id = ? AND {where}", session_id, *values)
            return trash_rows.ended_session(conn, session_id) if still else None

        return taking

    def list_prune_candidates(
        self,
        older_than_days: float | None = None,
        source: str | None = None,
        **conditions: Unpack[FilterFields],
    ) -> list[SessionRow]:
        """Return what :meth:`prune_sessions` would delete, as rows.

        Raises:
            TypeError: An unknown condition.
        """
        choice = bulk_filters.by_age(older_than_days, source, self._clock.time(), conditions)
        return [candidate.as_row() for candidate in self.candidates(choice)]

    def prune_selection(self, older_than_days: float) -> Selection:
        """Return what :meth:`prune_sessions` would delete with this age, and what it spares."""
        choice = bulk_filters.by_age(older_than_days, None, self._clock.time(), {})
        return self.selection(choice)

    def count_empty_sessions(self) -> int:
        """Return how many sessions :meth:`delete_empty_sessions` would delete."""
        return len(self._empty())

    def _empty(self) -> list[str]:
        pinned = self.pinned_ids()
        found = self.read(lambda conn: deletion.ids_where(conn, deletion.EMPTY))
        return [each for each in found if each not in pinned]


class DeletionFace(PinFace, DeletionReads):
    """The part of ``SessionDB`` that deletes and archives.

    ``sessions_dir``, if given, is the folder with transcripts of older releases and error dumps:
    those of deleted sessions are deleted, too. ``routing_scope`` is this program's own scope of the
    routing table: its rows for deleted sessions are deleted, those of other scopes stay.
    """

    def delete_session(
        self,
        session_id: str,
        sessions_dir: Path | None = None,
        *,
        routing_scope: str | None = None,
    ) -> bool:
        """Delete one session with its subagents; other children become independent conversations.

        Returns:
            False when there is no such session.

        Raises:
            RefusedError: An unknown part of the store still refers to it.
        """
        return bool(self.delete_sessions([session_id], sessions_dir, routing_scope=routing_scope))

    def delete_sessions(
        self,
        session_ids: Sequence[str | None],
        sessions_dir: Path | None = None,
        *,
        routing_scope: str | None = None,
    ) -> int:
        """Delete sessions with their subagents, in short transactions. Returns how many.

        Subagents are not counted; unknown ids and None are ignored.
        """
        wanted = self.read(lambda conn: deletion.existing(conn, session_ids))
        return self._delete(
            wanted, _whatever, sessions_dir, spare_pinned=False, routing_scope=routing_scope
        )

    def _delete(  # noqa: PLR0913 - each is needed
        self,
        ids: Sequence[str],
        still: Still,
        sessions_dir: Path | None,
        *,
        cascade: bool = True,
        spare_pinned: bool = True,
        routing_scope: str | None = None,
        on_progress: OnProgress = silent,
        cancel: CancelSignal | None = None,
    ) -> int:
        """Delete those sessions for which a condition still holds when their portion is processed.

        Unless ``spare_pinned`` is False, sessions pinned in the meantime are kept.
        """
        started = (lambda conn: deletion.subagents_of_each(conn, ids)) if cascade else _nobody
        agents = self.read(started)
        portions = self.read(lambda conn: list(deletion.portions(conn, ids, agents)))
        total = sum(len(portion.agents) for portion in portions)
        deleted = done = 0
        for portion in portions:
            if cancel is not None and cancel.is_set():
                break
            count, gone = self._delete_portion(
                portion, still, routing_scope, spare_pinned=spare_pinned
            )
            deleted += count
            self._forget_pins(gone)
            if sessions_dir is not None:
                deletion.remove_files(sessions_dir, gone)
            done += len(portion.agents)
            on_progress(Progress("Deleting", done, total))
        return deleted

    def _delete_portion(
        self,
        portion: deletion.Portion,
        still: Still,
        routing_scope: str | None,
        *,
        spare_pinned: bool,
    ) -> tuple[int, list[str]]:
        """Return how many of the named sessions were deleted, and the ids of all deleted ones."""
        named: list[str] = []

        def choose(conn: sqlite3.Connection) -> list[str]:
            kept = self._own_pins() if spare_pinned else frozenset()
            ids = [each for each in portion.agents if each not in kept]
            also, values = still(conn)
            condition = f"s.id IN ({marks(ids)}) AND ({also})"
            if spare_pinned:
                condition += f" AND {pins.not_pinned_sql(conn)}"
            named[:] = deletion.ids_where(conn, condition, *ids, *values)
            family = [*named, *(agent for each in named for agent in portion.agents[each])]
            present = deletion.existing(conn, family)
            if routing_scope is not None:
                deletion.forget_routes(conn, routing_scope, present)
            return present

        if portion.is_long:
            gone = long_deletion.remove_long(self, choose, self._clock.time())
        else:
            gone = self._execute_write(lambda conn: deletion.remove(conn, choose(conn)))
        return len(set(named).intersection(gone)), gone

    def _forget_pins(self, gone: Sequence[str]) -> None:
        pinned = self.own_pins_if_readable().intersection(gone)
        if pinned:
            self._own.write(lambda own: pins.remove(own, pinned))

    def finish_what_was_cut_short(self) -> int:
        """Finish deletions and undo copies that a crash interrupted. Returns how many."""
        return long_deletion.finish(self, self._clock.time())

    def delete_session_if_empty(self, session_id: str, sessions_dir: Path | None = None) -> bool:
        """Delete a session that has no title, no message and no child. False: it was kept."""
        return bool(
            self._delete([clean_text(session_id)], _that(deletion.NEVER_USED), sessions_dir)
        )

    def delete_empty_sessions(self, sessions_dir: Path | None = None) -> int:
        """Delete ended sessions without messages, unless archived or pinned. Returns how many."""
        return self._delete(self._empty(), _that(deletion.EMPTY), sessions_dir, cascade=False)

    def prune(
        self,
        choice: SessionFilter,
        sessions_dir: Path | None = None,
        *,
        routing_scope: str | None = None,
        on_progress: OnProgress = silent,
        cancel: CancelSignal | None = None,
    ) -> int:
        """Delete what a filter selects; children are detached, also subagents. Returns how many.

        A session that was reopened, used or pinned in the meantime stays, and so do the remaining
        ones once ``cancel`` is set.
        """
        ids = [candidate.id for candidate in self.candidates(choice)]
        return self._delete(
            ids,
            choice.where,
            sessions_dir,
            cascade=False,
            spare_pinned=not choice.include_pinned,
            routing_scope=routing_scope,
            on_progress=on_progress,
            cancel=cancel,
        )

    def prune_sessions(
        self,
        older_than_days: float | None = 90,
        source: str | None = None,
        sessions_dir: Path | None = None,
        **conditions: Unpack[FilterFields],
    ) -> int:
        """Delete ended sessions unused for a long time that match all conditions. Returns how many.

        Raises:
            TypeError: An unknown condition.
        """
        choice = bulk_filters.by_age(older_than_days, source, self._clock.time(), conditions)
        return self.prune(choice, sessions_dir)

    def archive(self, choice: SessionFilter) -> int:
        """Archive the conversations that a filter selects, all their segments.

        Returns:
            How many selected sessions were not archived before.
        """
        selected = self.selection(choice, for_archive=True).candidates
        fresh = [found.id for found in selected if not found.archived]
        members = self.read(lambda conn: archiving.families(conn, fresh))
        for start in range(0, len(members), deletion.MOST_SESSIONS):
            portion = members[start : start + deletion.MOST_SESSIONS]
            self._execute_write(
                lambda conn, portion=portion: archiving.set_archived(  # type: ignore[misc]
                    conn, portion, archived=True
                )
            )
        return len(fresh)

    def archive_sessions(
        self,
        older_than_days: float | None = None,
        source: str | None = None,
        **conditions: Unpack[FilterFields],
    ) -> int:
        """Archive like :meth:`archive`, with the conditions as keywords.

        Raises:
            TypeError: An unknown condition.
        """
        choice = bulk_filters.by_age(older_than_days, source, self._clock.time(), conditions)
        return self.archive(choice)

    def set_session_archived(
        self,
        session_id: str,
        archived: bool,  # noqa: FBT001 - positional in programs that use this class
    ) -> bool:
        """Hide a conversation, all its segments, from lists, or show it again. False: unknown."""
        wanted = clean_text(session_id)

        def archive(conn: sqlite3.Connection) -> int:
            members = lineage.conversation(conn, wanted)
            return archiving.set_archived(conn, members, archived=bool(archived))

        return bool(self._execute_write(archive))


def _that(condition: str, *values: object) -> Still:
    return lambda _: (condition, values)


_whatever = _that("1")


def _nobody(_: sqlite3.Connection) -> dict[str, list[str]]:
    return {}
