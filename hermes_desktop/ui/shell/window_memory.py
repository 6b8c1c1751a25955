"""The size, position and splitter of the window, stored in the home."""

import logging
import os
from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings
from PySide6.QtWidgets import QMainWindow, QSplitter

from hermes_desktop.core.files.atomic_files import make_private_folder, open_private

log = logging.getLogger(__name__)


class WindowSettings:
    """Reads and writes ``window.ini``. Nothing is created before the first window is closed.

    Args:
        path: ``core.paths.HermesPaths.window_ini``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def restore(self, window: QMainWindow, splitter: QSplitter) -> bool:
        """Restore the stored geometry; return False if there is nothing usable."""
        if not self._path.is_file():
            return False
        settings = self._settings()
        geometry, sizes = settings.value("window/geometry"), settings.value("window/splitter")
        if isinstance(sizes, QByteArray):
            splitter.restoreState(sizes)
        return isinstance(geometry, QByteArray) and window.restoreGeometry(geometry)

    def save(self, window: QMainWindow, splitter: QSplitter | None) -> None:
        """Store the geometry of the window. A failure to write the home is only logged.

        Args:
            window: Its size and position are stored.
            splitter: None keeps its stored state.
        """
        settings = self._settings_to_write()
        if settings is None:
            return
        settings.setValue("window/geometry", window.saveGeometry())
        if splitter is not None:
            settings.setValue("window/splitter", splitter.saveState())
        settings.sync()
        if settings.status() != QSettings.Status.NoError:
            log.info("The window position cannot be stored in %s", self._path)

    def recall(self, name: str) -> str:
        """Return the text stored under a name, "" for none."""
        if not self._path.is_file():
            return ""
        found = self._settings().value(name)
        return found if isinstance(found, str) else ""

    def remember(self, name: str, words: str) -> None:
        """Store a short text. A failure to write the home is only logged."""
        settings = self._settings_to_write()
        if settings is not None:
            settings.setValue(name, words)
            settings.sync()

    def _settings_to_write(self) -> QSettings | None:
        try:
            make_private_folder(self._path.parent, parents=False)
            os.close(open_private(self._path, os.O_WRONLY))  # Qt keeps the mode it finds
        except OSError as error:
            log.info("The window position cannot be stored: %s", error)
            return None
        return self._settings()

    def _settings(self) -> QSettings:
        return QSettings(str(self._path), QSettings.Format.IniFormat)
