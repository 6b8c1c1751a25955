"""What is set for the desktop program alone, in ``desktop/settings.yaml`` of the home."""

import logging
from dataclasses import dataclass, fields

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.settings.options import Effect, Option

log = logging.getLogger(__name__)

SETTINGS_NAME = "settings.yaml"
_SECTION = "Desktop program"


@dataclass(frozen=True, slots=True)
class DesktopConfig:
    """The desktop program's own settings.

    Attributes:
        start_gateway: Whether the gateway starts with the program.
        start_hidden: Whether the window stays closed at the start, where a tray icon leads to it.
    """

    start_gateway: bool = True
    start_hidden: bool = False


def read_desktop_config(paths: HermesPaths) -> DesktopConfig:
    """Read it; what cannot be understood counts as its default. Blocking; creates nothing."""
    try:
        data = read_config(paths.desktop_dir / SETTINGS_NAME).data
    except ConfigError as error:
        log.warning("%s", error)
        return DesktopConfig()
    given = {
        field.name: data[field.name]
        for field in fields(DesktopConfig)
        if isinstance(data.get(field.name), bool)
    }
    return DesktopConfig(**given)


def _yes_no(key: str, label: str, text: str, default: bool) -> Option:  # noqa: FBT001 - a table
    return Option(
        key=f"desktop.{key}",
        label=label,
        help=text,
        section=_SECTION,
        kind="yes_no",
        default=default,
        effect=Effect.NEXT_START,
        store="desktop",
    )


_DEFAULT = DesktopConfig()
DESKTOP_OPTIONS: tuple[Option, ...] = (
    _yes_no(
        "start_gateway",
        "Start the gateway with the program",
        "Whether the desktop program answers the messaging platforms from its start on.",
        _DEFAULT.start_gateway,
    ),
    _yes_no(
        "start_hidden",
        "Start hidden",
        "Whether the window stays closed at the start. Without a tray icon it is minimised.",
        _DEFAULT.start_hidden,
    ),
)
