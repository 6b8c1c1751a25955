"""Texts about the state of a platform and the result of a connection test. No Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_desktop.ui.words.gateway_words import plain, serves
from hermes_desktop.ui.words.platform_words import (
    explained,
    last_contact_text,
    next_retry_text,
    state_shape,
    state_words,
)

if TYPE_CHECKING:
    from hermes_desktop.core.events import GatewayStatusChanged, PlatformHealth
    from hermes_desktop.gateway.platforms.checks import CheckResult
    from hermes_desktop.services.secrets.platform_facts import PlatformFacts
    from hermes_desktop.ui.settings.secrets.lines import Level


def health_of(name: str, status: GatewayStatusChanged) -> PlatformHealth | None:
    """Return the health of a platform as reported by the running gateway, hosted or other."""
    platforms = status.other.platforms if status.other is not None else status.platforms
    return next((each for each in platforms if each.name == name), None)


def health_line(
    name: str,
    status: GatewayStatusChanged,
    now: float,
    *,
    on: bool,
    served: bool,
    missing: bool = False,
) -> tuple[str, str, str]:
    """Return shape, short text and reason of a platform's state.

    Args:
        name: The platform.
        status: Status of the gateway.
        now: Seconds since the epoch.
        on: Whether it is switched on and has what it needs.
        served: Whether this version can serve it.
        missing: Whether it is off only because its token is stored nowhere.
    """
    health = health_of(name, status)
    if health is not None and health.state == "disabled" and on:
        # The token is stored but could not be read: the platform was not switched off.
        return "attention", "Not connected", plain(health.detail)
    if missing and (health is None or health.state == "disabled"):
        return "stopped", "No token yet", ""
    if health is not None and status.state != "stopped":
        heard = last_contact_text(health, now) if health.state in {"connected", "silent"} else ""
        tried = next_retry_text(health, now)
        later = f"next attempt {tried}" if tried else ""
        words = " · ".join(filter(None, (state_words(health), heard, later)))
        return state_shape(health), words, plain(explained(health))
    if not on:
        return "stopped", "Turned off", ""
    return _without_health(status, served=served)


def trouble_level(name: str, status: GatewayStatusChanged, shape: str) -> Level | None:
    """Return how serious the trouble of a platform is; None if it needs no attention.

    Args:
        name: The platform.
        status: Status of the gateway.
        shape: The shape of its state, from :func:`health_line`.
    """
    health = health_of(name, status)
    if health is None or shape == "stopped":
        return None
    if health.state == "fatal":
        return "error"
    return "warning" if shape == "attention" or health.state == "retrying" else None


def _without_health(status: GatewayStatusChanged, *, served: bool) -> tuple[str, str, str]:
    """Return the state of an enabled platform that the gateway does not report on."""
    if not served:
        return "stopped", "Not supported", ""
    if status.state == "attached":
        return (
            "attached",
            "Another gateway is running",
            "It does not report the state of this platform.",
        )
    if serves(status):
        return "connecting", "Not connected yet", "Restart the gateway to connect it."
    return "stopped", "Gateway stopped", ""


def check_text(answer: CheckResult, facts: PlatformFacts) -> tuple[Level, str]:
    """Return level and text for the result of a connection test."""
    title = facts.title
    said = plain(answer.words)
    hint = plain(answer.hint)
    if answer.kind == "ok":
        who = f" The bot is {answer.name}." if answer.name else ""
        return "ok", f"{title} accepts the token.{who}{_also(said)}"
    if answer.kind == "refused":
        hint = hint or "Paste a new one, or remove it."
        return "error", f"{title} rejected the token. It answered: {_closed(said)} {hint}"
    if answer.kind == "unreachable":
        words = f"{title} could not be reached: {_closed(said)} The token was not"
        return "warning", f"{words} checked.{_also(hint)}"
    return "error", f"{_closed(said)}{_also(hint)}"


def _closed(words: str) -> str:
    """Return the text with a full stop; "nothing." for an empty one."""
    words = words or "nothing"
    return words if words[-1] in ".!?" else f"{words}."


def _also(words: str) -> str:
    return f" {_closed(words)}" if words else ""
