"""The keyboard shortcuts of the window, in one table for the actions and for Help."""

from dataclasses import dataclass


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
    Key("Enter", "Open the session and write"),
    Key("Ctrl+F", "Find in the session"),
    Key("Ctrl+Shift+C", "Copy the last reply"),
    Key("F2", "Rename the session", "rename"),
    Key("Ctrl+E", "Archive the session, or bring it back", "archive"),
    Key("Del", "Delete the selected sessions", "delete"),
    Key("Ctrl+Z", "Undo the last delete or archiving", "undo"),
    Key("F5", "Read the history again", "refresh"),
    Key("1", "Give the first answer while the assistant asks; 2 the second, and so on"),
    Key("Esc", "Stop the reply, or close what is open", "escape"),
    Key("Ctrl+W", "Hide the window", "hide_window"),
    Key("Ctrl+Q", "Quit Hermes", "quit"),
    Key("F1", "Show these keys", "show_keys"),
)
