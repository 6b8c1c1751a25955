"""The appearance of the tray icon, computed from plain values. No widgets here."""

from dataclasses import dataclass

from hermes_desktop.core.events import GatewayStatusChanged, Notice
from hermes_desktop.ui.words.gateway_words import (
    listed,
    plain,
    requests_text,
    shape_of,
    status_text,
)
from hermes_desktop.ui.words.platform_words import state_shape
from hermes_desktop.ui.words.source_names import source_name

RECENT_SESSIONS = 5
_LONGEST_LABEL = 48


@dataclass(frozen=True, slots=True)
class TrayAppearance:
    """The visible parts of the tray icon.

    Attributes:
        icon: Name of the drawing; each state has its own shape.
        tooltip: Plain text, one or a few short lines.
        status_line: First line of the menu, which cannot be clicked.
    """

    icon: str
    tooltip: str
    status_line: str


def tray_face(
    status: GatewayStatusChanged,
    problem: Notice | None = None,
    requests: int = 0,
    waiting: int = 0,
) -> TrayAppearance:
    """Return icon, tooltip and status line.

    Args:
        status: The last status of the gateway.
        problem: The oldest error that is still shown in the window, if any; it needs attention.
        requests: How many pairing requests there are; they need attention, too.
        waiting: How many questions of the assistant await an answer, likewise.
    """
    words = status_text(status)
    lines = [f"Hermes: {words[0].lower()}{words[1:]}", *_troubles(status)]
    if status.offers_start:
        lines.append(plain(status.detail))
    if requests:
        lines.append(requests_text(requests))
    if waiting and not status.waiting_turns:  # otherwise the first line says so
        lines.append(waiting_text(waiting))
    icon = f"tray-{shape_of(status)}"
    if problem is not None:
        return TrayAppearance("tray-attention", "\n".join([*lines, problem.title]), problem.title)
    needs_you = requests or waiting
    return TrayAppearance("tray-attention" if needs_you else icon, "\n".join(lines), words)


def waiting_text(count: int) -> str:
    """Return a sentence on how many questions await an answer."""
    if count == 1:
        return "The assistant waits for your answer"
    return f"The assistant waits for {count} answers of yours"


def menu_label(text: str) -> str:
    """Shorten a title for a menu, and keep its ampersands from becoming key hints."""
    line = " ".join(text.split()) or "Untitled session"
    if len(line) > _LONGEST_LABEL:
        line = line[: _LONGEST_LABEL - 1].rstrip() + "…"
    return line.replace("&", "&&")


def _troubles(status: GatewayStatusChanged) -> list[str]:
    """Return the platforms that do not work, in one line."""
    names = [source_name(p.name) for p in status.platforms if state_shape(p) == "attention"]
    return [f"{listed(names)} {'does' if len(names) == 1 else 'do'} not work"] if names else []
