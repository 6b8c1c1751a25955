"""Module loading that does not keep source text in memory.

Once PySide6 is loaded, it inspects the source of every loaded module with :mod:`inspect`, and
:mod:`linecache` keeps what it read: 14 MiB for the window. Hence two rules: modules that need no
Qt are loaded before Qt, and source text read after that is dropped.
"""

import importlib
import linecache


def import_without_sources(*names: str) -> None:
    """Load modules one after another and drop their source after each. Thread-safe.

    Memory freed after one module is reused by the next.

    Args:
        names: Full names of modules.
    """
    for name in names:
        importlib.import_module(name)
        forget_sources()


def forget_sources() -> None:
    """Drop the cached source text; a traceback reads again what it shows.

    May be called from any thread.
    """
    linecache.clearcache()
