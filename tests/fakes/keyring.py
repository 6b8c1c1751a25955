"""Keyrings with the failures of real ones."""

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class KeyringLocked(Exception):  # noqa: N818 - the library's name
    """The error of a locked keyring, named as in the library."""


class FakeKeyring:
    """Keeps values in memory; can be locked, also for single calls, block forever, or lose data."""

    name = "Fake Keyring"

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], str] = {}
        self.calls: list[str] = []
        self.locked = False
        self.forgets = False
        self.fails_at = ""
        self.before: Callable[[str], None] = lambda _: None
        self.answers = threading.Event()
        self.answers.set()

    def _asked(self, what: str) -> None:
        self.calls.append(what)
        self.before(what)
        if not self.answers.wait(60):
            raise AssertionError("nobody let this keyring answer")
        if self.locked or (self.fails_at and what.startswith(self.fails_at)):
            raise KeyringLocked("Prompt dismissed")

    def get_password(self, service: str, username: str) -> str | None:
        self._asked(f"get {username}")
        return self.values.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._asked(f"set {username}")
        self.values[service, username] = password[:-1] if self.forgets else password

    def delete_password(self, service: str, username: str) -> None:
        self._asked(f"delete {username}")
        del self.values[service, username]


class KeyringInFile(FakeKeyring):
    """A keyring in a file, which outlives the process that used it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def get_password(self, service: str, username: str) -> str | None:
        self._asked(f"get {username}")
        return self._read().get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self._asked(f"set {username}")
        self._file.write_text(json.dumps({**self._read(), username: password}))

    def delete_password(self, service: str, username: str) -> None:
        self._asked(f"delete {username}")
        self._file.write_text(json.dumps({k: v for k, v in self._read().items() if k != username}))

    def _read(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self._file.read_text()) if self._file.exists() else {}
        return found
