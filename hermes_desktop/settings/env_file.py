"""The .env file, read as a separate layer: its values never enter the process environment.

Single lines may be set; everything else in the file is preserved byte for byte. A secret is written
only when the user moves it back from the keyring.
"""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hermes_desktop.core.errors import ConfigError, RefusedError
from hermes_desktop.core.files import file_lock
from hermes_desktop.core.files.atomic_files import make_private_folder
from hermes_desktop.settings.config_file import Lookup, read_settings_text, settings_text
from hermes_desktop.settings.safe_replacement import (
    TRIES,
    ConcurrentWriteError,
    SharedFile,
    busy_error,
    is_managed,
    unwritable,
)

FOLDER = "desktop"
"""This program's own folder in a home."""

_LINE = re.compile(
    r"""
    ^[^\S\n]*(?:export[^\S\n]+)?
    (?P<mark>'?)(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P=mark)[^\S\n]*=[^\S\n]*
    (?:
        "(?P<double>(?:\\.|[^"\\])*)"(?=[^\S\n]*(?:\#[^\n]*)?(?:\n|\Z))
      | '(?P<single>(?:\\.|[^'\\])*)'(?=[^\S\n]*(?:\#[^\n]*)?(?:\n|\Z))
      | (?P<plain>[^\n]*)
    )
    """,
    re.MULTILINE | re.VERBOSE | re.DOTALL,
)
_REFERENCE = re.compile(r"\$\{(?P<name>[^}:]*)(?::-(?P<default>[^}]*))?\}")
_COMMENT = re.compile(r"(?:^|\s+)#.*$")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PLAIN_VALUE = re.compile(r"""[^\s"'\\#$`]+""")
_SECRET_NAME = re.compile(r"(?:TOKEN|SECRET|KEY|PASS|PASSWORD|CREDENTIALS?)$")
_BOM = "\ufeff".encode()
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "'": "'"}


def read_env_file(path: Path) -> dict[str, str]:
    """Return names and values of a .env file; empty without a file. Blocking, any thread.

    A duplicate name has its last value. Lines that define nothing are skipped, and bytes that are
    not UTF-8 are replaced, as by the ``hermes`` command. Text in UTF-16, as saved by Windows, is
    read, too.

    Raises:
        ConfigError: The file exists and may not be read.
    """
    text = read_settings_text(path, errors="replace")
    return {} if text is None else parse_env(text)


def parse_env(text: str) -> dict[str, str]:
    """Return names and values in the text of a .env file.

    ``${NAME}`` and ``${NAME:-otherwise}`` are replaced by the value defined further up, else by a
    variable of this process, also between quotes of either kind, as by the ``hermes`` command.
    """
    values: dict[str, str] = {}

    def referred(match: "re.Match[str]") -> str:
        name, otherwise = match["name"], match["default"] or ""
        return values.get(name, os.environ.get(name, otherwise))

    for match in _LINE.finditer(text.replace("\r\n", "\n").replace("\r", "\n")):
        values[match["name"]] = _REFERENCE.sub(referred, _value(match))
    return values


def _value(match: re.Match[str]) -> str:
    if match["double"] is not None:
        return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[0]), match["double"])
    if match["single"] is not None:
        return _ESCAPE.sub(
            lambda found: found[1] if found[1] in "\\'" else found[0], match["single"]
        )
    return _COMMENT.sub("", match["plain"]).strip()


def layered_lookup(*places: Mapping[str, str]) -> Lookup:
    """Return a lookup in several mappings, in this order; a blank value counts as unset."""

    def lookup(name: str) -> str | None:
        for place in places:
            value = place.get(name, "").strip()
            if value:
                return value
        return None

    return lookup


def set_env_line(path: Path, name: str, value: str | None) -> None:
    """Set one variable in a .env file, or remove it; see :func:`set_env_lines`."""
    set_env_lines(path, {name: value})


