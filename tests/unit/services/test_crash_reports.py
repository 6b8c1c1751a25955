"""The trace of a run, and the report that the next start makes of it."""

import faulthandler
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.diagnosis.crash_reports import MOST_KEPT, CrashReports
from hermes_desktop.services.diagnosis.crash_trace import FATAL_NAME, TRACE_NAME, CrashTrace
from hermes_desktop.services.diagnosis.home_checks import check_crashes

SECRET = "planted-secret-1"


@pytest.fixture(autouse=True)
def _faulthandler_of_pytest() -> Iterator[None]:
    """The trace takes the handler of the process, which pytest uses."""
    was_on = faulthandler.is_enabled()
    yield
    if was_on:
        faulthandler.enable(sys.__stderr__ or 2)


@pytest.fixture
def paths(tmp_path: Path) -> HermesPaths:
    return HermesPaths(tmp_path, tmp_path)


@pytest.fixture
def reports(paths: HermesPaths) -> CrashReports:
    return CrashReports(paths, {"WORK_API_KEY": SECRET}, now=lambda: 1_800_000_000.0)


def fail_with(trace: CrashTrace, words: str) -> None:
    try:
        broken(words)
    except ValueError as error:
        trace.note(type(error), error, error.__traceback__)


def broken(words: str) -> None:
    raise ValueError(words) from KeyError(words)


def run_that_fails(paths: HermesPaths) -> None:
    trace = CrashTrace(paths.desktop_dir)
    trace.begin()
    fail_with(trace, "a private message")
    trace.end()
    start_again(paths)


def start_again(paths: HermesPaths) -> None:
    trace = CrashTrace(paths.desktop_dir)
    trace.begin()
    trace.end()


def test_an_orderly_run_leaves_nothing(paths: HermesPaths, reports: CrashReports) -> None:
    trace = CrashTrace(paths.desktop_dir)
    trace.begin()
    assert (paths.desktop_dir / TRACE_NAME).stat().st_mode & 0o777 == 0o600
    trace.end()
    trace.end()

    assert list(paths.desktop_dir.iterdir()) == []
    assert reports.pending() is None


def test_a_killed_run_is_no_crash(paths: HermesPaths, reports: CrashReports) -> None:
    killed = CrashTrace(paths.desktop_dir)
    killed.begin()
    first_line = (paths.desktop_dir / TRACE_NAME).read_text()
    killed.end()
    (paths.desktop_dir / TRACE_NAME).write_text(first_line)
    start_again(paths)

    assert not (paths.desktop_dir / FATAL_NAME).exists()
    assert reports.pending() is None
    assert check_crashes(paths).state == "ok"


def test_an_uncaught_exception_is_reported_by_its_kind(
    paths: HermesPaths, reports: CrashReports
) -> None:
    run_that_fails(paths)
    assert check_crashes(paths).state == "warning"

    report = reports.pending()

    assert report is not None
    assert not report.ended_program
    assert "Uncaught builtins.ValueError" in report.text
    assert "caused by builtins.KeyError" in report.text
    assert "in broken" in report.text
    assert "a private message" not in report.text
    assert not (paths.desktop_dir / FATAL_NAME).exists()
    assert reports.pending() == report


@pytest.mark.two_processes
def test_a_crash_is_reported_with_its_place(paths: HermesPaths, reports: CrashReports) -> None:
    script = (
        "import faulthandler, pathlib, sys\n"
        "from hermes_desktop.services.diagnosis.crash_trace import CrashTrace\n"
        "CrashTrace(pathlib.Path(sys.argv[1])).begin()\n"
        "def crash_here():\n"
        "    faulthandler._sigsegv()\n"
        "crash_here()\n"
    )
    words = [sys.executable, "-c", script, str(paths.desktop_dir)]
    assert subprocess.run(words, timeout=60, check=False).returncode < 0
    paths.log_file.parent.mkdir()
    paths.log_file.write_text(
        f"2026-11-29 10:00:00,001 ERROR   hermes_desktop.x: {SECRET} in a private title\n"
    )
    start_again(paths)

    report = reports.pending()

    assert report is not None
    assert report.ended_program
    assert "Fatal Python error: Segmentation fault" in report.text
    assert "in crash_here" in report.text
    assert "ERROR hermes_desktop.x" in report.text
    assert SECRET not in report.text
    assert "private title" not in report.text


def test_a_kept_report_is_offered_no_more(paths: HermesPaths, reports: CrashReports) -> None:
    run_that_fails(paths)
    report = reports.pending()
    assert report is not None

    kept = reports.keep()

    assert kept.read_text(encoding="utf-8") == report.text
    assert kept.stat().st_mode & 0o777 == 0o600
    assert reports.pending() is None


def test_only_the_latest_reports_are_kept(paths: HermesPaths) -> None:
    for number in range(MOST_KEPT + 3):
        reports = CrashReports(paths, {}, now=lambda n=number: 1_800_000_000.0 + n)
        run_that_fails(paths)
        reports.pending()
        newest = reports.keep()

    assert len(list(newest.parent.iterdir())) == MOST_KEPT
    assert newest.exists()


def test_a_deleted_report_is_gone(paths: HermesPaths, reports: CrashReports) -> None:
    run_that_fails(paths)
    reports.pending()

    reports.delete()
    reports.delete()

    assert reports.pending() is None
    with pytest.raises(HermesError):
        reports.keep()


def test_a_home_that_cannot_be_written_has_no_trace(tmp_path: Path) -> None:
    (tmp_path / "desktop").write_text("a file")
    trace = CrashTrace(tmp_path / "desktop")

    trace.begin()
    fail_with(trace, "x")
    trace.end()

    assert (tmp_path / "desktop").read_text() == "a file"
