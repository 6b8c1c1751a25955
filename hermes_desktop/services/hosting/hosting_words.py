"""User-facing texts about hosting: why it was refused, and which gateway has the home."""

from collections.abc import Mapping
from typing import Any, cast, get_args

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import HermesError, RefusedError
from hermes_desktop.core.events import (
    HealthState,
    HostingRefusal,
    Notice,
    NoticeCleared,
    OtherGateway,
    PlatformHealth,
)
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.identity.scheduled_work import ScheduledWork
from hermes_desktop.gateway.platforms.registry import NOT_SERVED
from hermes_desktop.gateway.runtime_files.identity_events import ForeignGateway, NotHere
from hermes_desktop.services.hosting.undone_words import undone_lines
from hermes_desktop.services.hosting.undone_work import undone_work
from hermes_desktop.state.records.records import StoreCondition

SETTINGS_NOTICE = "gateway-settings"
_HEALTH_STATES = frozenset(get_args(HealthState))
_STAY_ATTACHED = "Use `hermes gateway run`, or start the gateway here anyway."

ANOTHER_DESKTOP = "another Hermes Desktop"
OTHER_STOPPED = "The other gateway was stopped. Start this one yourself."
OTHER_CRASHED = "The other gateway crashed. Start this one yourself."


def would_not_run(work: ScheduledWork, unserved: Mapping[Platform, str]) -> tuple[str, ...]:
    """List the work that would not be done if the gateway were hosted here.

    Args:
        work: The scheduled work of the home.
        unserved: Platforms that cannot be served here, each with the reason.
    """
    platforms = [
        f"Messages from {_title(platform)}" + ("" if why == NOT_SERVED else f". {why}")
        for platform, why in unserved.items()
    ]
    undone = undone_work(work)
    return (*platforms, *(() if undone is None else undone_lines(undone)))


def promise_refusal(missed: tuple[str, ...]) -> HostingRefusal:
    """Return the refusal for a home that expects something which would not run here."""
    return HostingRefusal(
        "The gateway was not started, because some of its work would not run.",
        "`hermes` would expect this work to be done here, but Hermes Desktop cannot do it.",
        _STAY_ATTACHED,
        would_not_run=missed,
        may_insist=True,
    )


def managed_refusal(missed: tuple[str, ...]) -> HostingRefusal:
    """Return the refusal for a home that a package manager maintains."""
    return HostingRefusal(
        "The gateway was not started, because this home is managed.",
        "The package manager that set it up usually runs the gateway.",
        "Start it the way your system does, or start it here anyway.",
        would_not_run=missed,
        may_insist=True,
    )


def read_only_refusal(home: object) -> HostingRefusal:
    """Return the refusal for a home that cannot be written to."""
    return HostingRefusal(
        "The gateway cannot run because the home is read-only.",
        f"Hermes Desktop cannot write to {home}.",
        "Give yourself write access to the folder, then start the gateway again.",
    )


def unwritable_refusal(condition: StoreCondition) -> HostingRefusal:
    """Return the refusal for a database in which conversations cannot be stored."""
    return HostingRefusal(
        "The gateway cannot run because the history is read-only.",
        condition.reason,
        condition.hint,
    )


def failure_refusal(error: Exception) -> HostingRefusal:
    """Return the refusal for a gateway that was started and failed."""
    if isinstance(error, HermesError):
        return HostingRefusal(error.title, error.detail, error.hint)
    return HostingRefusal(
        "The gateway failed inside Hermes Desktop.",
        f"{type(error).__name__}: {error}",
        "Try again. The log has details.",
    )


def refusal_for(answer: NotHere, missed: tuple[str, ...] = ()) -> HostingRefusal:
    """Return the refusal for a claim that was denied.

    Args:
        answer: The reason.
        missed: See :func:`would_not_run`.
    """
    title, hint, may_insist = _WORDS[answer.why]
    if answer.why == "recent_stop":
        hint = f"Wait {answer.wait_s:.0f} seconds, or start it anyway."
    return HostingRefusal(title, answer.detail, hint, would_not_run=missed, may_insist=may_insist)


def not_served_here(what: str) -> RefusedError:
    """Return the error for a platform or chat that this program does not serve at the moment."""
    return RefusedError(
        f"{what} is not served here.",
        "The gateway of this program is not running, or has no such platform.",
        "Start the gateway first.",
    )


def unknown_holder_refusal() -> HostingRefusal:
    """Return the refusal for a home that is locked by a program which no file names."""
    return HostingRefusal(
        "The gateway was not started.",
        "Another program has locked gateway.lock in this home. It could not be identified.",
        "Try again in a moment. If that does not help, quit the program that has the file open.",
    )


_WORDS: Mapping[str, tuple[str, str, bool]] = {
    "obstacle": (
        "The gateway cannot be hosted here.",
        "Run `hermes gateway run` in a terminal. Hermes Desktop then shows its state.",
        False,
    ),
    "service": (
        "A service that runs the gateway of this home is installed.",
        "Start it with `hermes gateway start`, or start the gateway here anyway.",
        True,
    ),
    "recent_stop": ("Another program has just stopped the gateway.", "", True),
    "contested": (
        "The other gateway restarts whenever it is stopped.",
        "Find out what restarts it, such as a service, and stop that first.",
        False,
    ),
    "no_home": (
        "This home does not exist.",
        "Run `hermes setup`, or choose another profile.",
        False,
    ),
    "not_stopped": (
        "The other gateway did not stop.",
        "Stop it with `hermes gateway stop`, then start the gateway here.",
        False,
    ),
    "not_ours": (
        "Hermes Desktop does not run the gateway of this home.",
        "Use `hermes` and `hermes gateway start`. Reading, search and export work here.",
        False,
    ),
    "failed": (
        "The gateway was not started.",
        "Fix the problem and try again. The log has details.",
        False,
    ),
}


def other_gateway(gateway: ForeignGateway | None, clock: Clock) -> OtherGateway | None:
    """Describe the gateway of another program."""
    if gateway is None:
        return None
    age = gateway.age_s
    return OtherGateway(
        ANOTHER_DESKTOP if gateway.is_hermes_desktop else "hermes gateway",
        gateway.record.pid,
        started_at=None if age is None else round(clock.time() - age),
        state=gateway.state,
        platforms=tuple(_health(name, said) for name, said in sorted(gateway.platforms.items())),
    )


def waiting_words(turns: int, seconds: float) -> str:
    """Return the text that says what is waited for, and the remaining time limit."""
    noun = "reply" if turns == 1 else "replies"
    return f"Waiting for {turns} {noun}, {max(0.0, seconds):.0f} s left."


def settings_notice(warnings: tuple[str, ...]) -> Notice | NoticeCleared:
    """Return the notice about invalid settings, or the event that clears it if there are none."""
    if not warnings:
        return NoticeCleared(SETTINGS_NOTICE)
    return Notice(
        "warning",
        "Some gateway settings are invalid and are ignored.",
        " ".join(warnings),
        "Correct them, then restart the gateway.",
        key=SETTINGS_NOTICE,
    )


def _health(name: str, said: Mapping[str, Any]) -> PlatformHealth:
    """Convert a platform report of the other gateway; an unknown state becomes ``silent``."""
    state = said.get("state")
    return PlatformHealth(
        name,
        cast("HealthState", state) if state in _HEALTH_STATES else "silent",
        detail=str(said.get("error_message") or ""),
    )


def _title(platform: Platform) -> str:
    return platform.value.replace("_", " ").title()
