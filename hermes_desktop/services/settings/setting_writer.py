"""Changing one setting of the home from a chat; with the same rules as the settings' own page."""

from collections.abc import Callable, Mapping

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.paths import HermesPaths


def setting_writer(
    paths: HermesPaths, environ: Mapping[str, str], clock: Clock
) -> Callable[[str, object], None]:
    """What writes one setting; None as the value unsets it. It blocks, and raises HermesError.

    Whoever follows the settings of the home notices it as any change from outside.
    """

    def write(key: str, value: object) -> None:
        # Loaded by the few who change something.
        from hermes_desktop.services.settings.settings_book import Change, SettingsBook  # noqa: PLC0415

        process = getattr(environ, "process", environ)
        book = SettingsBook(paths, process, clock)
        book.save([Change(key, value, unset=value is None)])

    return write
