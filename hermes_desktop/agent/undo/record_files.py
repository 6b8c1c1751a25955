"""Records of one kind in a folder on the disk, one JSON file each."""

import contextlib
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic

log = logging.getLogger(__name__)

_UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)


class Named(Protocol):
    """A record with a name; later records have greater ones."""

    @property
    def id(self) -> str:
        """The name, and the name of its file."""
        ...


Record = TypeVar("Record", bound=Named)


class RecordFiles(Generic[Record]):
    """The records of one kind. Blocking; thread-safe, as each record has one writer.

    Args:
        folder: The folder of the files; created by the first record.
        encode: Returns a record as JSON values.
        decode: Returns the record with a name and these JSON values; raises where they are none.
        kind: What a record is, as the beginning of a sentence in the log.
    """

    def __init__(
        self,
        folder: Path,
        encode: Callable[[Record], dict[str, Any]],
        decode: Callable[[str, dict[str, Any]], Record],
        kind: str,
    ) -> None:
        self._folder = folder
        self._encode = encode
        self._decode = decode
        self._kind = kind

    def write(self, record: Record) -> None:
        """Store a record in place of its earlier state.

        Raises:
            OSError: It cannot be written; the earlier state is unchanged.
        """
        make_private_folder(self._folder)
        write_text_atomic(self._path(record.id), json.dumps(self._encode(record)))

    def remove(self, name: str) -> None:
        """Delete a record, if it exists."""
        with contextlib.suppress(OSError):
            self._path(name).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """Return the names of the records, the earliest first."""
        try:
            return sorted(path.stem for path in self._folder.glob("*.json"))
        except OSError:
            return []

    def get(self, name: str) -> Record | None:
        """Return a record; None if it does not exist or cannot be read."""
        return self._read(name) if name in self.names() else None

    def all(self, since: str = "") -> Iterator[Record]:
        """Return the records, the earliest first, without those that cannot be read.

        Args:
            since: Only those whose name is not less.
        """
        for name in self.names():
            record = self._read(name) if name >= since else None
            if record is not None:
                yield record

    def _read(self, name: str) -> Record | None:
        try:
            return self._decode(name, json.loads(self._path(name).read_text(encoding="utf-8")))
        except _UNREADABLE as error:
            log.warning("%s cannot be read: %s", self._kind, type(error).__name__)
            return None

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"
