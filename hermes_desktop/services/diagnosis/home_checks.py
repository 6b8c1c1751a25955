"""Checks of the home: its folder, its settings, the log, and crashes."""

import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

from hermes_desktop.core.errors import ConfigError, HermesError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.diagnosis.crash_trace import FATAL_NAME, REPORT_NAME
from hermes_desktop.services.diagnosis.findings import Finding
from hermes_desktop.services.diagnosis.log_summary import read_entries
from hermes_desktop.services.settings.config_health import repeated_keys
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.settings.env_file import read_env_file

_OTHERS = 0o077
_PRIVATE_FILES = (".env", "config.yaml", "state.db")
_LISTED = 5
_RECENT = timedelta(days=7)
_LINE = re.compile(r"\bline \d{1,7}\b")


def check_missing_home(error: HermesError) -> Finding:
    """Return the finding for a home that cannot even be named."""
    found = " ".join(part for part in (error.title, error.detail) if part)
    return Finding("Home", "error", found, error.hint)


def check_home(paths: HermesPaths) -> Finding:
    """Find out whether the home is there, private and writable."""
    home, name = paths.home, "Home"
    found = f"{home} (profile {paths.profile})."
    try:
        mode = home.stat().st_mode
    except FileNotFoundError:
        return Finding(name, "ok", f"{found} It does not exist yet; the first start creates it.")
    except OSError as error:
        advice = "Check the permissions of the folders above it, and HERMES_HOME."
        return Finding(name, "error", f"{found} It cannot be read: {error.strerror}.", advice)
    if not stat.S_ISDIR(mode):
        advice = "Move that file away, or choose another home with HERMES_HOME or --profile."
        return Finding(name, "error", f"{found} That is not a folder.", advice)
    if not _may(home, os.R_OK | os.W_OK | os.X_OK):
        what = "read" if not _may(home, os.R_OK | os.X_OK) else "write to"
        advice = f"Make it yours: `chmod u+rwx '{home}'`, if need be after `chown`."
        return Finding(name, "error", f"{found} You cannot {what} it.", advice)
    open_to_others = tuple(_open_to_others(home, mode))
    if open_to_others:
        advice = f"Run `chmod 700 '{home}'`."
        what = f"Other users of this computer can read: {', '.join(open_to_others)}."
        return Finding(name, "warning", f"{found} {what}", advice)
    return Finding(name, "ok", f"{found} It is writable, and other users cannot read it.")


def _may(path: Path, how: int) -> bool:
    return os.access(path, how, effective_ids=os.access in os.supports_effective_ids)


def _open_to_others(home: Path, mode: int) -> Iterator[str]:
    if os.name != "posix" or not stat.S_IMODE(mode) & 0o011:  # no way in for others
        if os.name == "posix" and stat.S_IMODE(mode) & _OTHERS:
            yield "the names of its files"
        return
    if stat.S_IMODE(mode) & 0o044:
        yield "the names of its files"
    for name in _PRIVATE_FILES:
        try:
            shown = stat.S_IMODE((home / name).stat().st_mode) & 0o044
        except OSError:
            continue
        if shown:
            yield name


def check_settings(paths: HermesPaths, environ: Mapping[str, str]) -> Finding:
    """Find out whether config.yaml and ``.env`` can be read; shows none of their values."""
    name, advice = "Settings", "The settings of the window show where, and keep earlier versions."
    try:
        data = read_config(paths.config_yaml).data
        read_env_file(paths.env_file)
    except ConfigError as error:  # its detail may quote the file
        line = _LINE.search(error.detail)
        where = f" (See {line[0]}.)" if line else ""
        return Finding(name, "error", f"{error.title}{where}", f"Correct the file. {advice}")
    except OSError as error:
        found = f"A settings file cannot be read: {error.strerror}."
        return Finding(name, "error", found, "Check the permissions of the file.")
    if repeated := repeated_keys(paths.config_yaml):
        lines = ", ".join(str(line) for each in repeated[:_LISTED] for line in each.lines)
        found = f"config.yaml has keys more than once (lines {lines}); the last one counts."
        return Finding(name, "warning", found, "Remove the others.")
    from hermes_desktop.services.settings.gateway_settings import (  # noqa: PLC0415 - only for a good file
        load_gateway_config,
    )

    if warnings := len(load_gateway_config(paths, environ).warnings):
        found = f"config.yaml can be read, but {warnings} of its values cannot be used as they are."
        return Finding(name, "warning", found, f"Correct the values. {advice}")
    there = "config.yaml can be read." if data else "The defaults apply."
    return Finding(name, "ok", there)


def check_log(paths: HermesPaths) -> Finding:
    """Return the latest errors of the log, without their texts."""
    try:
        errors = [each for each in read_entries(paths.log_file) if each.is_error]
    except OSError as error:
        found = f"{paths.log_file} cannot be read: {error.strerror}."
        return Finding("Log", "warning", found, "Check the permissions of the file.")
    since = datetime.fromtimestamp(time.time()) - _RECENT  # noqa: DTZ006 - as the log writes it
    recent = [each for each in errors if each.time >= f"{since:%Y-%m-%d %H:%M:%S}"]
    if not recent:
        return Finding("Log", "ok", f"No errors in the last {_RECENT.days} days.")
    lines = "\n".join(map(str, recent[-_LISTED:]))
    found = f"Errors in the last {_RECENT.days} days: {len(recent)}. The latest:\n{lines}"
    return Finding("Log", "warning", found, f"Their texts are in {paths.log_file}.")


def check_crashes(paths: HermesPaths) -> Finding:
    """Find out whether there is a crash report that the user has not seen."""
    waiting = [
        each for name in (FATAL_NAME, REPORT_NAME) if (each := paths.desktop_dir / name).exists()
    ]
    if not waiting:
        return Finding("Crashes", "ok", "There is no new crash report.")
    when = datetime.fromtimestamp(max(each.stat().st_mtime for each in waiting)).astimezone()
    found = f"There is a report of a crash on {when:%Y-%m-%d at %H:%M}."
    return Finding("Crashes", "warning", found, "Open the window, which shows it.")
