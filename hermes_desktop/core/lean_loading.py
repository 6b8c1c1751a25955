"""Loads modules without keeping the text they were written in.

As long as PySide6 is there, it looks into the source of every module that is loaded, by
:mod:`inspect`, and :mod:`linecache` keeps what it read: 14 MiB for the window. Hence two rules:
what needs no Qt is loaded before Qt is, and what was read after that is forgotten again.
"""

import importlib
import linecache


def load_lean(*names: str) -> None:
    """Load modules one after another and forget their source after each. Any thread.

    Memory that is freed between two of them is used again by the next.

    Args:
        names: Full names of modules.
    """
    for name in names:
        importlib.import_module(name)
        forget_sources()


def forget_sources() -> None:
    """Drop the source text that was read so far; a traceback reads what it shows again.

    Any thread.
    """
    linecache.clearcache()
