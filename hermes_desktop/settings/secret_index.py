"""The index of the secrets stored for a home, and of their stores; never their values.

A keyring may take minutes to report that it is empty; a file can be read at once.
"""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.files import file_lock
from hermes_desktop.core.files.atomic_files import write_text_atomic
from hermes_desktop.core.files.private_files import make_private_folder
from hermes_desktop.settings.json_file import read_json_settings

INDEX_NAME = "secrets.json"


class SecretIndex:
    """The index file. All methods block briefly; any thread, any process of this program.

    Args:
        folder: This program's folder; created (0700) on the first entry.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / INDEX_NAME

    def read(self, store: str) -> Mapping[str, str]:
        """Return the variables in a store, each with its backend; empty if nothing is known."""
        try:
            found = read_json_settings(self._file).get(store)
        except ConfigError:
            return {}
        items = found.items() if isinstance(found, Mapping) else ()
        return {str(name): str(backend) for name, backend in items}

    def stamp(self) -> tuple[int, ...]:
        """Return a value that changes with every change of the index by any process."""
        with contextlib.suppress(OSError):
            found = self._file.stat()
            return (found.st_mtime_ns, found.st_size, found.st_ino)
        return ()

    def note(self, store: str, name: str, backend: str) -> None:
        """Record that a store contains a variable, also if it was recorded before.

        Raises:
            ConfigError: The index cannot be written.
        """
        self._change(store, lambda held: held | {name: backend})

    def forget(self, store: str, name: str) -> None:
        """Record that a store no longer contains it. Raises the same as :meth:`note`."""
        self._change(store, lambda held: {key: held[key] for key in held if key != name})

    def _change(self, store: str, change: Any) -> None:
        try:
            make_private_folder(self.folder)
            with file_lock.hold(self.folder / "secrets.lock"):
                known = dict(read_json_settings(self._file))
                known[store] = change(dict(self.read(store)))
                write_text_atomic(self._file, json.dumps(known, indent=1) + "\n")
        except OSError as error:
            raise ConfigError(
                f"{INDEX_NAME} cannot be written.",
                f"{self._file}: {error.strerror or type(error).__name__}.",
                "Check the rights of the file and its folder.",
            ) from error
