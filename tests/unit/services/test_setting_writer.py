"""Entries that a tool adds to a setting that is a list."""

from pathlib import Path

import pytest
import yaml

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.settings.setting_writer import list_extender

KEY = "terminal.readable_paths"


@pytest.fixture
def paths(tmp_path: Path) -> HermesPaths:
    return HermesPaths(tmp_path, tmp_path)


def add(paths: HermesPaths, entry: str) -> None:
    extend = list_extender(paths, {}, SystemClock())
    assert extend is not None
    extend(KEY, entry)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ["/new"]),
        ("terminal: {cwd: /w}\n", ["/new"]),
        ("terminal:\n  readable_paths:\n  # mine\n  - /old  # kept\n", ["/old", "/new"]),
        ("terminal:\n  readable_paths: /old\n", ["/old", "/new"]),
        ("terminal:\n  readable_paths: [/old]\n", ["/old", "/new"]),
        ("terminal:\n  readable_paths:\n", ["/new"]),
        ("terminal:\n  readable_paths: [/new]\n", ["/new"]),
    ],
)
def test_an_entry_joins_those_that_are_there(
    paths: HermesPaths, before: str, after: list[str]
) -> None:
    unknown = "# a comment\nunknown: {key: [1, 2]}\n"
    paths.config_yaml.write_text(unknown + before)
    add(paths, "/new")
    text = paths.config_yaml.read_text()

    assert text.startswith(unknown)
    assert yaml.safe_load(text)["terminal"]["readable_paths"] == after
    assert text.count("#") == (unknown + before).count("#")


def test_there_may_be_no_file_yet(paths: HermesPaths) -> None:
    add(paths, "/new")

    assert yaml.safe_load(paths.config_yaml.read_text()) == {
        "terminal": {"readable_paths": ["/new"]}
    }


def test_what_is_no_list_is_not_overwritten(paths: HermesPaths) -> None:
    paths.config_yaml.write_text("terminal:\n  readable_paths: {a: b}\n")
    with pytest.raises(ConfigError):
        add(paths, "/new")

    assert "{a: b}" in paths.config_yaml.read_text()


def test_a_managed_home_is_not_written(paths: HermesPaths) -> None:
    assert list_extender(paths, {"HERMES_MANAGED": "yes"}, SystemClock()) is None
