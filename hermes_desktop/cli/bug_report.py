"""Error report for a bug in the command line itself."""

import logging
import os
import traceback
from pathlib import Path

from hermes_desktop.cli import output
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.log_setup import SecretRedactor, set_up_logging
from hermes_desktop.core.paths import HermesPaths, resolve_paths
from hermes_desktop.services.diagnosis.redaction import redactor_of

log = logging.getLogger(__name__)


def report_internal_error(error: Exception) -> None:
    """Write the traceback to the log and show the user where it is.

    A missing home is not created for it. Without a log the traceback is shown, because a report
    that cannot be read is useless.
    """
    paths = _paths()
    redactor = redactor_of(paths, os.environ)
    log_file = paths.log_file if paths is not None and paths.home.is_dir() else None
    if log_file is not None and _write_log(error, log_file, redactor):
        detail = f"The details are in {log_file}."
    else:
        text = "".join(traceback.format_exception(error))
        detail = redactor.clean(text).rstrip()
    output.show_error(
        HermesError(
            "Something went wrong inside Hermes Desktop; this is a bug.",
            detail,
            "Please report this bug and include those lines.",
        )
    )


def _paths() -> HermesPaths | None:
    try:
        return resolve_paths(os.environ)
    except (HermesError, RuntimeError):
        return None


def _write_log(error: Exception, log_file: Path, redactor: SecretRedactor) -> bool:
    """Log the error; return False when the file cannot be written."""
    # The file's size shows a failed write; a second traceback would not help.
    as_it_was, logging.raiseExceptions = logging.raiseExceptions, False
    try:
        set_up_logging(redactor, log_file=log_file)
        before = _size(log_file)
        log.error("The command line failed", exc_info=error)
        return _size(log_file) > before
    finally:
        logging.raiseExceptions = as_it_was


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
