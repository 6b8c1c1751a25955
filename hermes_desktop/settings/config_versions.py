"""Former contents of a settings file: the five newest, byte for byte, for the owner only."""

import contextlib
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import NotFoundError
from hermes_desktop.core.files.atomic_files import make_private_folder, write_bytes_atomic
from hermes_desktop.settings.safe_replacement import unwritable
from hermes_desktop.settings.secret_masking import remove_values

KEPT = 5


@dataclass(frozen=True, slots=True)
class Version:
    """A former content of the file.

    Attributes:
        number: 1 is the newest.
        name: The file's name, without its folder.
        time: When it was replaced, seconds since the epoch.
    """

    number: int
    name: str
    time: float
    path: Path


class ConfigVersions:
    """The folder of versions. All methods block; changed under the lock of the file's store.

    Args:
        folder: Created (0700) on first use; its parent must exist then.
        clock: Determines the names of the versions.
        of: The name of the file, for messages.
    """

    def __init__(self, folder: Path, clock: Clock, of: str) -> None:
        self.folder = folder
        self._clock = clock
        self._of = of

    def all(self) -> list[Version]:
        """Return former contents, the newest first."""
        return [
            Version(number, file.name, _time_of(file), file)
            for number, file in enumerate(self._files()[:KEPT], 1)
        ]

    def find(self, name: str) -> Version:
        """Return a version by its number or name.

        Raises:
            NotFoundError: There is none.
        """
        found = self.all()
        for version in found:
            if name in {str(version.number), version.name}:
                return version
        raise NotFoundError(
            f"There is no version “{name}” of {self._of}.",
            f"{len(found)} {('is' if len(found) == 1 else 'are')} stored in {self.folder}.",
            "List them with `hermes-desktop config versions`.",
        )

    def keep(self, old: bytes) -> Path:
        """Store a content as the newest version, even if the clock was set back in the meantime.

        Raises:
            OSError: It cannot be written.
        """
        make_private_folder(self.folder, parents=False)
        now = datetime.fromtimestamp(self._clock.time(), UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        newest = next((each.stem for each in self._files()), "")
        stamp, _, number = newest.partition("-")
        next_one = int(number) + 1 if number.isdecimal() else 0
        name = f"{stamp}-{next_one:03}.yaml" if stamp >= now else f"{now}-000.yaml"
        write_bytes_atomic(self.folder / name, old)
        return self.folder / name

    def forget_oldest(self) -> None:
        """Delete versions beyond the number to keep."""
        with contextlib.suppress(OSError):
            left_over = self.folder.glob(".*.tmp")  # of a process that was killed
            for file in (*self._files()[KEPT:], *left_over):
                file.unlink(missing_ok=True)

    def delete_newest(self, content: bytes) -> None:
        """Delete the newest version, if it has this content."""
        with contextlib.suppress(OSError):
            for file in self._files()[:1]:
                if file.read_bytes() == content:
                    file.unlink()

    def forget_values(self, values: AbstractSet[str]) -> None:
        """Remove secrets that were moved elsewhere from all versions.

        Raises:
            ConfigError: A version cannot be written.
        """
        for file in self._files():
            try:
                old = file.read_bytes()
                text = old.decode("utf-8", "surrogateescape")
                cleaned = remove_values(text, values).encode("utf-8", "surrogateescape")
                if cleaned != old:
                    write_bytes_atomic(file, cleaned)
            except OSError as error:
                raise unwritable(file, error) from error

    def _files(self) -> list[Path]:
        with contextlib.suppress(OSError):
            return sorted(self.folder.glob("*.yaml"), reverse=True)
        return []


def _time_of(file: Path) -> float:
    try:
        stamp = file.name.partition("Z")[0]
        return datetime.strptime(stamp, "%Y%m%dT%H%M%S.%f").replace(tzinfo=UTC).timestamp()
    except ValueError:
        with contextlib.suppress(OSError):
            return file.stat().st_mtime
        return 0.0
