"""The maintenance methods of SessionDB."""

import logging
from pathlib import Path
from typing import Any

from hermes_desktop.core.errors import BusyError, HermesError
from hermes_desktop.state.database import holders
from hermes_desktop.state.facade.deletion_face import DeletionFace
from hermes_desktop.state.facade.store_face import StoreReader
from hermes_desktop.state.records import meta_table
from hermes_desktop.state.records.cancellation import CancelSignal
from hermes_desktop.state.sessions import bulk_filters, deletion, maintenance
from hermes_desktop.state.sessions.bulk_filters import DAY_S
from hermes_desktop.state.shared_tables import desktop_facts

log = logging.getLogger(__name__)


class MetaReads(StoreReader):
    """The part of ``SessionDB`` that reads key-value entries."""

    def get_meta(self, key: str) -> str | None:
        """Return the text stored under a key, None if there is none."""
        return self.read(lambda conn: meta_table.get(conn, key))

    def own_fact(self, name: str) -> str | None:
        """Return the text stored under a name in desktop.db, None if there is none."""
        return self._own.read(lambda own: desktop_facts.get(own, name), default=None)


class MaintenanceFace(DeletionFace, MetaReads):
    """The part of ``SessionDB`` that maintains the store."""

    def set_meta(self, key: str, value: str) -> None:
        """Store a text under a key. Keys of this program begin with ``desktop:``."""
        self._execute_write(lambda conn: meta_table.put(conn, key, value))

    def put_own_fact(self, name: str, value: str) -> None:
        """Store a text under a name in desktop.db, which no other program reads."""
        self._own.write(lambda own: desktop_facts.put(own, name, value))

    def prune_empty_ghost_sessions(self, sessions_dir: Path | None = None) -> int:
        """Delete terminal sessions older than a day that never had a message."""
        latest = self._clock.time() - DAY_S
        ids = self.read(lambda conn: deletion.ids_where(conn, maintenance.GHOST, latest))
        return self._delete(
            ids, lambda _: (maintenance.GHOST, (latest,)), sessions_dir, cascade=False
        )

    def finalize_orphaned_compression_sessions(self) -> int:
        """End abandoned continuations; see :data:`maintenance.ORPHAN`."""
        now = self._clock.time()
        latest = now - maintenance.ORPHAN_AGE_S
        ids = self.read(lambda conn: deletion.ids_where(conn, maintenance.ORPHAN, latest))
        done = 0
        for start in range(0, len(ids), deletion.MOST_SESSIONS):
            portion = ids[start : start + deletion.MOST_SESSIONS]
            done += self._execute_write(
                lambda conn, portion=portion: maintenance.finalize_orphans(conn, portion, now)  # type: ignore[misc]
            )
        return done

    def maybe_auto_prune_and_vacuum(
        self,
        retention_days: float = 90,
        min_interval_hours: float = 24,
        vacuum: bool = True,  # noqa: FBT001, FBT002 - positional in programs that use this class
        sessions_dir: Path | None = None,
        cancel: CancelSignal | None = None,
    ) -> dict[str, Any]:
        """Prune at most once per interval. Never raises: maintenance must not prevent a start.

        Only one of the processes that share the file prunes at a time. When ``cancel`` is set in
        the middle, the rest is due at once.

        Returns:
            ``skipped`` (done recently), ``pruned``, ``vacuumed`` and, if it failed, ``error``.
        """
        result: dict[str, Any] = {"skipped": False, "pruned": 0, "vacuumed": False}
        try:
            now, before = self._clock.time(), self.last_auto_prune()
            interval_s = min_interval_hours * 3600
            if not self._execute_write(lambda conn: maintenance.claim_prune(conn, now, interval_s)):
                return {**result, "skipped": True}
            choice = bulk_filters.by_age(retention_days, None, now, {})
            result["pruned"] = self.prune(choice, sessions_dir, cancel=cancel)
            if cancel is not None and cancel.is_set():
                self._execute_write(lambda conn: maintenance.release_claim(conn, now, before))
            elif result["pruned"] and vacuum:
                result["vacuumed"] = self._vacuum_if_alone()
        except Exception as error:  # noqa: BLE001 - see above
            log.warning("Old sessions were not pruned: %s", error)
            result["error"] = str(error)
        return result

    def last_auto_prune(self) -> float:
        """Return when any program last pruned old sessions, epoch seconds; 0: unknown."""
        return self.read(maintenance.last_prune)

    def auto_prune_due_at(self, min_interval_hours: float = 24) -> float:
        """Return when :meth:`maybe_auto_prune_and_vacuum` is due, epoch seconds; 0: any time."""
        last = self.last_auto_prune()
        return last + min_interval_hours * 3600 if last else 0.0

    def _vacuum_if_alone(self) -> bool:
        try:
            self.vacuum()
        except HermesError as error:
            log.info("The store was not made smaller: %s", error.title)
            return False
        return True

    def optimize_fts(self) -> int:
        """Merge the search indexes in short steps. Returns how many there are.

        0 for a file of a newer layout, which is not modified.
        """
        tables = maintenance.indexes(self.layout)
        for table in tables:
            first = True
            while self._execute_write(
                lambda conn, table=table, first=first: maintenance.merge_step(  # type: ignore[misc]
                    conn, table, first=first
                )
            ):
                first = False
        return len(tables)

    def rebuild_fts(self) -> int:
        """Rebuild the search indexes from the messages. Returns how many there are.

        Done in portions, so that other processes can write meanwhile and the index is usable at any
        time. 0 for a file of a newer layout, where that would damage it.
        """
        tables = maintenance.indexes(self.layout)
        if not tables:
            return 0
        for low, high in self.read(lambda conn: list(maintenance.portions(conn))):
            for table in tables:
                self._execute_write(
                    lambda conn, table=table, low=low, high=high: maintenance.reindex(  # type: ignore[misc]
                        conn, table, low, high
                    )
                )
        return len(tables)

    def vacuum(self) -> int:
        """Optimize the indexes and return unused space to the disk.

        Returns:
            How many search indexes there are.

        Raises:
            BusyError: Another program has the store open; it is named.
        """
        others = holders.other_holders(self.db_path)
        if others.seen:
            raise BusyError(
                "The store cannot be made smaller now.",
                f"It is open in {others}.",
                "Close that program and try again.",
            )
        done = self.optimize_fts()
        self._file.outside(lambda conn: conn.execute("VACUUM").fetchall())
        return done
