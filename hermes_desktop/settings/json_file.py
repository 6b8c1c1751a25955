"""JSON objects in files: those of older programs, which are only read, and our own."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.files import file_lock
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic
from hermes_desktop.settings.cached_file import CachedFile
from hermes_desktop.settings.config_file import read_settings_bytes, settings_text


class JsonFile:
    """A JSON object in a file of this program, for its owner only. Blocking, any thread.

    A file that cannot be parsed is never overwritten.

    Args:
        path: The file; its folder is created (0700) with the first change. The lock is next to
            it and excludes other processes of this program.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cached = CachedFile(path, lambda data: parse_json_settings(data, path))

    def read(self) -> Mapping[str, Any]:
        """Return the object, which must not be modified; empty when there is no file.

        Raises:
            ConfigError: The file cannot be read or parsed.
        """
        return self._cached.read()

    def change(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Replace the object by what a function makes of it; an empty one removes the file.

        Raises:
            ConfigError: The file cannot be parsed or written.
        """
        try:
            make_private_folder(self.path.parent)
            with file_lock.hold(self.path.with_suffix(".lock")):
                found = change(dict(read_json_settings(self.path)))
                if found:
                    write_text_atomic(self.path, json.dumps(found, indent=1) + "\n")
                    self.path.chmod(0o600)
                else:
                    self.path.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(
                f"{self.path.name} cannot be written.",
                f"{self.path}: {error.strerror or type(error).__name__}.",
                "Check the permissions of the file and its folder.",
            ) from error


def read_json_settings(path: Path) -> Mapping[str, Any]:
    """Read a JSON object; empty when there is no file. Blocking, any thread.

    Raises:
        ConfigError: The file exists and cannot be read or parsed.
    """
    return parse_json_settings(read_settings_bytes(path), path)


def parse_json_settings(data: bytes | None, path: Path) -> Mapping[str, Any]:
    """Parse the content of such a file; None: there is no file. Raises the same."""
    text = settings_text(data or b"", path)
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_understood(path, str(error)) from error
    if not isinstance(found, dict):
        raise _not_understood(
            path, f"it contains a {type(found).__name__} instead of a group of settings"
        )
    return found


def _not_understood(path: Path, reason: str) -> ConfigError:
    return ConfigError(
        f"{path.name} cannot be parsed.",
        f"{path}: {reason}.",
        "Correct the file, or move it away; it was not changed.",
    )
