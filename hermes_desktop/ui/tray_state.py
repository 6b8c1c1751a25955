"""What the tray icon shows, decided from plain values. No widgets here."""

from dataclasses import dataclass

from hermes_desktop.core.events import GatewayStatusChanged, Notice

RECENT_SESSIONS = 5
_LONGEST_LABEL = 48

_WORDS = {
    "stopped": "Gateway stopped",
    "starting": "Gateway starting",
    "running": "Gateway running",
    "working": "Working",
    "degraded": "Gateway running, with a problem",
    "stopping": "Gateway stopping",
    "attached": "Another gateway runs",
}
_ICONS = {
    "stopped": "tray-stopped",
    "starting": "tray-connecting",
    "running": "tray-running",
    "working": "tray-working",
    "degraded": "tray-attention",
    "stopping": "tray-connecting",
    "attached": "tray-running",
}


@dataclass(frozen=True, slots=True)
class TrayFace:
    """What a person sees of the tray icon.

    Attributes:
        icon: Name of the drawing; each state has its own shape.
        tooltip: Plain text, one or two short lines.
        status_line: First line of the menu, which cannot be clicked.
    """

    icon: str
    tooltip: str
    status_line: str


def status_words(status: GatewayStatusChanged) -> str:
    """Name a state of the gateway in a few words, with the number of turns that run."""
    words = _WORDS[status.state]
    if status.state == "working" and status.running_turns:
        noun = "reply" if status.running_turns == 1 else "replies"
        return f"{words} on {status.running_turns} {noun}"
    return words


def tray_face(status: GatewayStatusChanged, problem: Notice | None = None) -> TrayFace:
    """Decide icon, tooltip and status line.

    Args:
        status: What the gateway said last.
        problem: The oldest error that is still shown in the window, if any; it needs a person.
    """
    words = status_words(status)
    tooltip = f"Hermes: {words[0].lower()}{words[1:]}"
    if problem is not None:
        return TrayFace("tray-attention", f"{tooltip}\n{problem.title}", problem.title)
    return TrayFace(_ICONS[status.state], tooltip, words)


def menu_label(text: str) -> str:
    """Shorten a title for a menu, and keep its ampersands from becoming key hints."""
    line = " ".join(text.split()) or "Untitled session"
    if len(line) > _LONGEST_LABEL:
        line = line[: _LONGEST_LABEL - 1].rstrip() + "…"
    return line.replace("&", "&&")
