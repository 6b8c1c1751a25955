"""What became of a change of settings, told to whoever made it."""

from collections.abc import Iterator
from dataclasses import dataclass

from hermes_desktop.core.events import GatewayState, SettingChanged
from hermes_desktop.gateway.config.config_changes import PlatformOutcome
from hermes_desktop.gateway.config.config_options import GATEWAY_OPTIONS, GATEWAY_SECRETS
from hermes_desktop.gateway.platforms.checks import CheckAnswer
from hermes_desktop.services.settings.live_settings import RUNS, Followed
from hermes_desktop.services.settings.settings_book import Saved
from hermes_desktop.settings.options import Effect

_OF_GATEWAY = frozenset(
    (
        *(option.key for option in GATEWAY_OPTIONS),
        *(secret.variable for secret in GATEWAY_SECRETS),
    )
)

_BY_ITSELF = frozenset({Effect.LIVE, Effect.RECONNECT})


@dataclass(frozen=True, slots=True)
class PlatformChecked:
    """What a platform said to a secret before it was stored."""

    platform: str
    answer: CheckAnswer


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a change.

    Attributes:
        saved: What was written.
        at_once: What counts already: from the next message on, or because no gateway runs.
        reconnected: Platforms of our running gateway that were connected anew, for the first time,
            or left, each with whether that worked. What it was for is not in ``at_once``.
        after_restart: What waits until our gateway is restarted; see
            :meth:`SettingsService.restart_gateway`.
        other_gateway: What waits until the other program, which has the home, is restarted;
            another Hermes Desktop takes most by itself.
        next_start: What waits until the desktop program is started anew.
        checked: What platforms said before their secrets were stored; those that could not be
            reached could not be asked.
        trouble: Why our gateway goes on with the settings before, as a sentence; "" if it does
            not.
    """

    saved: Saved
    at_once: tuple[str, ...] = ()
    reconnected: tuple[PlatformOutcome, ...] = ()
    after_restart: tuple[str, ...] = ()
    other_gateway: tuple[str, ...] = ()
    next_start: tuple[str, ...] = ()
    checked: tuple[PlatformChecked, ...] = ()
    trouble: str = ""


def what_became(
    saved: Saved,
    own: tuple[SettingChanged, ...],
    followed: Followed,
    state: GatewayState,
    checked: tuple[PlatformChecked, ...] = (),
    *,
    other_follows: bool = False,
) -> Applied:
    """Sort changes by when they count.

    Args:
        saved: What was written.
        own: What was changed here.
        followed: What the gateway made of it.
        state: How our gateway is.
        checked: What platforms said before.
        other_follows: Whether another gateway that has the home takes them by itself.
    """
    found: dict[str, list[str]] = {"at_once": [], "restart": [], "other": [], "next": []}
    for when, key in _sorted(own, followed, state, other_follows=other_follows):
        found[when].append(key)
    trouble = followed.trouble
    return Applied(
        saved,
        at_once=tuple(found["at_once"]),
        reconnected=followed.replaced.platforms,
        after_restart=tuple(found["restart"]),
        other_gateway=tuple(found["other"]),
        next_start=tuple(found["next"]),
        checked=checked,
        trouble="" if trouble is None else f"{trouble.title} {trouble.detail}".strip(),
    )


def _sorted(
    own: tuple[SettingChanged, ...],
    followed: Followed,
    state: GatewayState,
    *,
    other_follows: bool,
) -> Iterator[tuple[str, str]]:
    touched = {each.platform for each in followed.replaced.platforms}
    for change in own:
        effect = Effect(change.effect)
        if effect is Effect.RECONNECT and change.platform in touched:
            continue  # it is told by platform
        if state == "attached" and other_follows and effect in _BY_ITSELF:
            yield "at_once", change.key
            continue
        yield _when(change, effect, state, is_taken=followed.trouble is None), change.key


def _when(change: SettingChanged, effect: Effect, state: GatewayState, *, is_taken: bool) -> str:
    if effect is Effect.NEXT_START:
        return "next"
    if change.key not in _OF_GATEWAY and effect is not Effect.RESTART:
        return "at_once"
    if state == "attached":
        return "other"
    waits = state in RUNS and (effect is Effect.RESTART or not is_taken)
    return "restart" if waits else "at_once"
