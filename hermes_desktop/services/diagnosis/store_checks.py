"""Checks of the session database: schema, integrity, and the programs that use it.

It is opened for reading only, without creating a log, and no other program has to wait.
"""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

from hermes_desktop.core.errors import BusyError, CancelledError, HermesError, StateError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.core.processes.liveness import is_running
from hermes_desktop.gateway.runtime_files.identity_files import read_plain_file
from hermes_desktop.services.diagnosis.findings import Finding
from hermes_desktop.state.conversations.conversation_locks import FOLDER
from hermes_desktop.state.database.holders import Holders, foreign_holders, other_holders
from hermes_desktop.state.database.schema import SCHEMA_VERSION
from hermes_desktop.state.database.store_opening import open_undisturbed
from hermes_desktop.state.maintenance.health import Check, HealthReport, health_report

QUICK_CHECK_S = 30.0
_LISTED = 5
_HEALTH = "Run `hermes-desktop sessions health`."
_NOT_FOR_US = frozenset({"sqlite-defect", "holders-unseen", "disk-nearly-full", "read-only"})
"""Findings of the report that other checks make."""


def check_store(paths: HermesPaths) -> Finding:
    """Find out which schema the database has, how large it is, and whether it can be written."""
    name = "Store"
    if not _is_there(paths.state_db):
        return Finding(name, "ok", f"{paths.state_db} does not exist yet.")
    try:
        report = _report(paths, "none")
    except HermesError as error:
        return _cannot_look(name, error)
    known = report.condition.schema_version
    schema = f"Schema {'unknown' if known is None else known} (known here: {SCHEMA_VERSION})"
    size = f"{report.size / 1e6:,.1f} MB, log {report.log_size / 1e6:,.1f} MB"
    rows = f"{_counted(report.sessions, 'session')}, {_counted(report.messages, 'message')}"
    found = f"{schema}, {size}, {rows}."
    condition = report.condition
    if not condition.writable:
        text = " ".join(part for part in (found, condition.title, condition.reason) if part)
        return Finding(name, "warning", text, condition.hint)
    return _with_findings(name, found, report)


def check_integrity(paths: HermesPaths) -> Finding:
    """Run SQLite's quick check and compare the search index, for a bounded time."""
    name = "Integrity"
    if not _is_there(paths.state_db):
        return Finding(name, "ok", "There is nothing to check yet.")
    before, late = _stamp(paths.state_db), threading.Event()
    timer = threading.Timer(QUICK_CHECK_S, late.set)
    timer.daemon = True
    timer.start()
    try:
        report = _report(paths, "quick", late)
        finding = _with_findings(name, "The quick check found no damage.", report)
    except CancelledError:
        found = f"The check was stopped after {QUICK_CHECK_S:g} s: the store is large."
        return Finding(name, "unknown", found, _HEALTH)
    except HermesError as error:
        finding = _cannot_look(name, error)
    finally:
        timer.cancel()
    if finding.state != "ok" and _stamp(paths.state_db) != before:
        found = "Another program changed the store during the check."
        return Finding(name, "unknown", found, _HEALTH)
    return finding


def check_users(paths: HermesPaths) -> Finding:
    """Find out which programs have the database open, and where replies are running."""
    holders = other_holders(paths.state_db)
    seen = _named(holders)
    foreign = foreign_holders(paths.state_db) if holders.hidden else ()
    hidden = sum(each.pid in holders.hidden_pids for each in foreign)
    turns, left = _turn_locks(paths.desktop_dir / FOLDER)
    parts = [
        f"Open in {seen}." if seen else "No other visible program has the store open.",
        f"{_counted(hidden, 'program')} of other users may use it." if hidden else "",
        f"Replies are running in {', '.join(turns)}." if turns else "",
        f"{_counted(left, 'lock')} of killed programs; the next start clears up." if left else "",
    ]
    return Finding("Open in", "ok", " ".join(filter(None, parts)))


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _report(
    paths: HermesPaths, check: Check, cancel: threading.Event | None = None
) -> HealthReport:
    return health_report(paths.state_db, check=check, cancel=cancel, opening=open_undisturbed)


def _cannot_look(name: str, error: HermesError) -> Finding:
    """Return the finding for a database that cannot be opened; its texts name only the file."""
    found = " ".join(part for part in (error.title, error.detail) if part)
    not_now = isinstance(error, BusyError) or "without an index" in error.title
    broken = isinstance(error, StateError) and not not_now
    return Finding(name, "error" if broken else "unknown", found, error.hint)


def _with_findings(name: str, found: str, report: HealthReport) -> Finding:
    """Return what the health report found, the worst first."""
    findings = [each for each in report.findings if each.kind not in _NOT_FOR_US]
    if not findings:
        return Finding(name, "ok", found)
    harms = any(each.harms for each in findings)
    texts = [_without_content(each.kind, each.text) for each in findings[:_LISTED]]
    advice = " ".join(dict.fromkeys(each.hint for each in findings[:_LISTED] if each.hint))
    return Finding(
        name,
        "error" if harms else "warning",
        " ".join(texts if harms else (found, *texts)),
        advice or "Run `hermes-desktop sessions health --full`.",
    )


def _without_content(kind: str, text: str) -> str:
    """Return a finding's text; SQLite's own words about damage may name anything."""
    return "The store is damaged." if kind == "damaged" else text


def _named(holders: Holders) -> str:
    more = len(holders.seen) - _LISTED
    named = ", ".join(map(str, holders.seen[:_LISTED]))
    return f"{named} and {more} more" if more > 0 else named


def _stamp(path: Path) -> tuple[int, ...]:
    """Return a value that changes with every change of the file or its log."""
    found: list[int] = []
    for each in (path, Path(f"{path}-wal"), Path(f"{path}-journal")):
        try:
            state = each.stat()
        except OSError:
            found.append(-1)
        else:
            found += (state.st_ino, state.st_size, state.st_mtime_ns)
    return tuple(found)


def _turn_locks(folder: Path) -> tuple[list[str], int]:
    """Return the programs that have a reply running, and how many locks killed programs left.

    The names of the files, which contain session ids, are not shown, and no lock is tried.
    """
    try:
        files = sorted(folder.glob("*.turn"))
    except OSError:
        return [], 0
    owners = list(_owners(files))
    alive = {f"process {pid}" for pid in owners if is_running(pid, if_unknown=True)}
    left = sum(not is_running(pid, if_unknown=True) for pid in owners)
    return sorted(alive), left


def _owners(files: list[Path]) -> Iterator[int]:
    for file in files:
        try:
            pid = json.loads(read_plain_file(file))["pid"]
        except (OSError, ValueError, TypeError, KeyError):
            continue
        if isinstance(pid, int) and pid > 0:
            yield pid
