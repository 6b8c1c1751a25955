"""Display text and permitted actions for each state of the gateway. No Qt."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_desktop.core.events import (
    GatewayState,
    GatewayStatusChanged,
    HostingRefusal,
    OtherGateway,
    UndoneWork,
)
from hermes_desktop.core.text.capitals import capitalized
from hermes_desktop.services.hosting.undone_words import WHY_UNDONE, undone_brief, undone_sentence
from hermes_desktop.ui.words.ages import format_span
from hermes_desktop.ui.words.source_names import source_name

SHAPES: dict[GatewayState, str] = {
    "stopped": "stopped",
    "starting": "connecting",
    "running": "running",
    "working": "working",
    "degraded": "attention",
    "stopping": "connecting",
    "attached": "attached",
}
_WORDS: dict[GatewayState, str] = {
    "stopped": "Gateway stopped",
    "starting": "Gateway starting",
    "running": "Gateway running",
    "working": "Working",
    "degraded": "Gateway running, with a problem",
    "stopping": "Gateway stopping",
    "attached": "Another gateway is running",
}
_EXPLAINED: dict[GatewayState, str] = {
    "stopped": "Messages from platforms wait on their servers until a gateway runs.",
    "starting": "Connecting to the platforms.",
    "running": "This program answers messages from your platforms.",
    "working": "This program answers messages from your platforms.",
    "degraded": "One platform has a problem; the others work.",
    "stopping": "Finishing running replies.",
    "attached": "The other gateway answers messages from your platforms.",
}


@dataclass(frozen=True, slots=True)
class Allowed:
    """The actions that the user can take on the gateway now."""

    start: bool = False
    stop: bool = False
    restart: bool = False
    take_over: bool = False


_ALLOWED: dict[GatewayState, Allowed] = {
    "stopped": Allowed(start=True),
    "starting": Allowed(stop=True),
    "running": Allowed(stop=True, restart=True),
    "working": Allowed(stop=True, restart=True),
    "degraded": Allowed(stop=True, restart=True),
    "stopping": Allowed(),
    "attached": Allowed(take_over=True),
}


def allowed(status: GatewayStatusChanged) -> Allowed:
    """Return the actions that make sense in this state."""
    return _ALLOWED[status.state]


def shape_of(status: GatewayStatusChanged) -> str:
    """Return the shape for a state; a refusal needs the user's attention, whatever else runs."""
    if status.state == "stopped" and status.running_turns:
        return "working"
    if status.state == "stopped" and status.refusal is not None:
        return "attention"
    if status.state == "degraded" and not _in_trouble(status) and _left_out(status):
        return "running"  # nothing that the user could act on
    return SHAPES[status.state]


def status_text(status: GatewayStatusChanged) -> str:
    """Return a short name for a state, including what is being waited for or is not run."""
    words = state_words(status)
    if status.undone is not None and status.state != "stopping":
        return f"{words} ({undone_brief(status.undone)})"
    if status.state == "stopping" and status.detail:
        return f"{words}: {_lower_first(status.detail.rstrip('.'))}"
    return words


def state_words(status: GatewayStatusChanged) -> str:
    """Return a short name for a state of the gateway, with the number of running turns."""
    words = _WORDS[status.state]
    if status.state == "working" and status.running_turns:
        return _turns_text(status)
    if status.state == "degraded" and not _in_trouble(status) and _left_out(status):
        return f"Gateway running, without {listed(_left_out(status), most=2)}"
    if status.state == "stopped" and status.refusal is not None:
        words = "Gateway not started"
    if status.state == "stopped" and status.running_turns:
        return f"{_turns_text(status)}, {_lower_first(words)}"
    return words


def _turns_text(status: GatewayStatusChanged) -> str:
    """Return what the running turns do: reply, or wait for the user."""
    waiting, working = status.waiting_turns, status.running_turns - status.waiting_turns
    waits = "Waiting for your answer" if waiting == 1 else f"Waiting for {waiting:,} answers"
    if not waiting or working <= 0:
        return waits if waiting else f"Working on {replies_text(working)}"
    return f"{waits}, working on {replies_text(working)}"


