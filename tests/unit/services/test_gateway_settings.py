"""The gateway's configuration of a home: files below, variables above, nothing written."""

import json
import logging
import os
from pathlib import Path

import pytest

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths, resolve_paths
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.services.settings.gateway_settings import live_lookup, load_gateway_config

TOKEN = "123456:from-the-environment"


@pytest.fixture
def paths(tmp_path: Path) -> HermesPaths:
    return resolve_paths({"HERMES_HOME": str(tmp_path), "HOME": str(tmp_path)})


def test_each_layer_wins_over_those_below(paths: HermesPaths, tmp_path: Path) -> None:
    legacy = {
        "session_store_max_age_days": 7,
        "group_sessions_per_user": False,
        "platforms": {"telegram": {"enabled": True, "token": "legacy", "extra": {"a": 1, "b": 1}}},
    }
    (tmp_path / "gateway.json").write_text(json.dumps(legacy), encoding="utf-8")
    (tmp_path / "config.yaml").write_text(
        "group_sessions_per_user: yes\nplatforms: {telegram: {token: yaml, extra: {b: 2}}}\n",
        encoding="utf-8",
    )
    (tmp_path / ".env").write_text(
        "TELEGRAM_BOT_TOKEN=from-the-file\nSESSION_RESET_HOUR=5\n", encoding="utf-8"
    )
    before = (dict(os.environ), sorted(tmp_path.iterdir()))
    redactor = SecretRedactor()
    config = load_gateway_config(paths, {"TELEGRAM_BOT_TOKEN": TOKEN}, redactor).config
    telegram = config.platforms[Platform.TELEGRAM]
    assert (telegram.token, dict(telegram.extra)) == (TOKEN, {"a": 1, "b": 2})
    assert (config.group_sessions_per_user, config.session_store_max_age_days) == (True, 7)
    assert config.default_reset_policy.at_hour == 5
    assert config.sessions_dir == paths.sessions_dir
    assert TOKEN not in redactor.clean(f"it is {TOKEN}")
    assert (dict(os.environ), sorted(tmp_path.iterdir())) == before
    blank = load_gateway_config(paths, {"TELEGRAM_BOT_TOKEN": " "}).config
    assert blank.platforms[Platform.TELEGRAM].token == "from-the-file"


def test_an_empty_home_has_the_defaults(paths: HermesPaths) -> None:
    loaded = load_gateway_config(paths, {})
    assert loaded.warnings == ()
    assert loaded.config.platforms == {}
    assert loaded.config.session_store_max_age_days == 90


@pytest.mark.parametrize("broken", ["[1]", "{half", "5"])
def test_a_broken_file_is_named_and_the_others_count(
    paths: HermesPaths, tmp_path: Path, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("gateway.json", "config.yaml"):
        (tmp_path / name).write_text(broken, encoding="utf-8")
    (tmp_path / ".env").write_text("SESSION_IDLE_MINUTES=5\n", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        loaded = load_gateway_config(paths, {})
    assert [warning.split()[0] for warning in loaded.warnings] == ["gateway.json", "config.yaml"]
    assert "gateway.json" in caplog.text
    assert loaded.config.default_reset_policy.idle_minutes == 5


def test_variables_are_looked_up_as_they_stand_now(tmp_path: Path) -> None:
    paths = HermesPaths(tmp_path, tmp_path)
    look = live_lookup(paths, {"FIRST": "environment"})
    assert look()("A") is None
    paths.env_file.write_text("A=1\nFIRST=file\n")
    assert (look()("A"), look()("FIRST")) == ("1", "environment")
    paths.env_file.write_text("A=2\n")
    assert look()("A") == "2"
    paths.env_file.unlink()
    paths.env_file.mkdir()
    assert look()("A") == "2"
    with pytest.raises(ConfigError):
        live_lookup(paths, {})()
