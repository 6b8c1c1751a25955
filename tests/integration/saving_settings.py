"""Change a setting and a secret in a home; for a test that kills this in the middle.

Run with the home and the file that stands in for the keyring.
"""

import asyncio
import sys
from pathlib import Path

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.settings.settings_repository import Change
from hermes_desktop.services.settings.settings_service import SettingsService, build_settings
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets
from hermes_desktop.settings.secret_index import PlainTextSecretStore, SecretIndex
from hermes_desktop.settings.secrets import KeyringSecretStore
from tests.fakes.keyring import KeyringInFile

TOKEN, VALUE = "TELEGRAM_BOT_TOKEN", "987654:second-token"


def surroundings(paths: HermesPaths, keyring: Path) -> EnvironmentWithSecrets:
    index = SecretIndex(paths.desktop_dir)
    store = KeyringSecretStore(
        index, "test", SystemClock(), open_keyring=lambda: KeyringInFile(keyring)
    )
    return EnvironmentWithSecrets({"HOME": str(paths.home)}, store, PlainTextSecretStore(index))


def settings_of(paths: HermesPaths, keyring: Path) -> SettingsService:
    return build_settings(paths, surroundings(paths, keyring), SystemClock(), None, EventBus())


async def main(home: Path, keyring: Path) -> None:
    settings = settings_of(HermesPaths(home, home), keyring)
    await settings.apply([Change("agent.max_turns", 5)], {TOKEN: VALUE})
    sys.stdout.write("saved\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
