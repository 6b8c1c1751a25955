"""The desktop program's own settings, stored in ``desktop/settings.yaml`` of the home."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.settings.options import Effect, Option

log = logging.getLogger(__name__)

SETTINGS_NAME = "settings.yaml"
_SECTION, _NEWS = "Desktop program", "Notifications"

ColourScheme = Literal["system", "light", "dark"]


@dataclass(frozen=True, slots=True)
class DesktopConfig:
    """The desktop program's own settings.

    Attributes:
        start_gateway: Whether the gateway starts with the program.
        start_hidden: Whether the window stays closed at the start, where a tray icon can open it.
        close_to_tray: Whether closing the window leaves the program running.
        colour_scheme: Light, dark, or as set in the system.
        notify_approvals: Whether the user is notified of the assistant's questions while the window
            is hidden.
        notify_finished: The same for a finished reply; ``notify_platforms`` for a platform that is
            no longer reached; ``notify_requests`` for a sender who requests access.
    """

    start_gateway: bool = True
    start_hidden: bool = False
    close_to_tray: bool = True
    colour_scheme: ColourScheme = "system"
    notify_approvals: bool = True
    notify_finished: bool = True
    notify_platforms: bool = True
    notify_requests: bool = True


def read_desktop_config(paths: HermesPaths) -> DesktopConfig:
    """Read the settings, with defaults for invalid values. Blocking; creates nothing."""
    try:
        data = read_config(paths.desktop_dir / SETTINGS_NAME).data
    except ConfigError as error:
        log.warning("%s", error)
        return DesktopConfig()
    return DesktopConfig(**_given(data))


def _given(data: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        field.name: data[field.name]
        for field in fields(DesktopConfig)
        if isinstance(data.get(field.name), bool) and field.name != "colour_scheme"
    }
    if data.get("colour_scheme") in get_args(ColourScheme):
        found["colour_scheme"] = data["colour_scheme"]
    return found


def _yes_no(
    key: str,
    label: str,
    text: str,
    *,
    effect: Effect = Effect.LIVE,
    section: str = _SECTION,
    consequence: str = "",
) -> Option:
    return Option(
        key=f"desktop.{key}",
        label=label,
        help=text,
        section=section,
        kind="yes_no",
        default=getattr(_DEFAULT, key),
        effect=effect,
        consequence=consequence,
        store="desktop",
    )


def _notify(key: str, label: str, text: str) -> Option:
    return _yes_no(
        f"notify_{key}",
        label,
        f"{text} Shown by the tray icon while the window is hidden.",
        section=_NEWS,
    )


_DEFAULT = DesktopConfig()
DESKTOP_OPTIONS: tuple[Option, ...] = (
    Option(
        key="desktop.start_at_login",
        label="Start at login",
        help="Starts Hermes hidden when you log in. The settings of your desktop take precedence.",
        section=_SECTION,
        kind="yes_no",
        default=False,
        effect=Effect.LIVE,
        store="system",
    ),
    _yes_no(
        "start_gateway",
        "Start the gateway with the program",
        "Answers the messaging platforms as soon as the desktop program starts.",
        effect=Effect.NEXT_START,
    ),
    _yes_no(
        "start_hidden",
        "Start hidden",
        "The window stays closed at start. Without a tray icon, it is minimized.",
        effect=Effect.NEXT_START,
    ),
    _yes_no(
        "close_to_tray",
        "Keep running when the window is closed",
        "Closing the window leaves Hermes running in the tray.",
        consequence="When off, closing the window quits Hermes, and messages from platforms "
        "are no longer answered; running replies get 15 seconds.",
    ),
    Option(
        key="desktop.colour_scheme",
        label="Colours",
        help="Light, dark, or the same as the system.",
        section=_SECTION,
        kind="choice",
        default=_DEFAULT.colour_scheme,
        choices={"system": "same as the system", "light": "light", "dark": "dark"},
        effect=Effect.LIVE,
        store="desktop",
    ),
    _notify(
        "approvals",
        "Question from the assistant",
        "When it waits for your approval or your answer.",
    ),
    _notify("finished", "Reply finished", "When a reply in a chat of this window is complete."),
    _notify(
        "platforms",
        "Platform not reachable",
        "When a messaging platform does not respond, or refuses to.",
    ),
    _notify("requests", "Pairing request", "When someone new wrote and waits for approval."),
)
