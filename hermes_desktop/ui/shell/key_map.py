"""The keyboard shortcuts of the window: one table, the actions, and the Help dialog."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QFont, QKeySequence, QPalette
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QLabel, QVBoxLayout, QWidget

from hermes_desktop import __version__
from hermes_desktop.ui.widgets.announcement import announce
from hermes_desktop.ui.widgets.control_corrections import remove_icons
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_16, SPACE_24

FOR_SESSIONS = frozenset({"rename", "archive", "delete", "undo_turn"})
"""Actions on a session, available only while sessions are visible."""


@dataclass(frozen=True, slots=True)
class Key:
    """One shortcut.

    Attributes:
        sequence: In the format of ``QKeySequence``; Ctrl is Cmd on macOS.
        words: What it does.
        action: Name of the action in the window; "" if a widget handles it itself.
    """

    sequence: str
    words: str
    action: str = ""


KEYS = (
    Key("Ctrl+N", "Start a new chat", "new_chat"),
    Key("Ctrl+K", "Search titles and messages", "focus_filter"),
    Key("Ctrl+L", "Go to the message field", "focus_composer"),
    Key("Ctrl+1", "Go to the session list", "focus_list"),
    Key("Ctrl+4", "Go to the platforms", "show_platforms"),
    Key("Ctrl+,", "Go to the settings", "show_settings"),
    Key("Up", "Previous session in the list"),
    Key("Down", "Next session in the list"),
    Key("Shift+Down", "Select several sessions"),
    Key("Enter", "Open the session and write a message"),
    Key("Ctrl+F", "Find in the session"),
    Key("Ctrl+Shift+C", "Copy the last reply"),
    Key("F2", "Rename the session", "rename"),
    Key("Ctrl+E", "Archive or unarchive the session", "archive"),
    Key("Del", "Delete the selected sessions", "delete"),
    Key("Ctrl+Alt+Z", "Undo the last turn, files included", "undo_turn"),
    Key("Ctrl+Z", "Undo the last deletion or archiving", "undo"),
    Key("F5", "Reload the history", "refresh"),
    Key("1", "Choose the first answer to a question; 2 the second, and so on"),
    Key("Esc", "Stop the reply, or close what is open", "escape"),
    Key("Ctrl+W", "Hide the window", "hide_window"),
    Key("Ctrl+Q", "Quit Hermes", "quit"),
    Key("F1", "Show keyboard shortcuts and the user guide", "show_keys"),
)


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


class KeysDialog(QDialog):
    """Lists every shortcut of the window. Opened with ``open()``; Esc closes it.

    Attributes:
        guide_button: Closes the list and shows the user guide.

    Signals:
        guide_wanted: Show the user guide.
        diagnostics_wanted: Copy the diagnostics; answer with :meth:`show_copied`.
    """

    guide_wanted = Signal()
    diagnostics_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_24)
        grid.setVerticalSpacing(SPACE_8)
        for row, key in enumerate(KEYS):
            sequence = QKeySequence(key.sequence)
            name = QLabel(sequence.toString(QKeySequence.SequenceFormat.NativeText))
            font = QFont(name.font())
            font.setWeight(QFont.Weight.DemiBold)
            name.setFont(font)
            grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignRight)
            grid.addWidget(QLabel(key.words), row, 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.guide_button = buttons.addButton(
            self.tr("User guide"), QDialogButtonBox.ButtonRole.HelpRole
        )
        self.copy = buttons.addButton(
            self.tr("Copy diagnostics"), QDialogButtonBox.ButtonRole.ActionRole
        )
        self.copy.setAutoDefault(False)
        self.copy.setToolTip(self.tr("What the doctor finds: no messages, titles or secrets"))
        self.copy.clicked.connect(self._want_diagnostics)
        remove_icons(buttons)
        self.guide_button.clicked.connect(self.accept)
        self.guide_button.clicked.connect(self.guide_wanted)
        buttons.rejected.connect(self.reject)
        version = QLabel(f"Hermes Desktop {__version__}")
        self.state = LeadingLabel()
        quiet = version.palette()
        quiet.setColor(QPalette.ColorRole.WindowText, quiet.placeholderText().color())
        version.setPalette(quiet)
        self.state.setPalette(quiet)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_24, SPACE_24, SPACE_24, SPACE_16)
        column.setSpacing(SPACE_16)
        column.addLayout(grid)
        column.addWidget(version, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self.state)
        column.addWidget(buttons)
        self.state.hide()

    def show_copied(self, words: str) -> None:
        """Show the result of copying, and allow it again."""
        self._tell(words)
        self.copy.setEnabled(True)

    def _want_diagnostics(self) -> None:
        self.copy.setEnabled(False)
        self._tell(self.tr("Collecting the diagnostics…"))
        self.diagnostics_wanted.emit()

    def _tell(self, words: str) -> None:
        self.state.setText(words)
        self.state.show()
        announce(self.state, words)
