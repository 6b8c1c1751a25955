"""Error report for a bug in the command line itself."""

import contextlib
import logging
import os
import traceback
from pathlib import Path

from hermes_desktop.cli import output
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.log_setup import SecretRedactor, learn_named, set_up_logging
from hermes_desktop.core.paths import resolve_paths
from hermes_desktop.settings.env_file import read_env_file

log = logging.getLogger(__name__)


def report_internal_error(error: Exception) -> None:
    """Write the traceback to the log and show the user where it is.

    A missing home is not created for it. Without a log the traceback is shown, because a report
    that cannot be read is useless.
    """
    log_file = _existing_log_place()
    if log_file is not None and _write_log(error, log_file):
        detail = f"The details are in {log_file}."
    else:
        text = "".join(traceback.format_exception(error))
        detail = _redactor().clean(text).rstrip()
    output.show_error(
        HermesError(
            "Something went wrong inside Hermes Desktop; this is a bug.",
            detail,
            "Please report this bug and include those lines.",
        )
    )


def _existing_log_place() -> Path | None:
    try:
        paths = resolve_paths(os.environ)
    except HermesError:
        return None
    return paths.log_file if paths.home.is_dir() else None


def _redactor() -> SecretRedactor:
    """Return a redactor for the secrets of the environment and ``.env``, which may be in errors."""
    redactor = SecretRedactor()
    places = [dict(os.environ)]
    with contextlib.suppress(HermesError, OSError):
        places.append(read_env_file(resolve_paths(os.environ).env_file))
    for each in places:
        learn_named(each, redactor)
    return redactor


def _write_log(error: Exception, log_file: Path) -> bool:
    """Log the error; return False when the file cannot be written."""
    # The file's size shows a failed write; a second traceback would not help.
    as_it_was, logging.raiseExceptions = logging.raiseExceptions, False
    try:
        set_up_logging(_redactor(), log_file=log_file)
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
