"""Methods of SessionDB that export and import sessions.

The first parameter of each is the open store; ``SessionDB`` takes them as its methods.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from hermes_desktop.state.facade import long_sessions
from hermes_desktop.state.facade.session_methods import own_pins_if_readable, set_session_pinned
from hermes_desktop.state.facade.store import Store, reads, writes
from hermes_desktop.state.import_export import export, import_checks, importing
from hermes_desktop.state.import_export.import_checks import Limits
from hermes_desktop.state.import_export.importing import ImportReport

_TOGETHER = 50
Exported = TypeVar("Exported", bound=dict[str, Any] | None)


@reads
def export_session_lineage(db: Store, session_id: str) -> dict[str, Any] | None:
    """Return a conversation with its ``segments``; None for an unknown session."""
    found = db.read(lambda conn: export.export_lineage(conn, session_id))
    if found is not None:
        found["segments"] = [_with_pin(db, segment) for segment in found["segments"]]
    return _with_pin(db, found)


@reads
def export_all(db: Store, source: str | None = None) -> list[dict[str, Any]]:
    """Return every session, archived ones too, the latest activity first.

    All of them are held in memory; use :meth:`export_each` for files.
    """
    ids = db.read(lambda conn: export.ids_by_activity(conn, source))
    return list(export_each(db, ids))


@reads
def export_each(db: Store, session_ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield sessions one after the other, with ``last_active``; deleted ones are left out.

    Each step reads the file, so iterate on a worker thread.
    """
    for start in range(0, len(session_ids), _TOGETHER):
        chunk = session_ids[start : start + _TOGETHER]
        found = db.read(
            lambda conn, chunk=chunk: list(export.with_last_active(conn, chunk))  # type: ignore[misc]
        )
        yield from (_with_pin(db, each) for each in found)


def _with_pin(db: Store, exported: Exported) -> Exported:
    """Add a pin of desktop.db in the export format of newer releases of Hermes."""
    if exported is not None and exported["id"] in own_pins_if_readable(db):
        exported["pinned"] = 1
    return exported


@writes
def import_sessions(
    db: Store, sessions: Sequence[Any], *, limits: Limits = import_checks.DEFAULT
) -> dict[str, Any]:
    """Import exported sessions; sessions that already exist are skipped.

    Written in short transactions: if the disk fails in between, what was imported stays, and
    the same import continues where it ended.

    Args:
        sessions: Exported sessions or conversations; see ``limits``.
        limits: How much is accepted in one import; more is an error and changes nothing.

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
    long_sessions.finish(db, db._clock.time())
    for portion in importing.portions(given):
        now = db._clock.time()
        if importing.is_long(portion):
            report = long_sessions.import_long(db, portion[0], now, report)
            continue
        report = db._execute_write(
            lambda conn, portion=portion, now=now, done=report: importing.insert(  # type: ignore[misc]
                conn, portion, now, done
            )
        )
    fresh = frozenset(report.imported)
    for session in given:
        if session["id"] in fresh and session.get("pinned") == 1:
            set_session_pinned(db, session["id"], pinned=True)
    return report.as_dict([session["id"] for session in given])
