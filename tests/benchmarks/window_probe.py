"""Runs the program, and prints a line once the window shows its first list. Run: window_probe.py.

``window_probe.py --empty`` shows an empty window of Qt instead, for comparison.
"""

import sys
from typing import Any

from PySide6.QtCore import QTimer

SHOWN = "shown"


def tell() -> None:
    """Print the line as soon as what was painted is on screen."""
    QTimer.singleShot(0, lambda: print(SHOWN, flush=True))


def run_empty() -> int:
    """Show an empty window until the process is ended."""
    from PySide6.QtWidgets import QApplication, QWidget

    app = QApplication([])
    window = QWidget()
    window.resize(1100, 720)
    window.show()
    tell()
    return app.exec()


def run_program() -> int:
    """Run the program as its entry point does."""
    from hermes_desktop.__main__ import main
    from hermes_desktop.ui.start.qt_loading import load_qt

    load_qt()  # as the entry point does
    from hermes_desktop.ui.start import desktop_program

    class Probed(desktop_program.DesktopProgram):
        def _make_window(self, *parts: Any) -> Any:
            window = super()._make_window(*parts)
            self._told = False
            window.pane.page_shown.connect(self._tell_once)
            return window

        def _tell_once(self) -> None:
            if not self._told:
                self._told = True
                tell()

    desktop_program.DesktopProgram = Probed  # type: ignore[misc]
    sys.argv = ["hermes-desktop"]
    return main()


if __name__ == "__main__":
    sys.exit(run_empty() if "--empty" in sys.argv else run_program())
