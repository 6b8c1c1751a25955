"""Loading of Qt without its hook on imports."""

import builtins
import importlib


def load_qt() -> None:
    """Load Qt's widgets, and take its hook for features off again.

    PySide6 replaces ``__import__`` for the features that modules can choose with
    ``from __feature__ import …``. Its hook reads the source of each module that is loaded from then
    on, and :mod:`linecache` keeps it: for the window a fifth of the time to load it, and 15 MiB. No
    module here chooses a feature.

    Raises:
        ImportError: Qt, or a library of the system that it needs, is missing.
    """
    importlib.import_module("PySide6.QtWidgets")
    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)
