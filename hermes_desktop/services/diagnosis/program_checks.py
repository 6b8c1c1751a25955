"""Checks of the program and the computer: versions, display, sandbox, disk."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from hermes_desktop import __version__
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.diagnosis.display_check import NoDisplayError, check_display
from hermes_desktop.services.diagnosis.findings import Finding, State
from hermes_desktop.services.settings.sandbox_check import Level, check_sandbox
from hermes_desktop.state.maintenance.health import SQLITE_VERSION, has_wal_defect

_LITTLE, _VERY_LITTLE = 512_000_000, 64_000_000
_MOST_CHARACTERS = 60


def check_versions() -> Finding:
    """Return the versions of the program and of what it is built on."""
    found = f"{versions()}."
    if find_spec("PySide6") is None:
        advice = "Install the program again; its package PySide6-Essentials is missing."
        return Finding("Program", "error", f"{found} The window cannot start without Qt.", advice)
    if has_wal_defect(SQLITE_VERSION):
        found += (
            f" SQLite {SQLITE_VERSION} has a rare bug when several programs empty the log of a "
            "database at the same time."
        )
        advice = "Use a Python with SQLite 3.51.3, 3.50.7, 3.44.6, or later in those series."
        return Finding("Program", "warning", found, advice)
    return Finding("Program", "ok", found)


def versions() -> str:
    """Return the versions in one line."""
    system = f"{platform.system()} {platform.release()} ({platform.machine()})"
    return (
        f"Hermes Desktop {__version__}, Python {platform.python_version()}, Qt {_qt_version()}, "
        f"SQLite {SQLITE_VERSION}, {system}"
    )


def _qt_version() -> str:
    """Return the version of Qt without loading it: that needs libraries that may be missing."""
    from importlib import metadata  # noqa: PLC0415 - loads the parser of e-mail

    try:
        return metadata.version("PySide6-Essentials")
    except metadata.PackageNotFoundError:
        return "unknown"


def check_desktop(environ: Mapping[str, str]) -> Finding:
    """Find out which desktop this is, and whether a window can be shown."""
    named = _short(environ.get("XDG_CURRENT_DESKTOP", "")) or "unknown"
    kind = _short(environ.get("XDG_SESSION_TYPE", "")) or "unknown"
    found = f"Desktop {named}, session type {kind}."
    if not sys.platform.startswith("linux"):
        return Finding("Desktop", "ok", found)
    try:
        check_display(environ)
    except NoDisplayError as error:
        text = " ".join(part for part in (found, error.title, error.detail) if part)
        return Finding("Desktop", "warning", text, error.hint)
    return Finding("Desktop", "ok", f"{found} A window can be shown.")


def _short(value: str) -> str:
    return value.strip()[:_MOST_CHARACTERS]


_SANDBOX: Mapping[str, State] = {Level.CLOSED.value: "ok", Level.PARTLY_HELD.value: "warning"}


def check_commands() -> Finding:
    """Find out which sandbox works, by running a short command at each level."""
    view = check_sandbox()
    found = " ".join(part for part in (f"{view.title} (level {view.level}).", view.error) if part)
    advice = " ".join(part for part in (view.remedy, view.command) if part)
    state = _SANDBOX.get(view.level, "warning")
    if state != "ok" and not advice:
        advice = "Nothing is needed: commands ask for your approval."
    return Finding("Sandbox", state, found, advice)


def check_disk(paths: HermesPaths | None) -> Finding:
    """Find out how much space is free for the home, and for temporary files."""
    places = {"temporary files": Path(tempfile.gettempdir())}
    if paths is not None:
        places = {"the home": _existing(paths.home), **places}
    free = {name: shutil.disk_usage(place).free for name, place in places.items()}
    found = ", ".join(f"{size / 1e9:,.1f} GB free for {name}" for name, size in free.items())
    least = min(free.values())
    if least >= _LITTLE:
        return Finding("Disk", "ok", f"{found}.")
    state: State = "error" if least < _VERY_LITTLE else "warning"
    return Finding("Disk", state, f"{found}.", "Free some space.")


def _existing(path: Path) -> Path:
    """Return the nearest folder that exists."""
    return next((each for each in (path, *path.parents) if os.path.isdir(each)), Path(path.anchor))  # noqa: PTH112 - never raises
