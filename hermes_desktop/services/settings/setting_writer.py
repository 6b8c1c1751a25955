"""Changes of single settings from chats and tools, by the same rules as on the settings page."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.settings.safe_replacement import TRIES, is_managed

if TYPE_CHECKING:
    from hermes_desktop.services.settings.settings_reading import SettingView
    from hermes_desktop.services.settings.settings_repository import SettingsRepository


def setting_writer(
    paths: HermesPaths, environ: Mapping[str, str], clock: Clock
) -> Callable[[str, object], None]:
    """Return a function that writes one setting, and unsets it if the value is None.

    The function blocks and raises HermesError. Watchers of the home's settings detect the change
    like any change from outside.
    """

    def write(key: str, value: object) -> None:
        from hermes_desktop.services.settings.settings_repository import Change  # noqa: PLC0415

        _repository(paths, environ, clock).save([Change(key, value, unset=value is None)])

    return write


def list_extender(
    paths: HermesPaths, environ: Mapping[str, str], clock: Clock
) -> Callable[[str, str], None] | None:
    """Return a function that adds an entry to a setting that is a list; None in a managed home.

    The function blocks and raises HermesError. Entries that other programs write in the meantime
    are kept.
    """
    if is_managed(paths.home, getattr(environ, "process", environ)):
        return None

    def add(key: str, entry: str) -> None:
        from hermes_desktop.services.settings.settings_repository import Change  # noqa: PLC0415
        from hermes_desktop.settings.config_store import ChangedElsewhereError  # noqa: PLC0415

        repository = _repository(paths, environ, clock)
        for left in reversed(range(TRIES)):
            view = repository.find(key)
            entries = _entries(view)
            if entry in entries:
                return
            try:
                repository.save([Change(key, [*entries, entry], seen=view.seen)])
            except ChangedElsewhereError:
                if not left:
                    raise
            else:
                return

    return add


def _entries(view: "SettingView") -> list[str]:
    """Return the entries as they are in the file; a single one needs no list."""
    value = next((each.value for each in view.seen if each.present), None)
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return list(value)
    if value is None:
        return []
    key = view.option.key
    raise ConfigError(
        f"“{view.option.title}” is not a list of texts, so nothing can be added to it.",
        f"{key} is {value!r} in the file.",
        f"Correct {key} in the settings.",
    )


def _repository(
    paths: HermesPaths, environ: Mapping[str, str], clock: Clock
) -> "SettingsRepository":
    # Imported here because few processes change a setting.
    from hermes_desktop.services.settings.settings_repository import (  # noqa: PLC0415
        SettingsRepository,
    )

    return SettingsRepository(paths, getattr(environ, "process", environ), clock)
