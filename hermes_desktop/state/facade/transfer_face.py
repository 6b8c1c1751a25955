"""The methods of SessionDB that export and import sessions."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from hermes_desktop.state.facade import long_deletion, long_import
from hermes_desktop.state.facade.pin_face import PinFace, PinReads
from hermes_desktop.state.import_export import export, import_checks, importing
from hermes_desktop.state.import_export.import_checks import Limits
from hermes_desktop.state.import_export.importing import ImportReport

_TOGETHER = 50
Exported = TypeVar("Exported", bound=dict[str, Any] | None)


class TransferReads(PinReads):
    """The part of ``SessionDB`` that exports."""

    def export_session(self, session_id: str) -> dict[str, Any] | None:
        """Return all columns of a session and its active ``messages``; None if there is none."""
        return self._with_pin(self.read(lambda conn: export.export_one(conn, session_id)))

    def export_session_lineage(self, session_id: str) -> dict[str, Any] | None:
        """Return a conversation with its ``segments``; None for an unknown session."""
        found = self.read(lambda conn: export.export_lineage(conn, session_id))
        if found is not None:
            found["segments"] = [self._with_pin(segment) for segment in found["segments"]]
        return self._with_pin(found)

    def export_all(self, source: str | None = None) -> list[dict[str, Any]]:
        """Return every session, archived ones too, the latest activity first.

        All of them are held in memory; use :meth:`export_each` for files.
        """
        ids = self.read(lambda conn: export.ids_by_activity(conn, source))
        return list(self.export_each(ids))

    def export_each(self, session_ids: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield sessions one after the other, with ``last_active``; deleted ones are left out.

        Each step reads the file, so iterate on a worker thread.
        """
        for start in range(0, len(session_ids), _TOGETHER):
            chunk = session_ids[start : start + _TOGETHER]
            found = self.read(
                lambda conn, chunk=chunk: list(export.with_last_active(conn, chunk))  # type: ignore[misc]
            )
            yield from map(self._with_pin, found)

    def _with_pin(self, exported: Exported) -> Exported:
        """Add a pin of desktop.db in the export format of newer releases of Hermes."""
        if exported is not None and exported["id"] in self.own_pins_if_readable():
            exported["pinned"] = 1
        return exported


class TransferFace(PinFace, TransferReads):
    """The part of ``SessionDB`` that imports."""

    def import_sessions(
        self, sessions: Sequence[Any], *, limits: Limits = import_checks.DEFAULT
    ) -> dict[str, Any]:
        """Import exported sessions; sessions that already exist are skipped.

        Written in short transactions: if the disk fails in between, what was imported stays, and
        the same import continues where it ended.

        Args:
            sessions: Exported sessions or conversations; see ``limits``.
            limits: How much is accepted at once; more is an error and changes nothing.

        Returns:
            ``ok``, ``imported``, ``skipped``, ``detached`` (parents that could not be kept),
            ``imported_ids``, ``skipped_ids``, ``errors`` and ``retitled``: the sessions that got
            another title because theirs was taken. With errors nothing is imported.

        Raises:
            ValueError: Not a list, or more sessions than the limit.
        """
        given = import_checks.opened(sessions, limits)
        errors = import_checks.problems(given, limits)
        if errors:
            return importing.refused(errors)
        report = ImportReport()
        long_deletion.finish(self, self._clock.time())
        for portion in importing.portions(given):
            now = self._clock.time()
            if importing.is_long(portion):
                report = long_import.import_long(self, portion[0], now, report)
                continue
            report = self._execute_write(
                lambda conn, portion=portion, now=now, done=report: importing.insert(  # type: ignore[misc]
                    conn, portion, now, done
                )
            )
        fresh = frozenset(report.imported)
        for session in given:
            if session["id"] in fresh and session.get("pinned") == 1:
                self.set_session_pinned(session["id"], pinned=True)
        return report.as_dict([session["id"] for session in given])
