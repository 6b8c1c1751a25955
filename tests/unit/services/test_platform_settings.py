"""What variables say about platforms, and the home channel where ``/sethome`` writes it."""

from pathlib import Path

import pytest

from hermes_desktop.core.errors import RefusedError, UsageError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.services.settings.gateway_settings import load_gateway_config
from hermes_desktop.services.settings.platform_settings import (
    HomeStanding,
    PlatformSettingsRepository,
    VariableAllowlist,
)


def book(home: Path, **environ: str) -> PlatformSettingsRepository:
    return PlatformSettingsRepository(HermesPaths(home, home), environ)


def test_an_empty_home_says_nothing_and_gets_no_file(tmp_path: Path) -> None:
    found = book(tmp_path).look()
    assert {"telegram", "discord", "signal"} <= set(found)
    assert all(not each.mentioned and not each.listed for each in found.values())
    assert found["telegram"].home == HomeStanding()
    assert list(tmp_path.iterdir()) == []


def test_lists_of_variables_say_where_they_are(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "TELEGRAM_ALLOWED_USERS=2, 1\nGATEWAY_ALLOWED_USERS=boss\nDISCORD_ALLOW_ALL_USERS=yes\n"
    )
    found = book(tmp_path, TELEGRAM_ALLOWED_USERS="9", GATEWAY_ALLOW_ALL_USERS="no").look()
    assert found["telegram"].listed == (
        VariableAllowlist("TELEGRAM_ALLOWED_USERS", "environment", ("9",)),
        VariableAllowlist("GATEWAY_ALLOWED_USERS", ".env", ("boss",)),
    )
    assert found["discord"].everybody == (("DISCORD_ALLOW_ALL_USERS", ".env"),)
    assert found["telegram"].everybody == ()


@pytest.mark.parametrize(
    "text", ["telegram: {reply_prefix: x}", "platforms: {telegram: {enabled: false}}"]
)
def test_a_block_in_the_file_is_seen(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    found = book(tmp_path).look()
    assert found["telegram"].mentioned
    assert not found["discord"].mentioned


def test_the_home_channel_is_set_and_unset_where_the_gateway_looks(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\nTELEGRAM_HOME_CHANNEL=5\nTELEGRAM_HOME_CHANNEL_NAME=Me\n")
    platforms = book(tmp_path)
    home = platforms.look()["telegram"].home
    assert home == HomeStanding("5", "Me", ".env", "TELEGRAM_HOME_CHANNEL")
    assert platforms.set_home("telegram", " -100 ") == "5"
    assert (tmp_path / ".env").read_text() == "A=1\nTELEGRAM_HOME_CHANNEL=-100\n"
    config = load_gateway_config(HermesPaths(tmp_path, tmp_path), {}).config
    found = config.platforms[Platform.TELEGRAM].home_channel
    assert found is not None
    assert found.chat_id == "-100"
    platforms.set_home("telegram", "")
    assert platforms.look()["telegram"].home == HomeStanding()
    assert (tmp_path / ".env").read_text() == "A=1\n"


def test_one_of_the_file_is_shown_and_the_variable_counts_over_it(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "platforms:\n  telegram:\n    home_channel: {platform: telegram, chat_id: 7}\n"
    )
    platforms = book(tmp_path)
    place = "platforms.telegram.home_channel"
    assert platforms.look()["telegram"].home == HomeStanding("7", "Home", "config.yaml", place)
    platforms.set_home("telegram", "8")
    assert platforms.look()["telegram"].home.chat_id == "8"


@pytest.mark.parametrize("chat", ["two words", "$HOME", "a'b", "x" * 5 + "\n"])
def test_what_is_no_id_changes_nothing(tmp_path: Path, chat: str) -> None:
    if chat.strip().isalpha():
        book(tmp_path).set_home("telegram", chat)
        assert (tmp_path / ".env").read_text() == "TELEGRAM_HOME_CHANNEL=xxxxx\n"
        return
    with pytest.raises(UsageError, match="cannot be a chat ID"):
        book(tmp_path).set_home("telegram", chat)
    assert not (tmp_path / ".env").exists()


def test_what_the_environment_says_is_not_overwritten_in_vain(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="cannot be set here"):
        book(tmp_path, TELEGRAM_HOME_CHANNEL="1").set_home("telegram", "2")
    with pytest.raises(RefusedError, match="cannot be set here"):
        book(tmp_path, HERMES_MANAGED="1").set_home("telegram", "2")
    assert not (tmp_path / ".env").exists()
