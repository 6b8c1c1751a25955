"""Telegram's settings as they are shown are those that its gateway goes by."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.config_platforms import Platform, title_of
from hermes_desktop.gateway.platforms.telegram.options import read_options
from hermes_desktop.services.secrets.platform_facts import PLATFORMS
from hermes_desktop.services.settings.gateway_settings import read_gateway_config
from hermes_desktop.services.settings.settings_reading import SettingView
from hermes_desktop.services.settings.settings_repository import OPTIONS, Change, SettingsRepository
from tests.fakes.clock import MovableClock

TOKEN = {"TELEGRAM_BOT_TOKEN": "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
SWITCH = "platforms.telegram.enabled"


def book(home: Path, data: Any = None, **environ: str) -> SettingsRepository:
    if data is not None:
        (home / "config.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    return SettingsRepository(HermesPaths(home, home), environ, MovableClock())


def views(found: SettingsRepository) -> dict[str, SettingView]:
    return {view.key: view for view in found.look("telegram")}


EXTRA = {"extra": {"require_mention": True, "allowed_chats": [-7]}}


@pytest.mark.parametrize(
    ("data", "environ"),
    [
        ({}, {}),
        ({"telegram": {"require_mention": True, "allowed_chats": ["-1", -2]}}, {}),
        ({"telegram": {"allowed_chats": "-1, -2", "allowed_topics": 5}}, {}),
        ({"platforms": {"telegram": {"require_mention": "yes", "allowed_chats": [-3]}}}, {}),
        ({"gateway": {"platforms": {"telegram": {"allowed_chats": [-3]}}}}, {}),
        ({"platforms": {"telegram": {"allowed_chats": [-3]}}, "telegram": {"x": 1}}, {}),
        ({"platforms": {"telegram": EXTRA}}, {}),
        ({"platforms": {"telegram": EXTRA}, "telegram": {"allowed_chats": [-9]}}, {}),
        ({"telegram": EXTRA}, {}),
        ({"require_mention": True, "telegram": {"allow_from": ["1"]}}, {}),
        ({"require_mention": True, "telegram": {"require_mention": False}}, {}),
        ({"telegram": {"free_response_chats": ["*"]}}, {"TELEGRAM_REQUIRE_MENTION": "true"}),
        ({"telegram": {"allowed_chats": [-1]}}, {"TELEGRAM_ALLOWED_CHATS": "-5,-6"}),
        ({}, {"TELEGRAM_ALLOWED_TOPICS": "8", "TELEGRAM_FREE_RESPONSE_CHATS": "-4"}),
    ],
)
def test_what_is_shown_is_what_counts(
    tmp_path: Path, data: dict[str, Any], environ: dict[str, str]
) -> None:
    shown = views(book(tmp_path, data, **environ))
    paths = HermesPaths(tmp_path, tmp_path)
    config = read_gateway_config(paths, environ).config
    settings = config.platforms.get(Platform.TELEGRAM)
    counts = read_options(settings) if settings is not None else None
    for key, name in (
        ("telegram.allowed_chats", "chats"),
        ("telegram.allowed_topics", "topics"),
        ("telegram.free_response_chats", "free_chats"),
    ):
        assert frozenset(shown[key].value) == (getattr(counts, name) if counts else frozenset())
    assert shown["telegram.require_mention"].value == bool(counts and counts.require_mention)


def test_what_is_set_counts(tmp_path: Path) -> None:
    for data in ({"telegram": {"x": 1}}, {"platforms": {"telegram": {"enabled": True}}}, {}):
        found = book(tmp_path, data)
        found.save(
            [
                Change("telegram.require_mention", value=True),
                Change("telegram.allowed_chats", value=["-100"]),
            ]
        )
        paths = HermesPaths(tmp_path, tmp_path)
        settings = read_gateway_config(paths, {}).config.platforms[Platform.TELEGRAM]
        counts = read_options(settings)
        assert (counts.require_mention, counts.chats) == (True, frozenset({"-100"}))


def test_a_token_alone_switches_a_platform_on(tmp_path: Path) -> None:
    def switch(data: Any = None, **environ: str) -> tuple[Any, str, str]:
        view = book(tmp_path, data, **environ).find(SWITCH)
        return view.value, view.source, view.place

    assert switch() == (False, "default", "")
    assert switch(**TOKEN) == (True, "environment", "TELEGRAM_BOT_TOKEN")
    (tmp_path / ".env").write_text("TELEGRAM_BOT_TOKEN=123456:AAA\n", encoding="utf-8")
    assert switch() == (True, ".env", "TELEGRAM_BOT_TOKEN")
    (tmp_path / "desktop").mkdir(exist_ok=True)
    index = HermesPaths(tmp_path, tmp_path).desktop_dir / "secrets.json"
    index.write_text(json.dumps({"keyring": {"TELEGRAM_BOT_TOKEN": "a keyring"}}))
    assert switch() == (True, "keyring", "TELEGRAM_BOT_TOKEN")
    off = {"platforms": {"telegram": {"enabled": False}}}
    assert switch(off, **TOKEN) == (False, "config.yaml", SWITCH)


def test_a_platform_that_needs_more_is_on_with_all_of_it(tmp_path: Path) -> None:
    key = "platforms.matrix.enabled"
    assert book(tmp_path, MATRIX_ACCESS_TOKEN="t").find(key).value is False
    both = {"MATRIX_ACCESS_TOKEN": "t", "MATRIX_HOMESERVER": "https://example.org"}
    assert book(tmp_path, **both).find(key).value is True
    assert book(tmp_path, WEBHOOK_ENABLED="1").find("platforms.webhook.enabled").value is True


def test_names_are_the_same_everywhere() -> None:
    for name, facts in PLATFORMS.items():
        if facts.switch_key in OPTIONS:
            assert title_of(Platform(name)) == facts.title
    for option in OPTIONS.values():
        if option.platform and ": " in option.title:
            assert option.title.startswith(title_of(Platform(option.platform)))
