"""Everyday commands really run inside; all of them are in ``tests/benchmarks``."""

from pathlib import Path

import pytest

from hermes_desktop.agent.sandbox.grants import Level
from tests.sandbox.everyday import everyday_lines, table, tried

pytestmark = [pytest.mark.needs("sandbox"), pytest.mark.slow, pytest.mark.timeout(1200)]
ONE_IN = 23


def test_there_are_enough_of_them() -> None:
    lines = everyday_lines()

    assert len(lines) >= 400
    assert len(set(lines)) == len(lines)


def test_a_part_of_them_works_at_level_a(tmp_path: Path) -> None:
    found = list(tried(tmp_path, Level.CLOSED, ONE_IN))
    print(table(found, "Level A"))
    assert [each.line for each in found if each.result == "fails"] == []
