"""A program killed between keyring and file leaves both usable."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from hermes_desktop.core.files import file_lock
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.services.settings.gateway_settings import running_config
from hermes_desktop.services.settings.settings_repository import Change
from tests.integration.saving_settings import TOKEN, VALUE, settings_of, surroundings

BEFORE = "agent:\n  max_turns: 9 # mine\nplatforms:\n  telegram: {enabled: true, token: '1:old'}\n"


def wait_for(file: Path, words: str) -> None:
    until = time.monotonic() + 60
    while not (file.exists() and words in file.read_text()):
        assert time.monotonic() < until, f"{words} did not come"
        time.sleep(0.01)


def kill_while_saving(paths: HermesPaths, keyring: Path) -> None:
    """A process keeps the secret, waits for a lock that we hold, and is killed then."""
    words = ["-m", "tests.integration.saving_settings", str(paths.home), str(keyring)]
    with file_lock.hold(paths.desktop_dir / "config.lock"):
        saving = subprocess.Popen(
            [sys.executable, *words], cwd=Path(__file__).parents[2], stdout=subprocess.PIPE
        )
        wait_for(paths.desktop_dir / "secrets.json", TOKEN)
        saving.kill()
        assert saving.communicate()[0] == b""


@pytest.mark.asyncio
async def test_killed_between_keyring_and_file(tmp_path: Path) -> None:
    home, keyring = tmp_path / "home", tmp_path / "keyring.json"
    paths = HermesPaths(home, home)
    paths.desktop_dir.mkdir(parents=True)
    paths.config_yaml.write_text(BEFORE)
    kill_while_saving(paths, keyring)
    assert json.loads(keyring.read_text()) == {TOKEN: VALUE}
    assert paths.config_yaml.read_text() == BEFORE
    assert [each.name for each in home.iterdir() if each.name.startswith(".")] == []
    config = running_config(paths, surroundings(paths, keyring)).config
    assert config.platforms[Platform.TELEGRAM].token == VALUE
    assert config.running.max_iterations == 9
    settings = settings_of(paths, keyring)
    applied = await settings.apply([Change("agent.max_turns", 5)], {TOKEN: VALUE})
    assert applied.at_once == ("agent.max_turns", TOKEN)
    assert yaml.safe_load(paths.config_yaml.read_text())["agent"] == {"max_turns": 5}
    settings.close()
