"""Change of a single setting from a chat, by the same rules as on the settings page."""

from collections.abc import Callable, Mapping

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.paths import HermesPaths


def setting_writer(
    paths: HermesPaths, environ: Mapping[str, str], clock: Clock
) -> Callable[[str, object], None]:
    """Return a function that writes one setting, and unsets it if the value is None.

    The function blocks and raises HermesError. Watchers of the home's settings detect the change
    like any change from outside.
    """

    def write(key: str, value: object) -> None:
        # Imported here because few processes change a setting.
        from hermes_desktop.services.settings.settings_repository import Change, SettingsRepository  # noqa: PLC0415

        process = getattr(environ, "process", environ)
        repository = SettingsRepository(paths, process, clock)
        repository.save([Change(key, value, unset=value is None)])

    return write
