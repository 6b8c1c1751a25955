"""Detection of changes that another program or an editor made to the sources of settings."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.settings.desktop_config import SETTINGS_NAME
from hermes_desktop.settings.plain_secrets import FILE_NAME
from hermes_desktop.settings.safe_replacement import SharedFile
from hermes_desktop.settings.secret_index import INDEX_NAME

Stamp = tuple[int, int, int] | None

_LOOKS_AT_EMPTY = 3


class SettingsWatch:
    """Compares the file system's data on the files with those of the last check.

    Blocking, one thread. A check takes about 15 µs: a window makes several a second. A change of
    the keyring shows in the index of stored secrets, which is written with every change.

    Args:
        paths: The home.
        more: Files in addition to those of the home.
        clock: The clock that determines how long ago a file was written.
    """

    def __init__(
        self, paths: HermesPaths, more: Sequence[Path] = (), clock: Clock | None = None
    ) -> None:
        # The other files are ours and are always replaced atomically.
        edited = (paths.config_yaml, paths.env_file, paths.home / "gateway.json")
        self._edited = tuple(SharedFile(file, clock) for file in edited)
        self._files = tuple(
            os.fspath(file)
            for file in (
                paths.config_yaml,
                paths.env_file,
                paths.home / "gateway.json",
                paths.desktop_dir / SETTINGS_NAME,
                paths.desktop_dir / INDEX_NAME,
                paths.desktop_dir / FILE_NAME,
                *more,
            )
        )
        self._seen = self.stamps()

    def look(self) -> bool:
        """Return whether a file changed since the last check."""
        before, self._seen = self._seen, self.stamps()
        return before != self._seen

    def stamps(self) -> tuple[Stamp, ...]:
        """Return the file system's data on each file; None for those that do not exist."""
        return tuple(map(_stamp, self._files))

    def calm(self) -> tuple[Stamp, ...] | None:
        """Return :meth:`stamps`; None while another program may be in the middle of writing."""
        stamps = self.stamps()
        return None if any(file.rest() for file in self._edited) else stamps

    @property
    def settled(self) -> Callable[[], bool]:
        """A function that returns whether no file was written since its previous call.

        An empty file is assumed to be in the middle of a write, for three calls.
        """
        return _Settling(self).look


class _Settling:
    """Waits for a program that empties a file before writing it."""

    def __init__(self, watch: SettingsWatch) -> None:
        self._watch = watch
        self._seen: tuple[Stamp, ...] | None = None
        self._empty = 0

    def look(self) -> bool:
        before, self._seen = self._seen, self._watch.stamps()
        if any(stamp is not None and not stamp[2] for stamp in self._seen):
            self._empty += 1
            return self._empty > _LOOKS_AT_EMPTY
        return before == self._seen


def _stamp(file: str) -> Stamp:
    """Return inode, time and size; for a symbolic link, those of its target."""
    try:
        found = os.stat(file)  # noqa: PTH116 - Path.stat takes three times as long
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
