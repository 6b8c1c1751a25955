"""Secrets in a file that only its owner may read: for desktops without a keyring, by consent."""

import json
from collections.abc import Callable
from typing import Any

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.files import file_lock
from hermes_desktop.core.files.atomic_files import write_text_atomic
from hermes_desktop.core.files.private_files import make_private_folder
from hermes_desktop.settings.json_file import read_json_settings
from hermes_desktop.settings.secret_index import SecretIndex

FILE_NAME = "plain-secrets.json"


class PlainTextSecretStore:
    """Secrets in plain text (0600). Never used unless the user requested it.

    Args:
        index: Records which secrets are stored here.
    """

    def __init__(self, index: SecretIndex) -> None:
        self._index = index
        self._file = index.folder / FILE_NAME

    def read(self) -> dict[str, str]:
        """Return all of them; empty if there are none, or they cannot be read. Blocks."""
        try:
            found = read_json_settings(self._file)
        except ConfigError:
            return {}
        return {str(name): value for name, value in found.items() if isinstance(value, str)}

    def store(self, name: str, value: str) -> None:
        """Store one.

        Raises:
            ConfigError: The file cannot be parsed or written.
        """
        self._index.note("plain", name, FILE_NAME)
        self._change(lambda held: held | {name: value})

    def remove(self, name: str) -> None:
        """Delete one. Raises the same as :meth:`store`."""
        self._change(lambda held: {key: held[key] for key in held if key != name})
        self._index.forget("plain", name)

    def _change(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Change the file under a lock of this program; an invalid file is not overwritten."""
        try:
            make_private_folder(self._index.folder)
            with file_lock.hold(self._index.folder / "plain-secrets.lock"):
                values = change(dict(read_json_settings(self._file)))
                if values:
                    write_text_atomic(self._file, json.dumps(values, indent=1) + "\n", mode=0o600)
                    self._file.chmod(0o600)
                else:
                    self._file.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(
                f"{FILE_NAME} cannot be written.",
                f"{self._file}: {error.strerror or type(error).__name__}.",
                "Check the rights of the file and its folder.",
            ) from error
