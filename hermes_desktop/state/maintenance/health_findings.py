"""The findings of a health report, as sentences."""

import re
from collections.abc import Iterator

from hermes_desktop.state.maintenance.health_records import Finding, HealthReport
from hermes_desktop.state.maintenance.index_health import IndexHealth

_LARGE_LOG = 256 * 1024 * 1024
_LITTLE_ROOM = 512 * 1024 * 1024
_REINDEX = "Close other Hermes programs and have the search index built anew."
_REPAIR = (
    "Close other Hermes programs, then run `hermes sessions repair --check-only`, or go back to a "
    "snapshot with `hermes-desktop sessions restore latest`."
)
_TRIGGERS = "Run `hermes sessions list` once; opening the store makes the missing parts anew."


_MENDED = (((3, 44, 6), (3, 45)), ((3, 50, 7), (3, 51)), ((3, 51, 3), (4,)))


def findings_of(report: HealthReport) -> Iterator[Finding]:
    """Yield the findings, the worst first."""
    if report.integrity:
        yield Finding(
            "damaged",
            f"The store is damaged: {report.integrity[0]}"
            + (f" (and {len(report.integrity) - 1} more)." if len(report.integrity) > 1 else "."),
            _REPAIR,
            harms=True,
        )
    for index in report.indexes:
        yield from _about_index(index)
    if report.broken_links:
        tables = ", ".join(f"{count} in {table}" for table, count in report.broken_links)
        yield Finding(
            "foreign-keys", f"Rows refer to something that is not there: {tables}.", harms=True
        )
    if report.cut_short:
        yield Finding(
            "cut-short",
            f"Half-way deleted, restored or copied when a program ended: {report.cut_short} "
            "session(s), which no list shows now.",
            "Run `hermes-desktop sessions trash list` once; it finishes that or takes it back.",
            harms=True,
        )
    yield from _about_place(report)
    if has_wal_defect(report.sqlite_version):
        yield Finding(
            "sqlite-defect",
            f"SQLite {report.sqlite_version} has a rare defect when several programs empty the log "
            "at the same moment.",
            "SQLite 3.51.3, 3.50.7 or 3.44.6 and later of each line do not have it.",
        )


def _about_index(index: IndexHealth) -> Iterator[Finding]:
    if index.layout is None:
        yield Finding("index-missing", f"There is no search index {index.table}.", _TRIGGERS)
    elif index.damage:
        yield Finding(
            "index-damaged",
            f"The index {index.table} is damaged: {index.damage}.",
            _REINDEX,
            harms=True,
        )
    if index.missing_triggers:
        names = ", ".join(index.missing_triggers)
        yield Finding(
            "trigger-missing",
            f"The search index is not kept up to date: {names}.",
            _TRIGGERS,
            harms=True,
        )
    counts = (
        (index.missing, "missing"),
        (index.surplus, "left over"),
        (index.stale, "out of date"),
    )
    wrong = ", ".join(f"{count} {word}" for count, word in counts if count)
    if wrong:
        yield Finding("index-incomplete", f"Rows of {index.table}: {wrong}.", _REINDEX, harms=True)


def _about_place(report: HealthReport) -> Iterator[Finding]:
    if report.file_system.network:
        yield Finding(
            "network-file-system",
            f"The store lies on a network file system ({report.file_system.kind}), where locks of "
            "several machines cannot be relied on.",
            "Keep the home on a disk of this machine.",
            harms=True,
        )
    if not report.condition.writable:
        yield Finding("read-only", report.condition.reason, report.condition.hint)
    if report.disk_free < max(_LITTLE_ROOM, report.size // 10):
        yield Finding(
            "disk-nearly-full",
            f"Only {report.disk_free / 1e6:.0f} MB are left on the disk of the store.",
            "Free some space.",
        )
    if report.log_size > _LARGE_LOG:
        yield Finding(
            "large-log",
            f"The log beside the store has {report.log_size / 1e6:.0f} MB: some program keeps a "
            "read open.",
            f"Restart the programs that use it{_named(report)}.",
        )
    if report.holders.hidden:
        yield Finding(
            "holders-unseen",
            f"Whether {report.holders.hidden} other processes use the store is not visible to us.",
        )


def _named(report: HealthReport) -> str:
    return f": {report.holders}" if report.holders.seen else ""


def has_wal_defect(version: str) -> bool:
    """Return whether this SQLite can lose a commit when two programs reset the log at once."""
    numbers = tuple(map(int, re.findall(r"\d+", version)[:3]))
    mended = any(low <= numbers < high for low, high in _MENDED)
    return numbers >= (3, 7, 0) and not mended
