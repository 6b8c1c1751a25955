"""The diagnosis of the window: the text of the doctor, and the crash report of an earlier run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import HermesError
from hermes_desktop.services.diagnosis.crash_trace import FATAL_NAME, REPORT_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.services.diagnosis.crash_reports import CrashReport, CrashReports

_MOST_S = 120.0
_MOST_BYTES = 200_000
_FOUND = frozenset({0, 1})
"""Exit codes of the doctor: no error, or some."""


class Diagnostics:
    """Runs everything off the event loop.

    The doctor is a process of its own: it sees this program as the others do, what hangs ends with
    it, and it does not share files of the database with the connections of this process.

    Args:
        paths: The home.
        environ: The environment of the doctor, and the secrets to be kept out of reports.
    """

    def __init__(self, paths: HermesPaths, environ: Mapping[str, str] | None = None) -> None:
        self._paths = paths
        self._environ = os.environ if environ is None else environ
        self._worker = WorkerThreads("diagnosis")
        self._closed = False

    async def text(self) -> str:
        """Return the findings of the doctor as text, without secrets, messages and titles.

        Raises:
            HermesError: The doctor did not finish.
        """
        return await self._worker.run(self._examine)

    async def pending_crash(self) -> CrashReport | None:
        """Return the crash report that awaits a decision."""
        return await self._worker.run(self._pending)

    async def keep_crash(self) -> Path:
        """Keep the report; return its file. Raises :class:`HermesError` if that fails."""
        return await self._worker.run(lambda: self._reports().keep())

    async def delete_crash(self) -> None:
        """Delete the report. Raises :class:`HermesError` if that fails."""
        await self._worker.run(lambda: self._reports().delete())

    def close(self) -> None:
        """Stop the thread, and the doctor if it is running."""
        self._closed = True
        self._worker.close()

    def _pending(self) -> CrashReport | None:
        """Return the report; the code that makes one is not loaded where there was no crash."""
        folder = self._paths.desktop_dir
        if not any(os.path.lexists(folder / name) for name in (FATAL_NAME, REPORT_NAME)):
            return None
        return self._reports().pending()

    def _reports(self) -> CrashReports:
        from hermes_desktop.services.diagnosis.crash_reports import CrashReports  # noqa: PLC0415 - as above

        return CrashReports(self._paths, self._environ)

    def _examine(self) -> str:
        from hermes_desktop.core.processes.child_process import run_bounded  # noqa: PLC0415 - seldom

        title, hint = "The diagnostics could not be collected.", "Try `hermes-desktop doctor`."
        environ = {**self._environ, "HERMES_HOME": str(self._paths.home)}
        try:
            ended = run_bounded(
                [*_this_program(), *_doctor_of(self._paths)],
                environ=environ,
                cwd=Path(Path(sys.executable).anchor),
                timeout_s=_MOST_S,
                most_bytes=_MOST_BYTES,
                given_up=lambda: self._closed,
            )
        except OSError as error:
            raise HermesError(title, f"{error.strerror}.", hint) from error
        if ended.timed_out or ended.code not in _FOUND or not ended.out:
            raise HermesError(title, f"The doctor ended with code {ended.code}.", hint)
        return ended.out.decode("utf-8", "replace")


def _this_program() -> list[str]:
    frozen = bool(getattr(sys, "frozen", False))
    return [sys.executable] if frozen else [sys.executable, "-m", "hermes_desktop"]


def _doctor_of(paths: HermesPaths) -> list[str]:
    """Return the arguments that examine this home, whichever profile is active in it."""
    named = paths.home.parent.name == "profiles"
    return ["doctor"] if named else ["--profile", "default", "doctor"]
