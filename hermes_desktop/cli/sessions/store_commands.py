"""``hermes-desktop sessions health``, ``optimize`` and ``stats``: maintenance of the store."""

import time
from typing import TYPE_CHECKING, Any

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.consent import Consent
from hermes_desktop.cli.long_work import long_work
from hermes_desktop.cli.output import Column, as_text, counted, size
from hermes_desktop.cli.sessions.session_text import clock_time
from hermes_desktop.cli.store_access import open_store
from hermes_desktop.core.errors import RefusedError
from hermes_desktop.services.sessions import store_care
from hermes_desktop.state.database.holders import other_holders
from hermes_desktop.state.maintenance import statistics
from hermes_desktop.state.maintenance.health import health_report

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.services.sessions.store_care import Optimised
    from hermes_desktop.state.maintenance.health import HealthReport
    from hermes_desktop.state.maintenance.repair import RepairReport
    from hermes_desktop.state.maintenance.statistics import StoreFigures

_UNHEALTHY = 1


@click.command()
@click.option("--full", is_flag=True, help="Read everything; slow for a large store.")
@click.option("--repair", is_flag=True, help="Rebuild the search index if that helps.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation before the repair.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with one object.")
@with_home
def health(*, full: bool, repair: bool, yes: bool, as_json: bool, paths: "HermesPaths") -> int:
    """Check the store, and repair its search index.

    Shows its size, integrity, search index and location, and which programs have it open. The exit
    code is 1 if there is a problem. Nothing changes without --repair; a repair asks first and
    takes a snapshot.
    """
    with long_work() as work:
        report = health_report(
            paths.state_db,
            check="full" if full else "quick",
            on_progress=work.on_progress,
            cancel=work,
        )
    if as_json:
        output.write_json([_object(report)])
    else:
        output.write(_text(report))
    if repair:
        return _repair(report, Consent(yes, dry_run=False, as_json=True), paths)
    if not report.is_healthy and _can_repair(report):
        output.say("`hermes-desktop sessions health --repair` can rebuild the search index.")
    return 0 if report.is_healthy else _UNHEALTHY


def _can_repair(report: "HealthReport") -> bool:
    from hermes_desktop.state.maintenance.repair import plan_repair

    return bool(plan_repair(report).tables)


def _repair(report: "HealthReport", consent: Consent, paths: "HermesPaths") -> int:
    from hermes_desktop.state.maintenance.repair import plan_repair, repair_index

    if not report.condition.home.may_write:
        raise report.condition.refusal()
    plan = plan_repair(report)
    if not plan.tables:
        if report.is_healthy:
            output.say("There is nothing to repair.")
            return 0
        hints = "\n".join(finding.hint for finding in plan.beyond_us if finding.hint)
        raise RefusedError("This cannot be repaired automatically.", "", hints)
    hidden = _hidden(report.holders.hidden)
    preview = f"The search index is rebuilt, after a snapshot.\n{hidden}"
    consent.obtain(preview, "Rebuild the search index?")
    with open_store(paths, write=True) as db, long_work() as work:
        done: RepairReport = repair_index(
            db,
            paths.snapshots_dir,
            now=time.time(),
            unseen_ok=True,
            on_progress=work.on_progress,
            cancel=work,
        )
    output.say(
        f"The search index now holds {counted(done.messages, 'message')}; "
        f"the snapshot taken before is {done.before.name}."
    )
    return 0 if not plan.beyond_us else _UNHEALTHY


def _hidden(number: int) -> str:
    if not number:
        return ""
    return f"{counted(number, 'process', 'processes')} of other users may also have it open.\n"


def _text(report: "HealthReport") -> str:
    unused = report.free_pages * report.page_size
    complete = all(index.is_complete for index in report.indexes)
    lines = [
        f"Store: {report.path}",
        f"Size: {size(report.size)}, log {size(report.log_size)}, {size(unused)} unused",
        f"Holds: {counted(report.sessions, 'session')}, {counted(report.messages, 'message')}",
        f"Schema: {report.condition.schema_version or 'unknown'}, SQLite {report.sqlite_version}",
        f"Disk: {size(report.disk_free)} free, {report.file_system.kind or 'unknown file system'}",
        f"Integrity: {'ok' if not report.integrity else 'damaged'}",
        f"Search index: {'complete' if complete else 'not complete'}",
        f"Open in: {report.holders if report.holders.seen else 'no other visible program'}",
    ]
    if report.holders.hidden:
        lines[-1] += f" ({report.holders.hidden} processes are not visible)"
    for finding in report.findings:
        mark = "!" if finding.harms else "·"
        lines.append(f"{mark} {finding.text}" + (f" {finding.hint}" if finding.hint else ""))
    lines.append("No problems found." if report.is_healthy else "There are problems; see above.")
    return "".join(output.one_line(line) + "\n" for line in lines)


