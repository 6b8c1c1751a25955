"""When a setting counts is declared; here every one is changed, and it is seen that it is so."""

from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.config_changes import changed_platforms, split_live_changes
from hermes_desktop.gateway.config.config_options import GATEWAY_OPTIONS, GATEWAY_SECRETS
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.services.agents.agent_builder import AgentBuilder
from hermes_desktop.services.agents.agent_tools import AgentTools
from hermes_desktop.services.settings.desktop_config import DESKTOP_OPTIONS, read_desktop_config
from hermes_desktop.services.settings.gateway_settings import running_config
from hermes_desktop.services.settings.history_options import HISTORY_OPTIONS, UpkeepSettings
from hermes_desktop.services.settings.settings_repository import OPTIONS, Change, SettingsRepository
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.settings.env_file import write_secret
from hermes_desktop.settings.options import Effect, Option, SecretOption
from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock

_KEY = {"OPENAI_API_KEY": "sk-not-a-key"}
_OTHERS = (*GATEWAY_OPTIONS, *HISTORY_OPTIONS, *DESKTOP_OPTIONS)
_AGENT = [option for option in OPTIONS.values() if option not in _OTHERS]


def another_value(option: Option) -> Any:
    """One that is not the default."""
    if option.kind == "yes_no":
        return not option.default
    if option.kind in {"whole_number", "number"}:
        low = option.minimum if option.minimum > float("-inf") else 1
        value = next(each for each in (low, low + 1, low + 2) if each != option.default)
        return int(value) if option.kind == "whole_number" else float(value)
    if option.kind == "choice":
        return next(word for word in option.choices or {} if word != option.default)
    if option.kind == "texts":
        return ["web", "two"]
    if option.kind == "address":
        return "http://127.0.0.1:9/v1"
    return "openai" if "provider" in option.key else "something"


class Home:
    def __init__(self, folder: Path) -> None:
        self.paths = HermesPaths(folder, folder)
        self.paths.config_yaml.write_text(
            "model:\n  default: m\n  base_url: http://127.0.0.1:1/v1\n"
        )
        self.book = SettingsRepository(self.paths, {}, MovableClock())

    def load(self) -> GatewayConfig:
        return running_config(self.paths, {}).config

    def change(self, option: Option) -> None:
        self.book.save([Change(option.key, another_value(option))])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_no_name_is_declared_twice_and_each_says_when_it_counts() -> None:
    assert len(OPTIONS) == len(_AGENT) + len(_OTHERS)
    assert {option.effect for option in _AGENT} == {Effect.LIVE}
    assert {option.effect for option in HISTORY_OPTIONS} == {Effect.LIVE}
    assert Effect.NEXT_START not in {option.effect for option in GATEWAY_OPTIONS}


@pytest.mark.parametrize("option", GATEWAY_OPTIONS, ids=lambda option: option.key)
def test_a_gateway_that_runs_takes_it(home: Home, option: Option) -> None:
    old = home.load()
    home.change(option)
    new = home.load()
    assert new != old, "nobody reads it"
    swapped, waiting = split_live_changes(old, new)
    if option.effect is Effect.RESTART:
        assert (swapped, waiting) == (old, (option.key,))
        return
    assert (swapped, waiting) == (new, ())
    expected = [option.platform] if option.effect is Effect.RECONNECT else []
    assert [platform.value for platform in changed_platforms(old, swapped)] == expected


@pytest.mark.parametrize("secret", GATEWAY_SECRETS, ids=lambda secret: secret.variable)
def test_a_secret_concerns_its_own_platform(home: Home, secret: SecretOption) -> None:
    write_secret(home.paths.env_file, secret.variable, "1234:first")
    old = home.load()
    write_secret(home.paths.env_file, secret.variable, "1234:second")
    new = home.load()
    assert secret.effect is Effect.RECONNECT
    assert [platform.value for platform in changed_platforms(old, new)] == [secret.platform]


@pytest.mark.parametrize("option", _AGENT, ids=lambda option: option.key)
def test_the_next_message_is_answered_by_an_agent_made_of_it(home: Home, option: Option) -> None:
    paths, clock, redactor = home.paths, MovableClock(), SecretRedactor()
    db = SessionDB(paths.state_db, clock=clock)
    tools = AgentTools(
        paths,
        db,
        RequestQueue(clock),
        environ={},
        redactor=redactor,
        clock=clock,
    )
    builder = AgentBuilder(paths, db, redactor, _KEY, offline=False, clock=clock, tools=tools)
    try:
        before = builder.fingerprint()
        home.change(option)
        assert builder.fingerprint() != before
    finally:
        db.close()


@pytest.mark.parametrize("option", HISTORY_OPTIONS, ids=lambda option: option.key)
def test_the_next_look_reads_it(home: Home, option: Option) -> None:
    on = "sessions:\n  auto_prune: true\n" if option.key != "sessions.auto_prune" else ""
    home.paths.config_yaml.write_text(on)
    before = UpkeepSettings.from_mapping(read_config(home.paths.config_yaml).data)
    home.change(option)
    assert UpkeepSettings.from_mapping(read_config(home.paths.config_yaml).data) != before


@pytest.mark.parametrize(
    "option",
    [each for each in DESKTOP_OPTIONS if each.store == "desktop"],
    ids=lambda option: option.key,
)
def test_the_desktop_program_reads_it(home: Home, option: Option) -> None:
    before = read_desktop_config(home.paths)
    home.change(option)
    assert read_desktop_config(home.paths) != before
