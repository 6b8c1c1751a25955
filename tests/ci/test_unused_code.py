"""Tests of the names that the search for unused code passes over."""

import re
import tomllib

import pytest

from tests.ci.readme_lines import CHECKOUT

SETTINGS = tomllib.loads(CHECKOUT.joinpath("pyproject.toml").read_text("utf-8"))["tool"]["vulture"]
SOURCE = "\n".join(
    file.read_text("utf-8") for file in CHECKOUT.joinpath("hermes_desktop").rglob("*.py")
)


@pytest.mark.parametrize("name", SETTINGS["ignore_names"])
def test_each_still_exists(name: str) -> None:
    assert re.search(rf"\b{name}\b", SOURCE)


def test_none_is_named_twice() -> None:
    assert len(set(SETTINGS["ignore_names"])) == len(SETTINGS["ignore_names"])