def _object(report: "HealthReport") -> dict[str, Any]:
    return {
        "path": str(report.path),
        "healthy": report.is_healthy,
        "bytes": report.size,
        "log_bytes": report.log_size,
        "free_bytes": report.free_pages * report.page_size,
        "disk_free": report.disk_free,
        "sessions": report.sessions,
        "messages": report.messages,
        "schema_version": report.condition.schema_version,
        "writable": report.condition.writable,
        "journal_mode": report.journal_mode,
        "sqlite_version": report.sqlite_version,
        "file_system": report.file_system.kind,
        "integrity": list(report.integrity or ()),
        "index_complete": all(index.is_complete for index in report.indexes),
        "holders": [{"pid": each.pid, "name": each.name} for each in report.holders.seen],
        "holders_hidden": report.holders.hidden,
        "findings": [
            {"kind": each.kind, "text": each.text, "hint": each.hint, "harms": each.harms}
            for each in report.findings
        ],
    }


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would happen without changing anything.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with one object.")
@with_home
def optimize(*, dry_run: bool, as_json: bool, paths: "HermesPaths") -> None:
    """Optimize the search index and free unused space.

    Space is freed only while no other program has the store open, and after a snapshot.
    """
    if dry_run:
        _preview(paths, as_json=as_json)
        return
    with open_store(paths, write=True) as db, long_work() as work:
        done = store_care.optimise(
            db, paths, now=time.time(), on_progress=work.on_progress, cancel=work
        )
    if as_json:
        output.write_json([_optimised(done)])
        return
    output.write(f"Optimized {counted(done.indexes, 'search index', 'search indexes')}.\n")
    if done.holders.seen:
        output.write(output.one_line(f"Space was not freed: open in {done.holders}.") + "\n")
    else:
        output.write(f"Size: {size(done.size_before)} before, {size(done.size_after)} now.\n")


def _preview(paths: "HermesPaths", *, as_json: bool) -> None:
    report = health_report(paths.state_db, check="none")
    if not report.condition.home.may_write:
        raise report.condition.refusal()
    unused = report.free_pages * report.page_size
    holders = other_holders(paths.state_db)
    if as_json:
        output.write_json([{"free_bytes": unused, "gives_space_back": not holders.seen}])
        return
    output.write("The search index would be optimized.\n")
    if holders.seen:
        output.write(output.one_line(f"Space would not be freed: open in {holders}.") + "\n")
    else:
        output.write(f"At least {size(unused)} would be freed, after a snapshot.\n")


def _optimised(done: "Optimised") -> dict[str, Any]:
    return {
        "indexes": done.indexes,
        "bytes_before": done.size_before,
        "bytes_after": done.size_after,
        "space_given_back": not done.holders.seen,
        "holders": [{"pid": each.pid, "name": each.name} for each in done.holders.seen],
        "snapshot": None if done.before is None else done.before.name,
    }


_COLUMNS = (Column("Source"), Column("Sessions", right=True), Column("Messages", right=True))


@click.command()
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON array: the total, then each source."
)
@with_home
def stats(*, as_json: bool, paths: "HermesPaths") -> None:
    """Count sessions and messages, in total and by source.

    Archived sessions, parts of compressed sessions and sessions of subagents are included.
    """
    with open_store(paths) as db:
        found = db.read(statistics.figures)
        bytes_used = db.db_path.stat().st_size
    if as_json:
        output.write_json(_figure_objects(found, bytes_used))
        return
    output.write(_figures(found, bytes_used))
    if found.sources:
        rows = [(each.source, each.sessions, each.messages) for each in found.sources]
        output.write("\n" + as_text(_COLUMNS, rows))


def _figures(found: "StoreFigures", bytes_used: int) -> str:
    lines = [f"Sessions: {found.sessions:,}", f"Archived: {found.archived:,} of them"]
    lines.append(f"Messages: {found.messages:,}")
    lines.append(f"Tokens: {found.input_tokens:,} in, {found.output_tokens:,} out")
    lines.append(f"Size: {size(bytes_used)}")
    if found.first_started is not None and found.last_started is not None:
        first, last = clock_time(found.first_started), clock_time(found.last_started)
        lines.append(f"Started: {first} to {last}")
    return "\n".join(lines) + "\n"


def _figure_objects(found: "StoreFigures", bytes_used: int) -> list[dict[str, object]]:
    whole: dict[str, object] = {
        "source": None,
        "sessions": found.sessions,
        "archived": found.archived,
        "messages": found.messages,
        "input_tokens": found.input_tokens,
        "output_tokens": found.output_tokens,
        "first_started": found.first_started,
        "last_started": found.last_started,
        "bytes": bytes_used,
    }
    each = [{"source": s.source, "sessions": s.sessions, "messages": s.messages}
            for s in found.sources]  # fmt: skip
    return [whole, *each]
