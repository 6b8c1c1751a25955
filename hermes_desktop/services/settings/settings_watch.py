"""Notices that another program, or an editor, changed what settings are read from."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.settings.desktop_config import SETTINGS_NAME
from hermes_desktop.settings.careful_writing import CarefulFile
from hermes_desktop.settings.plain_secrets import FILE_NAME
from hermes_desktop.settings.secret_index import INDEX_NAME

Stamp = tuple[int, int, int] | None

_LOOKS_AT_EMPTY = 3


class SettingsWatch:
    """Compares what the system says of the files with what it said at the last look.

    Blocking, one thread. A look takes some 15 µs: a window makes several a second. A change of the
    keyring shows in the list of what is kept there, which is written with every change.

    Args:
        paths: The home.
        more: Files beside those of the home.
        clock: Says how long ago a file was written.
    """

    def __init__(
        self, paths: HermesPaths, more: Sequence[Path] = (), clock: Clock | None = None
    ) -> None:
        # The others are ours and are always replaced in one step.
        edited = (paths.config_yaml, paths.env_file, paths.home / "gateway.json")
        self._edited = tuple(CarefulFile(file, clock) for file in edited)
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
        """Whether one is another than at the last look."""
        before, self._seen = self._seen, self.stamps()
        return before != self._seen

    def stamps(self) -> tuple[Stamp, ...]:
        """What the system says of each; None of those that are not there."""
        return tuple(map(_stamp, self._files))

    def calm(self) -> tuple[Stamp, ...] | None:
        """What :meth:`stamps` says; None while somebody else may be in the middle of writing."""
        stamps = self.stamps()
        return None if any(file.rest() for file in self._edited) else stamps

    @property
    def settled(self) -> Callable[[], bool]:
        """Says, whenever called, whether nobody has written since it was called before.

        A file that is empty is taken for one that is just being written, for three calls.
        """
        return _Settling(self).look


class _Settling:
    """Waits for whoever empties a file before writing it."""

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
    """Inode, time and size; of a symbolic link those of what it leads to."""
    try:
        found = os.stat(file)  # noqa: PTH116 - Path.stat takes three times as long
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
