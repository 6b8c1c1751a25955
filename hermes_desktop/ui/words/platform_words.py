"""Display text for messaging platforms and their states. No Qt."""

from collections.abc import Iterable, Sequence

from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.ui.words.ages import format_ago, format_span, format_until
from hermes_desktop.ui.words.source_names import source_name

STATES: dict[str, tuple[str, str]] = {
    "connecting": ("Connecting", "connecting"),
    "connected": ("Connected", "running"),
    "silent": ("Silent", "attention"),
    "retrying": ("Retrying", "connecting"),
    "paused": ("Paused", "stopped"),
    "fatal": ("Needs attention", "attention"),
    "disabled": ("Turned off", "stopped"),
    "unavailable": ("Not supported", "stopped"),
}
"""The label and the shape of each state."""

UNAVAILABLE_WORDS = (
    "This version of Hermes Desktop does not support it. The hermes gateway does: start it "
    "with “hermes gateway run”."
)
_EXPLAINED = {
    "connecting": "Connecting.",
    "silent": "Its server has not responded for a while. Messages may be delayed.",
    "retrying": "The connection was lost; Hermes Desktop reconnects automatically.",
    "paused": "Messages are not fetched until you resume it.",
    "fatal": "Hermes Desktop does not retry automatically.",
    "disabled": "It is turned off in the configuration.",
    "unavailable": UNAVAILABLE_WORDS,
}
NOT_IN_STRIP = frozenset({"disabled", "unavailable"})


def state_words(health: PlatformHealth) -> str:
    """Return the label of the state."""
    return STATES[health.state][0]


def state_shape(health: PlatformHealth) -> str:
    """Return the name of the state's shape."""
    return STATES[health.state][1]


def explained(health: PlatformHealth) -> str:
    """Return the reason for the state; "" when all is well."""
    own = _EXPLAINED.get(health.state, "")
    if health.state == "unavailable" and health.detail:
        return f"{health.detail} {own}" if health.detail != own else own
    return health.detail or own


def last_contact_text(health: PlatformHealth, now: float) -> str:
    """Return how long ago the platform's server last answered; "" if it never did."""
    heard = health.last_heard_at
    return "" if heard is None else format_ago(now - heard)


def next_retry_text(health: PlatformHealth, now: float) -> str:
    """Return when the next retry is due; "" if none is."""
    at = health.next_try_at
    return "" if at is None or health.state == "paused" else format_until(at - now)


def brief(health: PlatformHealth, now: float) -> str:
    """Return name and state for the status strip: ``Telegram 12 s ago``."""
    name = source_name(health.name)
    heard = health.last_heard_at
    if health.state == "connected":
        return f"{name} {format_ago(now - heard)}" if heard is not None else f"{name} connected"
    if health.state == "silent" and heard is not None:
        return f"{name} silent for {format_span(now - heard)}"
    tried = next_retry_text(health, now)
    if health.state == "retrying" and tried:
        return f"{name} tries again {tried}"
    return f"{name} {state_words(health).lower()}"


def for_strip(platforms: Iterable[PlatformHealth]) -> list[PlatformHealth]:
    """Return the platforms for the status strip, those in trouble first so that none is cut off."""
    shown = [each for each in platforms if each.state not in NOT_IN_STRIP]
    return sorted(shown, key=lambda each: (state_shape(each) != "attention", each.name))


def distances(platforms: Sequence[PlatformHealth], now: float) -> list[float]:
    """Return the distance in seconds from now to every moment that is shown as text."""
    heard = [each.last_heard_at - now for each in platforms if each.last_heard_at is not None]
    tried = [each.next_try_at - now for each in platforms if each.next_try_at is not None]
    return heard + tried
