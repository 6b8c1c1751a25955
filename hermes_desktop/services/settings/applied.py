"""The result of a settings change: which parts already apply, and what the others wait for."""

from collections.abc import Iterator
from dataclasses import dataclass

from hermes_desktop.core.events import GatewayState, SettingChanged
from hermes_desktop.gateway.config.config_changes import PlatformOutcome
from hermes_desktop.gateway.config.config_options import GATEWAY_OPTIONS, GATEWAY_SECRETS
from hermes_desktop.gateway.platforms.checks import CheckResult
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
    """A platform's answer to a check of a secret before it was stored."""

    platform: str
    answer: CheckResult


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of a change.

    Attributes:
        saved: The changes that were written.
        at_once: Settings that already apply: from the next message on, or because no gateway runs.
        reconnected: Platforms of our running gateway that were reconnected, connected for the first
            time, or disconnected, each with the outcome. The settings that caused it are not in
            ``at_once``.
        after_restart: Settings that wait until our gateway is restarted; see
            :meth:`SettingsService.restart_gateway`.
        other_gateway: Settings that wait until the other program, which hosts the home, is
            restarted; another Hermes Desktop applies most of them automatically.
        next_start: Settings that wait until the desktop program is restarted.
        checked: The platforms' answers before their secrets were stored; platforms that could not
            be reached gave none.
        trouble: Why our gateway continues with the previous settings, as a sentence; "" if it does
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


def change_result(
    saved: Saved,
    own: tuple[SettingChanged, ...],
    followed: Followed,
    state: GatewayState,
    checked: tuple[PlatformChecked, ...] = (),
    *,
    other_follows: bool = False,
) -> Applied:
    """Group changes by when they take effect.

    Args:
        saved: The changes that were written.
        own: The changes made here.
        followed: How the gateway applied them.
        state: The state of our gateway.
        checked: The platforms' answers before the change.
        other_follows: Whether another gateway that hosts the home applies them automatically.
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
            continue  # it is reported per platform
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
