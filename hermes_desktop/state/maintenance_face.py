"""Upkeep of the store, as methods of it."""

import logging
from pathlib import Path
from typing import Any

from hermes_desktop.core.errors import BusyError, HermesError
from hermes_desktop.state import deletion, holders, maintenance, meta_table
from hermes_desktop.state.bulk_filters import DAY_S
from hermes_desktop.state.deletion_face import DeletionFace
from hermes_desktop.state.store_face import StoreFace

log = logging.getLogger(__name__)


class MetaReads(StoreFace):
    """The part of ``SessionDB`` that reads small facts."""

    def get_meta(self, key: str) -> str | None:
        """The text stored under a key, None if there is none."""
        return self.read(lambda conn: meta_table.get(conn, key))


class MaintenanceFace(DeletionFace, MetaReads):
    """The part of ``SessionDB`` that keeps the store in order."""

    def set_meta(self, key: str, value: str) -> None:
        """Store a text under a key. Keys of ours begin with ``desktop:``."""
        self._execute_write(lambda conn: meta_table.put(conn, key, value))

    def prune_empty_ghost_sessions(self, sessions_dir: Path | None = None) -> int:
        """Delete terminal sessions of yesterday and before that never held a word."""
        latest = self._clock.time() - DAY_S
        ids = self.read(lambda conn: deletion.ids_where(conn, maintenance.GHOST, latest))
        still = maintenance.GHOST.replace("?", repr(latest))
        return self._delete(ids, still, sessions_dir, cascade=False)

    def finalize_orphaned_compression_sessions(self) -> int:
        """End continuations that were left behind; see :data:`maintenance.ORPHAN`."""
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
    ) -> dict[str, Any]:
        """Prune once in a while. Never raises: upkeep must not stop a start.

        Returns:
            ``skipped`` (done not long ago), ``pruned``, ``vacuumed`` and, if it failed, ``error``.
        """
        result: dict[str, Any] = {"skipped": False, "pruned": 0, "vacuumed": False}
        try:
            if not self._prune_is_due(min_interval_hours):
                return {**result, "skipped": True}
            result["pruned"] = self.prune_sessions(retention_days, sessions_dir=sessions_dir)
            if result["pruned"] and vacuum:
                result["vacuumed"] = self._vacuum_if_alone()
            self.set_meta(maintenance.LAST_AUTO_PRUNE, str(self._clock.time()))
        except Exception as error:  # noqa: BLE001 - see above
            log.warning("Old sessions were not pruned: %s", error)
            result["error"] = str(error)
        return result

    def auto_prune_due_at(self, min_interval_hours: float = 24) -> float:
        """When :meth:`maybe_auto_prune_and_vacuum` prunes next, epoch seconds; 0: any time."""
        try:
            last = float(self.get_meta(maintenance.LAST_AUTO_PRUNE) or 0)
        except ValueError:
            return 0.0
        return last + min_interval_hours * 3600 if last else 0.0

    def _prune_is_due(self, interval_hours: float) -> bool:
        return self._clock.time() >= self.auto_prune_due_at(interval_hours)

    def _vacuum_if_alone(self) -> bool:
        try:
            self.vacuum()
        except HermesError as error:
            log.info("The store was not made smaller: %s", error.title)
            return False
        return True

    def optimize_fts(self) -> int:
        """Put the search indexes in order, in short steps. Returns how many there are.

        0 for a file of a newer layout, which is left alone.
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
        """Make the search indexes anew from the messages. Returns how many there are.

        Done in portions, so that others can write meanwhile and every moment finds a usable
        index. 0 for a file of a newer layout, where that would damage it.
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
        """Put the indexes in order and give unused space back to the disk.

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
