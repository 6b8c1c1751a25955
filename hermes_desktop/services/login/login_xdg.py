"""Start at login on Linux, by a file in the freedesktop.org ``autostart`` folder."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from hermes_desktop.core.desktop_id import DESKTOP_ID
from hermes_desktop.core.files.atomic_files import write_text_atomic
from hermes_desktop.services.login.login_start import LoginCommand, cannot_write

_GROUP = "[Desktop Entry]"
_OURS = "X-HermesDesktop-Exec"
_GNOME = "X-GNOME-Autostart-enabled"
_RESERVED = frozenset(" \t\n\"'\\><~|&;$*?#()`")


def config_folders(environ: Mapping[str, str], home: Path) -> tuple[Path, tuple[Path, ...]]:
    """Return the user's folder of autostart files, and those of the system."""
    own = Path(environ.get("XDG_CONFIG_HOME", "").strip() or ".")
    listed = environ.get("XDG_CONFIG_DIRS", "").strip() or "/etc/xdg"
    others = [Path(each) for each in listed.split(os.pathsep) if Path(each).is_absolute()]
    base = own if own.is_absolute() else home / ".config"
    return base / "autostart", tuple(each / "autostart" for each in others)


class AutostartFile:
    """One autostart file, which overrides a file of the same name provided by the system.

    The user's changes to it are kept: switched on again, a file with another ``Exec`` keeps it;
    switched off, it gets ``Hidden=true`` instead of being removed.

    Args:
        command: The command to start.
        folder: The user's folder; created when something is written.
        others: The system's folders, which are only read.
    """

    def __init__(self, command: LoginCommand, folder: Path, others: Sequence[Path] = ()) -> None:
        self._command = command
        self.file = folder / f"{command.name}.desktop"
        self._others = tuple(each / self.file.name for each in others)

    @property
    def files(self) -> tuple[Path, ...]:
        """The user's own file."""
        return (self.file,)

    def is_on(self) -> bool:
        """Return whether the desktop starts it: a file exists and is not switched off."""
        for file in (self.file, *self._others):
            entry = _read(file)
            if entry is not None:
                return _starts(entry)
        return False

    def turn_on(self) -> None:
        """Write the file; see :meth:`LoginEntry.turn_on`."""
        text = _text(self.file)
        entry = _entry(text)
        if entry is None or not entry.get("Exec"):
            self._write(self._fresh())
            return
        changes: dict[str, str | None] = {"Hidden": None, _GNOME: "true"}
        if _is_ours(entry):
            line = exec_line(self._command)
            changes |= {"Exec": line, _OURS: line}
        self._write(_with(text, changes))

    def turn_off(self) -> None:
        """Remove the file, or mark it as off; see :meth:`LoginEntry.turn_off`."""
        text = _text(self.file)
        entry = _entry(text)
        if entry is not None and entry.get("Exec") and not _is_ours(entry):
            self._write(_with(text, {"Hidden": "true"}))
        elif any(_read(other) is not None for other in self._others):
            self._write(_with(self._fresh(), {"Hidden": "true"}))
        elif text:
            try:
                self.file.unlink(missing_ok=True)
            except OSError as error:
                raise cannot_write(str(self.file), error) from error

    def _fresh(self) -> str:
        line = exec_line(self._command)
        return "\n".join(
            (
                _GROUP,
                "Type=Application",
                "Name=Hermes",
                "Comment=Start Hermes in the tray",
                f"Exec={line}",
                f"Icon={DESKTOP_ID}",
                "Terminal=false",
                "StartupNotify=false",
                f"{_GNOME}=true",
                f"{_OURS}={line}",
                "",
            )
        )

    def _write(self, text: str) -> None:
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_text_atomic(self.file, text, mode=0o644)
        except OSError as error:
            raise cannot_write(str(self.file), error) from error


def exec_line(command: LoginCommand) -> str:
    """Return a command as an ``Exec`` value: quoted, with no character read as a field code."""
    settings = [f"{name}={value}" for name, value in command.environment.items()]
    words = (*(("env", *settings) if settings else ()), *command.words)
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    text = word.replace("%", "%%")
    if not set(text) & _RESERVED:
        return text
    for sign in ("\\", '"', "`", "$"):
        text = text.replace(sign, f"\\{sign}")
    # The value of a key is unescaped before the command is.
    return '"' + text.replace("\\", "\\\\") + '"'


def _text(file: Path) -> str:
    with contextlib.suppress(OSError, ValueError):
        if file.is_file():
            return file.read_text(encoding="utf-8")
    return ""


def _read(file: Path) -> dict[str, str] | None:
    return _entry(_text(file))


def _entry(text: str) -> dict[str, str] | None:
    """Return the keys of the relevant group; None where there is none."""
    found: dict[str, str] | None = None
    for line in text.splitlines():
        if line.startswith("["):
            if found is not None:
                break
            found = {} if line.strip() == _GROUP else None
        elif found is not None and "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found[key.strip()] = value.strip()
    return found


def _starts(entry: Mapping[str, str]) -> bool:
    switched_off = entry.get("Hidden", "").lower() == "true"
    return bool(entry.get("Exec")) and not switched_off and entry.get(_GNOME, "true") != "false"


def _is_ours(entry: Mapping[str, str]) -> bool:
    return entry.get(_OURS) is not None and entry.get(_OURS) == entry.get("Exec")


def _with(text: str, changes: Mapping[str, str | None]) -> str:
    """Return the text with changed values in its group; everything else is kept."""
    left = dict(changes)
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("["):
            if inside:
                lines += _said(left)
            inside = line.strip() == _GROUP and not any(each == _GROUP for each in lines)
        key = line.partition("=")[0].strip()
        if inside and "=" in line and key in changes:
            value = left.pop(key, None)
            if value is not None:
                lines.append(f"{key}={value}")
            continue
        lines.append(line)
    if inside:
        lines += _said(left)
    return "\n".join((*lines, ""))


def _said(left: dict[str, str | None]) -> list[str]:
    lines = [f"{key}={value}" for key, value in left.items() if value is not None]
    left.clear()
    return lines
