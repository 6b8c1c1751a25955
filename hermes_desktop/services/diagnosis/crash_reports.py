"""Reports of crashes, made from the trace of the run that crashed. Nothing is ever sent.

A report contains versions, places in the code and the log without its texts, but no message, title
or secret. All methods block.
"""

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.diagnosis.crash_trace import FATAL_NAME, REPORT_NAME
from hermes_desktop.services.diagnosis.log_summary import read_entries
from hermes_desktop.services.diagnosis.program_checks import versions
from hermes_desktop.services.diagnosis.redaction import redactor_of

KEPT_FOLDER = "crash-reports"
MOST_KEPT = 10
_MOST_CHARACTERS = 60_000
_LOG_LINES = 40
_FATAL = "\nFatal Python error: "


@dataclass(frozen=True, slots=True)
class CrashReport:
    """A report that the user has neither kept nor deleted.

    Attributes:
        text: All of it.
        ended_program: Whether the program crashed; otherwise it ran on after an internal error.
    """

    text: str
    ended_program: bool


class CrashReports:
    """The reports of one home.

    Args:
        paths: The home.
        environ: The process environment, whose secrets are kept out of reports.
    """

    def __init__(
        self,
        paths: HermesPaths,
        environ: Mapping[str, str],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._paths = paths
        self._environ = environ
        self._now = now
        self._report = paths.desktop_dir / REPORT_NAME

    def pending(self) -> CrashReport | None:
        """Return the latest report that awaits the user's decision, None if there is none.

        A new crash replaces an older report that was not decided on.
        """
        with contextlib.suppress(OSError):
            self._make_report()
        try:
            text = self._report.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        return CrashReport(text, _FATAL in text)

    def keep(self) -> Path:
        """Keep the report; return its file. Of the reports kept, the oldest beyond ten are deleted.

        Raises:
            HermesError: It cannot be kept.
        """
        folder = self._paths.desktop_dir / KEPT_FOLDER
        stamp = datetime.fromtimestamp(self._now()).astimezone().strftime("%Y-%m-%d-%H%M%S")
        kept = folder / f"crash-{stamp}.txt"
        try:
            make_private_folder(folder)
            self._report.rename(kept)
        except OSError as error:
            title = "The crash report cannot be kept."
            raise HermesError(title, f"{kept}: {error.strerror}.", "Try again.") from error
        for old in sorted(folder.glob("crash-*.txt"))[:-MOST_KEPT]:
            with contextlib.suppress(OSError):
                old.unlink()
        return kept

    def delete(self) -> None:
        """Delete the report; no error if it is already gone.

        Raises:
            HermesError: It cannot be deleted.
        """
        try:
            self._report.unlink(missing_ok=True)
        except OSError as error:
            title = "The crash report cannot be deleted."
            raise HermesError(title, f"{self._report}: {error.strerror}.", "Try again.") from error

    def _make_report(self) -> None:
        trace_file = self._paths.desktop_dir / FATAL_NAME
        try:
            trace = trace_file.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        moment = datetime.fromtimestamp(os.stat(trace_file).st_mtime).astimezone()  # noqa: PTH116
        text = _text(trace, moment, self._log())
        clean = redactor_of(self._paths, self._environ).clean
        write_text_atomic(self._report, clean(text))
        trace_file.unlink()

    def _log(self) -> str:
        try:
            entries = read_entries(self._paths.log_file)[-_LOG_LINES:]
        except OSError:
            return "The log cannot be read."
        return "\n".join(map(str, entries)) or "The log is empty."


def _text(trace: str, moment: datetime, log: str) -> str:
    began, _, rest = trace.partition("\n")
    return "\n".join(
        (
            "Crash report of Hermes Desktop",
            "It contains no messages, titles or secrets, and stays on this computer.",
            "",
            f"Crashed run: {began}",
            f"Time of the crash: {moment:%Y-%m-%d %H:%M:%S %z}",
            f"Now installed: {versions()}",
            "",
            "What happened",
            rest.strip()[:_MOST_CHARACTERS],
            "",
            "Last entries of the log, without their texts",
            log,
            "",
        )
    )
