"""The desktop program's own settings, stored in ``desktop/settings.yaml`` of the home."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.updates.release_feed import FEED_VARIABLE, NO_FEED
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.settings.options import Effect, Option, setting, settings_of

log = logging.getLogger(__name__)

SETTINGS_NAME = "settings.yaml"
_SECTION, _NEWS = "Desktop program", "Notifications"
_BY_TRAY = "Shown by the tray icon while the window is hidden."

ColourScheme = Literal["system", "light", "dark"]
_setting = partial(setting, section=_SECTION, store="desktop")


@dataclass(frozen=True, slots=True)
class DesktopConfig:
    """The desktop program's own settings.

    Attributes:
        start_gateway: Whether the gateway starts with the program.
        start_hidden: Whether the window stays closed at the start, where a tray icon can open it.
        close_to_tray: Whether closing the window leaves the program running.
        colour_scheme: Light, dark, or as set in the system.
        check_updates: Whether the program may ask for new releases.
        notify_approvals: Whether the user is notified of the assistant's questions while the window
            is hidden.
        notify_finished: The same for a finished reply; ``notify_platforms`` for a platform that is
            no longer reached; ``notify_requests`` for a sender who requests access.
    """

    start_gateway: bool = _setting(
        "desktop.start_gateway",
        default=True,
        title="Start the gateway with the program",
        help="Answers the messaging platforms as soon as the desktop program starts.",
        effect=Effect.NEXT_START,
    )
    start_hidden: bool = _setting(
        "desktop.start_hidden",
        default=False,
        title="Start hidden",
        help="The window stays closed at start. Without a tray icon, it is minimized.",
        effect=Effect.NEXT_START,
    )
    close_to_tray: bool = _setting(
        "desktop.close_to_tray",
        default=True,
        title="Keep running when the window is closed",
        help="Closing the window leaves Hermes running in the tray.",
        consequence="When off, closing the window quits Hermes, and messages from platforms "
        "are no longer answered; running replies get 15 seconds.",
    )
    colour_scheme: ColourScheme = _setting(  # noqa: RUF009 - a declaration
        "desktop.colour_scheme",
        "system",
        title="Colors",
        help="Light, dark, or the same as the system.",
        choices={"system": "same as the system", "light": "light", "dark": "dark"},
    )
    check_updates: bool = _setting(
        "desktop.check_updates",
        default=False,
        title="Check for new versions",
        help="Looks once a day for a new version and tells you in the window.",
        consequence="Hermes never updates itself. The server learns your network address, and "
        "nothing else about you.",
        unavailable=NO_FEED,
        available_with=FEED_VARIABLE,
    )
    notify_approvals: bool = _setting(
        "desktop.notify_approvals",
        default=True,
        title="Question from the assistant",
        help=f"When it waits for your approval or your answer. {_BY_TRAY}",
        section=_NEWS,
    )
    notify_finished: bool = _setting(
        "desktop.notify_finished",
        default=True,
        title="Reply finished",
        help=f"When a reply in a chat of this window is complete. {_BY_TRAY}",
        section=_NEWS,
    )
    notify_platforms: bool = _setting(
        "desktop.notify_platforms",
        default=True,
        title="Platform not reachable",
        help=f"When a messaging platform does not respond, or refuses to. {_BY_TRAY}",
        section=_NEWS,
    )
    notify_requests: bool = _setting(
        "desktop.notify_requests",
        default=True,
        title="Pairing request",
        help=f"When someone new wrote and waits for approval. {_BY_TRAY}",
        section=_NEWS,
    )


DESKTOP_OPTIONS: tuple[Option, ...] = (
    Option(
        key="desktop.start_at_login",
        title="Start at login",
        help="Starts Hermes hidden when you log in. The settings of your desktop take precedence.",
        section=_SECTION,
        kind="yes_no",
        default=False,
        store="system",
    ),
    *settings_of(DesktopConfig).values(),
)


def read_desktop_config(paths: HermesPaths) -> DesktopConfig:
    """Read the settings, with defaults for invalid values. Blocking; creates nothing."""
    try:
        data = read_config(paths.desktop_dir / SETTINGS_NAME).data
    except ConfigError as error:
        log.warning("%s", error)
        return DesktopConfig()
    return DesktopConfig(**_given(data))


def _given(data: Mapping[str, Any]) -> dict[str, Any]:
    declared = settings_of(DesktopConfig).items()
    return {name: data[name] for name, option in declared if _is_valid(option, data.get(name))}


def _is_valid(option: Option, value: object) -> bool:
    if option.kind == "yes_no":
        return isinstance(value, bool)
    return isinstance(value, str) and value in (option.choices or {})
