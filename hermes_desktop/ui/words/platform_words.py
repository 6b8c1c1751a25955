"""What is said about a messaging platform. No Qt."""

from collections.abc import Iterable, Sequence

from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.ui.words.ages import ago_words, span_words, until_words
from hermes_desktop.ui.words.source_names import source_name

STATES: dict[str, tuple[str, str]] = {
    "connecting": ("Connecting", "connecting"),
    "connected": ("Connected", "running"),
    "silent": ("Silent", "attention"),
    "retrying": ("Trying again", "connecting"),
    "paused": ("Paused", "stopped"),
    "fatal": ("Needs you", "attention"),
    "disabled": ("Switched off", "stopped"),
    "unavailable": ("Not in this version", "stopped"),
}
"""Words and shape of each state."""

UNAVAILABLE_WORDS = (
    "This version of Hermes Desktop cannot serve it. The hermes gateway can: it is started with"
    " “hermes gateway run”."
)
_EXPLAINED = {
    "connecting": "The connection is being made.",
    "silent": "Its server should have been heard of by now. Messages may be delayed.",
    "retrying": "The connection was lost and is made again by itself.",
    "paused": "Messages are not fetched until you resume it.",
    "fatal": "It does not try again by itself.",
    "disabled": "It is switched off in the configuration.",
    "unavailable": UNAVAILABLE_WORDS,
}
NOT_IN_STRIP = frozenset({"disabled", "unavailable"})


def state_words(health: PlatformHealth) -> str:
    """The state in a word or two."""
    return STATES[health.state][0]


def state_shape(health: PlatformHealth) -> str:
    """The name of its shape."""
    return STATES[health.state][1]


def explained(health: PlatformHealth) -> str:
    """Why it is so; "" when all is well."""
    own = _EXPLAINED.get(health.state, "")
    if health.state == "unavailable" and health.detail:
        return f"{health.detail} {own}" if health.detail != own else own
    return health.detail or own


def heard_words(health: PlatformHealth, now: float) -> str:
    """When its server was last heard of, "" when never."""
    heard = health.last_heard_at
    return "" if heard is None else ago_words(now - heard)


def next_try_words(health: PlatformHealth, now: float) -> str:
    """When it is tried again, "" when it is not."""
    at = health.next_try_at
    return "" if at is None or health.state == "paused" else until_words(at - now)


def brief(health: PlatformHealth, now: float) -> str:
    """Name and state for the strip: ``Telegram 12 s ago``."""
    name = source_name(health.name)
    heard = health.last_heard_at
    if health.state == "connected":
        return f"{name} {ago_words(now - heard)}" if heard is not None else f"{name} connected"
    if health.state == "silent" and heard is not None:
        return f"{name} silent for {span_words(now - heard)}"
    tried = next_try_words(health, now)
    if health.state == "retrying" and tried:
        return f"{name} tries again {tried}"
    return f"{name} {state_words(health).lower()}"


def for_strip(platforms: Iterable[PlatformHealth]) -> list[PlatformHealth]:
    """Those worth a place at the foot, the ones in trouble first, so that none folds away."""
    shown = [each for each in platforms if each.state not in NOT_IN_STRIP]
    return sorted(shown, key=lambda each: (state_shape(each) != "attention", each.name))


def distances(platforms: Sequence[PlatformHealth], now: float) -> list[float]:
    """Seconds from now to every moment that is told in words."""
    heard = [each.last_heard_at - now for each in platforms if each.last_heard_at is not None]
    tried = [each.next_try_at - now for each in platforms if each.next_try_at is not None]
    return heard + tried
