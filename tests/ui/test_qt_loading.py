"""Qt is loaded without the hook that reads the source of every module."""

import subprocess
import sys

AFTER = """
import builtins, linecache
{first}
import hermes_desktop.ui.chat.composer
from PySide6.QtCore import QObject
QObject().setObjectName("still works")
read = [name for name in linecache.cache if "hermes_desktop" in name]
print(builtins.__import__.__name__, len(read))
"""
HOOK = "__feature_import__"
LOADED = "from hermes_desktop.ui.start.qt_loading import load_qt; load_qt()"


def outcome(first: str) -> list[str]:
    words = [sys.executable, "-c", AFTER.format(first=first)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


def test_modules_of_the_window_are_loaded_without_their_source() -> None:
    hook, read = outcome(LOADED)

    assert hook != HOOK
    assert read == "0"


def test_qt_alone_reads_it() -> None:
    """When this fails, the workaround has become pointless."""
    hook, read = outcome("import PySide6.QtWidgets")

    assert hook == HOOK
    assert int(read) > 0