def set_env_lines(path: Path, values: Mapping[str, str | None]) -> None:
    """Set variables in a .env file, or remove them. Blocking; replaces the file atomically.

    Of a duplicate name the last line is set, because it is the one that counts. Its comment and a
    leading ``export`` are preserved. A new variable is added at the end.

    Args:
        path: The file; created (0600) if it is missing.
        values: By variable, never one that holds a secret: one word without quotes, blanks and
            shell metacharacters; None removes all lines of that name.

    Raises:
        RefusedError: The home is managed.
        ConfigError: The file cannot be read or written; it is unchanged.
        BusyError: Another program writes it all the time; likewise.
        ValueError: A name or a value is not allowed there; likewise.
    """
    for name, value in values.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or _SECRET_NAME.search(name):
            raise ValueError(f"{name} is not written to .env")
        if value is not None and not _PLAIN_VALUE.fullmatch(value):
            raise ValueError(f"the value of {name} is not a plain word")
    _change_lines(path, values)


def take_out_secret(path: Path, name: str) -> None:
    """Remove all lines of a secret from a .env file. Blocking; replaces the file atomically.

    Raises:
        ConfigError: The file cannot be read or written; it is unchanged.
        BusyError: Another program writes it all the time; likewise.
    """
    _change_lines(path, {name: None})


def write_secret(path: Path, name: str, value: str) -> None:
    """Write a secret into a .env file, at the user's request to move it back. Blocking.

    Raises:
        ConfigError: The file cannot be read or written, or the value is not allowed there.
        BusyError: Another program writes it all the time.
    """
    written = value if _PLAIN_VALUE.fullmatch(value) else f"'{value}'"
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or parse_env(f"{name}={written}") != {
        name: value
    }:
        raise ConfigError(
            f"{name} cannot be written to {path.name}.",
            "It contains characters that programs read in different ways.",
            "Leave it where it is.",
        )
    _change_lines(path, {name: written})


def _change_lines(path: Path, values: Mapping[str, str | None]) -> None:
    managed = is_managed(path.parent, os.environ)
    if managed:
        raise RefusedError(
            f"{path.name} is not written, because this home is managed.",
            managed,
            "Change it where the home is managed.",
        )
    file = SharedFile(path)
    with _alone(path):
        for _ in range(TRIES):
            before = file.read()
            text = settings_text(before or b"", path)
            changed = text
            for name, value in values.items():
                changed = _with_line(changed, name, value)
            if changed == text:
                return
            mark = _BOM if (before or b"").startswith(_BOM) else b""
            try:
                file.replace(mark + changed.encode(), before)
            except ConcurrentWriteError:
                continue
            except OSError as error:
                raise unwritable(path, error) from error
            return
    raise busy_error(path)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Exclude other processes of this program, if the home permits a lock; others ignore it."""
    with contextlib.ExitStack() as stack:
        folder = path.parent / FOLDER
        with contextlib.suppress(OSError):
            make_private_folder(folder, parents=False)
            stack.enter_context(file_lock.hold(folder / "env.lock"))
        yield


def _with_line(text: str, name: str, value: str | None) -> str:
    lines = [match for match in _LINE.finditer(text) if match["name"] == name]
    if value is None:
        for match in reversed(lines):
            end = text.find("\n", match.end())
            text = text[: match.start()] + ("" if end < 0 else text[end + 1 :])
        return text
    if lines:
        start, end = _value_span(lines[-1])
        return text[:start] + value + text[end:]
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = newline if text and not text.endswith("\n") else ""
    return f"{text}{gap}{name}={value}{newline}"


def _value_span(match: "re.Match[str]") -> tuple[int, int]:
    """Return the span of a value, with its quotes and without its comment."""
    for group in ("double", "single"):
        if match[group] is not None:
            return match.start(group) - 1, match.end(group) + 1
    start = match.start("plain")
    return start, start + len(_COMMENT.sub("", match["plain"].partition("\r")[0]).rstrip())
