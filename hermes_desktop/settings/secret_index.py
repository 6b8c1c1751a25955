"""The files of this program about secrets: which ones are stored where, and those in plain text."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.settings.json_file import JsonFile

INDEX_NAME = "secrets.json"
FILE_NAME = "plain-secrets.json"


class SecretIndex:
    """The index of the secrets stored for a home, and of their stores; never their values.

    A keyring may take minutes to report that it is empty; a file can be read quickly. All methods
    block briefly; any thread, any process of this program.

    Args:
        folder: This program's folder; created (0700) on the first entry.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = JsonFile(folder / INDEX_NAME)

    def read(self) -> Mapping[str, Mapping[str, str]]:
        """Return the variables in each store, each with its backend; empty if nothing is known."""
        try:
            index = self._file.read()
        except ConfigError:
            return {}
        return {str(store): _entries(index, store) for store in index}

    def stamp(self) -> tuple[int, ...]:
        """Return a value that changes with every change of the index by any process."""
        with contextlib.suppress(OSError):
            found = self._file.path.stat()
            return (found.st_mtime_ns, found.st_size, found.st_ino)
        return ()

    def note(self, store: str, name: str, backend: str) -> None:
        """Record that a store contains a variable, also if it was recorded before.

        Raises:
            ConfigError: The index cannot be written.
        """
        self._file.change(lambda held: {**held, store: {**_entries(held, store), name: backend}})

    def forget(self, store: str, name: str) -> None:
        """Record that a store no longer contains it. Raises the same as :meth:`note`."""
        self._file.change(lambda held: {**held, store: _without(_entries(held, store), name)})


class PlainTextSecretStore:
    """Secrets in plain text, in a file that only its owner may read (0600).

    For desktops without a keyring; never used unless the user requested it.

    Args:
        index: Records which secrets are stored here.
    """

    def __init__(self, index: SecretIndex) -> None:
        self._index = index
        self._file = JsonFile(index.folder / FILE_NAME)

    def read(self) -> dict[str, str]:
        """Return all of them; empty if there are none, or they cannot be read. Blocks."""
        try:
            found = self._file.read()
        except ConfigError:
            return {}
        return {str(name): value for name, value in found.items() if isinstance(value, str)}

    def store(self, name: str, value: str) -> None:
        """Store one.

        Raises:
            ConfigError: The file cannot be parsed or written.
        """
        self._index.note("plain", name, FILE_NAME)
        self._file.change(lambda held: {**held, name: value})

    def remove(self, name: str) -> None:
        """Delete one. Raises the same as :meth:`store`."""
        self._file.change(lambda held: _without(held, name))
        self._index.forget("plain", name)


def _entries(index: Mapping[str, Any], store: str) -> dict[str, str]:
    found = index.get(store)
    items = found.items() if isinstance(found, Mapping) else ()
    return {str(name): str(backend) for name, backend in items}


def _without(held: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in held.items() if key != name}