def explained(status: GatewayStatusChanged) -> str:
    """Return one sentence that explains the state."""
    if status.refusal is not None and status.state == "stopped":
        return plain(" ".join(filter(None, (status.refusal.title, status.refusal.detail))))
    if status.state == "degraded" and not status.detail and status.platforms:
        return _degraded_text(status)
    if status.state == "running" and not status.detail and not status.platforms:
        return "It answers messages as soon as one of the platforms is set up."
    return plain(status.detail) or _EXPLAINED[status.state]


def refused_text(refusal: HostingRefusal) -> str:
    """Return why the gateway was not started, for display below that statement."""
    reason = re.sub(r"^The gateway was not started(, because |\.$)", "", refusal.title)
    if reason and reason != refusal.title:
        reason = capitalized(reason)
    return plain(" ".join(filter(None, (reason, refusal.detail))))


def undone_text(undone: UndoneWork) -> str:
    """Return a text that names the work that is not run and why that matters."""
    return plain(f"{undone_sentence(undone)} {WHY_UNDONE}")


def serves(status: GatewayStatusChanged) -> bool:
    """Return whether the gateway runs in this program or is about to."""
    return status.state in {"starting", "running", "working", "degraded"}


def requests_text(count: int) -> str:
    """Return how many senders request access, as a sentence without its full stop."""
    return "1 person requests access" if count == 1 else f"{count} people request access"


def replies_text(count: int) -> str:
    """Return a count of replies: ``1 reply``, ``2 replies``."""
    return "1 reply" if count == 1 else f"{count:,} replies"


def running_text(count: int) -> str:
    """Return a count of running replies: ``1 reply is running``, ``2 replies are running``."""
    return f"{replies_text(count)} {'is' if count == 1 else 'are'} running"


def other_text(other: OtherGateway, now: float | None) -> str:
    """Return the name of the gateway that holds the home, with its age if that is known."""
    name = (
        other.name if other.name.lower().startswith(("the ", "another ")) else f"the {other.name}"
    )
    if other.started_at is None or now is None:
        return name
    return f"{name} (running for {format_span(now - other.started_at)})"


def attached_text(other: OtherGateway | None, now: float | None) -> str:
    """Explain attached mode in two sentences.

    Args:
        other: The gateway that holds the home.
        now: Seconds since the epoch; None if its age is shown next to the text.
    """
    who = other_text(other, now) if other is not None else "another gateway"
    return (
        f"{capitalized(who)} serves this home. You can read and write sessions "
        "here; it answers messages from platforms."
    )


def plain(text: str) -> str:
    """Replace the backticks around commands by quotation marks, for display in a window."""
    return re.sub(r"`([^`]*)`", r"“\1”", text)


def listed(names: Sequence[str], most: int = 4) -> str:
    """Join names as in a sentence (``a, b and c``); those beyond ``most`` become a number."""
    shown = list(names[:most])
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    if len(shown) <= 1:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _degraded_text(status: GatewayStatusChanged) -> str:
    troubled, left_out = _in_trouble(status), _left_out(status)
    parts = []
    if troubled:
        parts.append(f"{listed(troubled)} {'does' if len(troubled) == 1 else 'do'} not work.")
    if left_out:
        parts.append(f"{listed(left_out)} cannot be served by this version.")
    if len(troubled) + len(left_out) < len(status.platforms):
        parts.append("The other platforms work.")
    return " ".join(parts)


def _in_trouble(status: GatewayStatusChanged) -> list[str]:
    names = (p.name for p in status.platforms if p.state in {"silent", "retrying", "fatal"})
    return [source_name(name) for name in names]


def _left_out(status: GatewayStatusChanged) -> list[str]:
    return [source_name(p.name) for p in status.platforms if p.state == "unavailable"]


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
