"""What is changed here is read by the real program, and the other way round."""

import json
from typing import Any

import pytest

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.paths import resolve_paths
from hermes_desktop.services.secrets.secret_access import open_secrets
from hermes_desktop.services.secrets.secrets_repository import SecretsRepository
from hermes_desktop.services.settings.gateway_settings import load_gateway_config
from hermes_desktop.services.settings.settings_repository import Change, SettingsRepository
from hermes_desktop.settings.env_file import read_env_file
from tests.fakes.config_corpus import BASES

CHANGES = [
    Change("model.default", "vendor/model:free"),
    Change("model.base_url", "http://127.0.0.1:9/v1"),
    Change("agent.max_turns", 17),
    Change("display.busy_input_mode", "queue"),
    Change("session_reset.mode", "idle"),
    Change("session_reset.idle_minutes", 55),
    Change("unauthorized_dm_behavior", "ignore"),
    Change("streaming.enabled", value=True),
    Change("streaming.transport", "off"),
    Change("max_concurrent_sessions", 4),
    Change("telegram.allow_from", ["12345", "on", "1:30", "007"]),
    Change("discord.allow_from", ["*"]),
    Change("slack.unauthorized_dm_behavior", "pair"),
]


def book(hermes: Any) -> SettingsRepository:
    environ = hermes.environment()
    return SettingsRepository(resolve_paths(environ), environ, SystemClock())


def both_read(hermes: Any) -> tuple[Any, Any]:
    """The gateway's configuration as we and as the real program understand it."""
    environ = hermes.environment()
    ours = load_gateway_config(resolve_paths(environ), environ).config
    theirs = hermes.script("show_gateway_config.py", "{}")
    return json.loads(json.dumps(ours.to_dict())), theirs


@pytest.mark.parametrize(
    "name", [name for name in BASES if name not in {"odd", "keeping", "unicode"}]
)
def test_what_is_written_here_is_read_there(hermes: Any, name: str) -> None:
    (hermes.home / "config.yaml").write_text(BASES[name], encoding="utf-8")
    for change in CHANGES:
        book(hermes).save([change])
    ours, theirs = both_read(hermes)
    assert ours == theirs
    assert theirs["default_reset_policy"]["mode"] == "idle"
    assert theirs["streaming"]["transport"] == "off"
    telegram = theirs["platforms"]["telegram"]["extra"]
    assert telegram["allow_from"] == ["12345", "on", "1:30", "007"]


@pytest.mark.parametrize("change", CHANGES[:6], ids=lambda change: change.key)
def test_hermes_config_get_says_what_was_set(hermes: Any, change: Change) -> None:
    (hermes.home / "config.yaml").write_text(BASES["full"], encoding="utf-8")
    book(hermes).save([change])
    assert hermes.command("config", "get", change.key).strip() == str(change.value)


@pytest.mark.parametrize("name", ["telegram", "discord", "slack", "matrix"])
def test_a_platform_is_switched_on_and_off_for_both(hermes: Any, name: str) -> None:
    for on in (True, False):
        book(hermes).save([Change(f"platforms.{name}.enabled", on)])
        ours, theirs = both_read(hermes)
        assert ours["platforms"][name]["enabled"] is on
        assert theirs["platforms"][name]["enabled"] is on


def test_what_hermes_config_set_writes_is_read_and_changed_here(hermes: Any) -> None:
    hermes.command("config", "set", "agent.max_turns", "12")
    hermes.command("config", "set", "model.default", "a/b")
    view = book(hermes).find("agent.max_turns")
    assert (view.value, view.source) == (12, "config.yaml")
    book(hermes).save([Change("agent.max_turns", 13), Change("session_reset.mode", "daily")])
    assert hermes.command("config", "get", "agent.max_turns").strip() == "13"
    hermes.command("config", "set", "agent.max_turns", "14")
    assert book(hermes).find("agent.max_turns").value == 14
    assert book(hermes).find("session_reset.mode").value == "daily"


def test_env_files_are_read_as_the_command_reads_them(hermes: Any) -> None:
    shapes = {
        "EXPORTED": "export EXPORTED=abc # remark",
        "QUOTED": 'QUOTED="a # b \\" c" # remark',
        "SINGLE": "SINGLE='a b'",
        "TWICE": "TWICE=1\nTWICE=2\r",
        "BASE": "BASE=base",
        "REFERS": "REFERS=${BASE}-x",
        "REFERS_QUOTED": "REFERS_QUOTED='${BASE}-x'",
        "OTHERWISE": "OTHERWISE=${NOWHERE:-else}",
        "DOLLAR": "DOLLAR=$BASE",
        "JUNK": 'JUNK="abc" and more',
        "NAMED": "'NAMED'=abc",
    }
    lines = [f"{line.replace(name, name + '_API_KEY')}" for name, line in shapes.items()]
    text = "\n".join(lines).replace("${BASE}", "${BASE_API_KEY}") + "\n"
    (hermes.home / ".env").write_bytes(text.encode())
    ours = read_env_file(hermes.home / ".env")
    theirs = {name: hermes.command("config", "get", name).strip() for name in ours}
    assert ours == theirs
    assert len(ours) == len(shapes)


def test_a_secret_put_back_into_env_is_found_by_hermes(hermes: Any) -> None:
    environ = hermes.environment()
    paths, clock = resolve_paths(environ), SystemClock()
    secrets = SecretsRepository(paths, environ, open_secrets(paths, clock), clock)
    secrets.keep("TELEGRAM_BOT_TOKEN", "123456:a value $with 'signs", plain=True)
    assert "telegram" not in both_read(hermes)[1]["platforms"]
    with pytest.raises(Exception, match="different ways"):
        secrets.move_back("TELEGRAM_BOT_TOKEN")
    secrets.keep("TELEGRAM_BOT_TOKEN", "123456:a value $with signs#", plain=True)
    secrets.move_back("TELEGRAM_BOT_TOKEN")
    assert (hermes.home / ".env").read_text().startswith("TELEGRAM_BOT_TOKEN='123456:a value")
    assert "Telegram:     configured" in hermes.command("config", "show")
