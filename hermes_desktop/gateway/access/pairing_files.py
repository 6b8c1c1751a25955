"""Files of the pairing store; the ``hermes`` command reads and writes the same ones.

They are in ``platforms/pairing`` of a home, in older homes in ``pairing``. ``hermes`` takes no
lock: what it writes between our reading and our writing is lost, so both happen in immediate
succession, and every change starts with reading.
"""

import contextlib
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.errors import HermesError, UsageError
from hermes_desktop.core.files import file_lock
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic

log = logging.getLogger(__name__)

PENDING = "pending"
APPROVED = "approved"
_RATE_LIMITS = "_rate_limits.json"
_LOCK = ".lock"

Records = dict[str, Any]
Change = Callable[[Records], None]


class PairingFiles:
    """Reader and writer of the pairing files. Blocking; any thread. Reading creates nothing.

    Args:
        home: The Hermes home.
    """

    def __init__(self, home: Path) -> None:
        self._usual = home / "platforms" / "pairing"
        self._older = home / "pairing"

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock that keeps other processes of this program from making changes.

        Raises:
            HermesError: The folder cannot be created or written.
        """
        folder = self._folder()
        with contextlib.ExitStack() as stack:
            with _telling(folder):
                make_private_folder(folder)
                stack.enter_context(file_lock.hold(folder / _LOCK))
            yield

    def platforms(self) -> list[str]:
        """Return the platforms that have a file of either kind, sorted by name."""
        names = {
            path.name.removesuffix(f"-{kind}.json")
            for folder in (self._usual, self._older)
            for kind in (PENDING, APPROVED)
            for path in folder.glob(f"*-{kind}.json")
        }
        return sorted(names)

    def read(self, platform: str, kind: str) -> Records:
        """Return the records of a platform by key, including those of the other folder.

        Raises:
            UsageError: The platform's name is invalid.
        """
        name = _name(platform, kind)
        other, own = (_load(folder / name) for folder in self._other_and_own())
        return {**other, **own}

    def change(self, platform: str, kind: str, change: Change) -> None:
        """Change the records of a platform; call it inside :meth:`alone`.

        Removed records are removed from both folders.

        Raises:
            HermesError: They cannot be written.
        """
        name = _name(platform, kind)
        other, own = self._other_and_own()
        records = {**_load(other / name), **_load(own / name)}
        change(records)
        self._save(own / name, records)
        left = _load(other / name)
        kept = {key: value for key, value in left.items() if key in records}
        if kept != left:
            self._save(other / name, kept)

    def rate_limits(self) -> Records:
        """Return times and counters by name."""
        return _load(self._folder() / _RATE_LIMITS)

    def change_rate_limits(self, change: Change) -> None:
        """Change times and counters; call it inside :meth:`alone`.

        Raises:
            HermesError: They cannot be written.
        """
        path = self._folder() / _RATE_LIMITS
        records = _load(path)
        change(records)
        self._save(path, records)

    def _folder(self) -> Path:
        """Return the folder to write to: the older one only where it is in use."""
        with contextlib.suppress(OSError):
            if any(self._older.glob("*.json")):
                return self._older
        return self._usual

    def _other_and_own(self) -> tuple[Path, Path]:
        own = self._folder()
        return (self._usual if own is self._older else self._older), own

    def _save(self, path: Path, records: Mapping[str, Any]) -> None:
        with _telling(path):
            if path.exists() and _parsed(path) is None:
                path.rename(path.with_name(f"{path.name}.unreadable"))
            if path.exists():
                path.chmod(0o600)
            write_text_atomic(path, json.dumps(records, indent=2))


def _name(platform: str, kind: str) -> str:
    if not re.fullmatch(r"[a-z0-9_-]+", platform):
        raise UsageError(
            f"“{platform}” is not a platform.",
            "Platform names consist of lowercase letters, digits, - and _.",
            "Give a name such as telegram.",
        )
    return f"{platform}-{kind}.json"


def _load(path: Path) -> Records:
    """Return the records of a file; none when it is missing or invalid, which is logged."""
    try:
        if not path.exists():
            return {}
        records = _parsed(path)
    except OSError as error:
        log.warning("%s cannot be read: %s", path, error)
        return {}
    if records is None:
        log.warning("%s holds no pairing records", path)
    return records or {}


def _parsed(path: Path) -> Records | None:
    try:
        data = json.loads(path.read_bytes() or b"{}")
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


@contextlib.contextmanager
def _telling(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HermesError(
            "The pairing list cannot be saved.",
            f"{path}: {error.strerror or type(error).__name__}.",
            "Check the permissions of the folder and the free disk space.",
        ) from error
