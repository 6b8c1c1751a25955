"""What a setting accepts, said at the field."""

from typing import Any

import pytest

from hermes_desktop.agent.options.config_options import AGENT_OPTIONS, AGENT_SECRETS
from hermes_desktop.gateway.config.config_options import GATEWAY_OPTIONS, GATEWAY_SECRETS
from hermes_desktop.services.settings.desktop_config import DESKTOP_OPTIONS
from hermes_desktop.settings.options import InvalidValueError, Option

OPTIONS = {each.key: each for each in (*AGENT_OPTIONS, *GATEWAY_OPTIONS, *DESKTOP_OPTIONS)}


@pytest.mark.parametrize(
    ("key", "typed", "value"),
    [
        ("session_reset.mode", " Idle ", "idle"),
        ("session_reset.at_hour", "23", 23),
        ("agent.restart_drain_timeout", "2.5", 2.5),
        ("streaming.enabled", "on", True),
        ("streaming.enabled", "No", False),
        ("telegram.allow_from", "1, 2,,3", ["1", "2", "3"]),
        ("telegram.allow_from", "", []),
        ("max_concurrent_sessions", "none", None),
        ("model.base_url", "http://127.0.0.1:8080/v1 ", "http://127.0.0.1:8080/v1"),
        ("model.default", "vendor/model:free", "vendor/model:free"),
    ],
)
def test_what_is_typed_is_read(key: str, typed: str, value: Any) -> None:
    assert OPTIONS[key].parse(typed) == value


@pytest.mark.parametrize(
    ("key", "typed", "hint"),
    [
        ("session_reset.mode", "weekly", "Set one of none, idle, daily, both."),
        ("session_reset.at_hour", "24", "Set a whole number from 0 to 23."),
        ("session_reset.at_hour", "4.5", "Set a whole number from 0 to 23."),
        ("session_reset.idle_minutes", "0", "Set a whole number from 1 to 52560000."),
        ("agent.max_turns", "true", "Set a whole number from 1 to 1000."),
        ("agent.restart_drain_timeout", "nan", "Set a number from 0 to 3600."),
        ("streaming.enabled", "maybe", "Set true or false."),
        ("model.base_url", "example.org", "Set an address such as http://127.0.0.1:11434/v1."),
        ("model.base_url", "https://a:b@example.org", "Set an address such as"),
        ("model.base_url", "http://[", "Set an address such as"),
        ("model.default", "  ", "Set one line of text."),
        ("model.default", "a\x1bb", "Set one line of text."),
    ],
)
def test_what_makes_no_sense_is_said_with_what_would(key: str, typed: str, hint: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        OPTIONS[key].parse(typed)
    assert caught.value.key == key
    assert caught.value.title.startswith(f"“{OPTIONS[key].title}” ({key}) cannot be")
    assert caught.value.detail
    assert caught.value.hint.startswith(hint)


def test_each_is_declared_once_and_its_default_is_allowed() -> None:
    declared = [*AGENT_OPTIONS, *GATEWAY_OPTIONS, *DESKTOP_OPTIONS]
    assert len(OPTIONS) == len(declared)
    for option in declared:
        assert option.title
        assert option.help.endswith(".")
        empty = option.default in ("", None)
        assert empty or option.check(option.default) == option.default


def test_no_place_belongs_to_two_settings() -> None:
    def places(option: Option) -> set[tuple[str, str]]:
        return {(option.store, place.key) for place in option.all_places()}

    everywhere = [place for option in OPTIONS.values() for place in places(option)]
    assert len(everywhere) == len(set(everywhere))
    assert len({secret.variable for secret in (*AGENT_SECRETS, *GATEWAY_SECRETS)}) == len(
        [*AGENT_SECRETS, *GATEWAY_SECRETS]
    )
