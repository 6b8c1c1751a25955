"""The actions of the window, one for each shortcut that it handles itself."""

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from hermes_desktop.ui.shell.key_map import KEYS

FOR_SESSIONS = frozenset({"rename", "archive", "delete"})
"""Actions on a session, available only while sessions are visible."""


def make_actions(
    window: QWidget, slots: Mapping[str, Callable[[], object]], on_sessions: Callable[[], bool]
) -> dict[str, QAction]:
    """Create the actions and add them to the window.

    Args:
        window: Receives the shortcuts.
        slots: The function of each action, by the name in the key map.
        on_sessions: Returns whether sessions are visible.
    """
    actions: dict[str, QAction] = {}
    for key in KEYS:
        if not key.action:
            continue
        slot = slots[key.action]
        if key.action in FOR_SESSIONS:
            slot = partial(_only_if, on_sessions, slot)
        action = QAction(window.tr(key.words), window)
        action.setShortcut(QKeySequence(key.sequence))
        action.triggered.connect(partial(_call, slot))
        window.addAction(action)
        actions[key.action] = action
    return actions


def _only_if(condition: Callable[[], bool], slot: Callable[[], object]) -> None:
    if condition():
        slot()


def _call(slot: Callable[[], object], _checked: object = None) -> None:
    slot()
