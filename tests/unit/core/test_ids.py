"""Identifiers in the form of the shared database."""

import re
from datetime import datetime

import pytest

from hermes_desktop.core.ids import is_safe_session_id, new_session_id, new_turn_id

NOON = datetime(2026, 2, 3, 12, 4, 5)  # noqa: DTZ001 - naive local time, as ids have it


@pytest.mark.parametrize("digits", [6, 7, 8])
def test_session_ids(digits: int) -> None:
    found = {new_session_id(NOON, hex_digits=digits) for _ in range(200)}

    assert len(found) == 200
    assert all(re.fullmatch(rf"20260203_120405_[0-9a-f]{{{digits}}}", each) for each in found)
    assert all(map(is_safe_session_id, found))


def test_turn_ids_differ() -> None:
    assert len({new_turn_id() for _ in range(200)}) == 200


@pytest.mark.parametrize(
    "value", ["", "a/b", "a\\b", "..", "a..b", "C:", "c:\\temp", "/etc", "../x"]
)
def test_ids_that_could_name_a_path(value: str) -> None:
    assert not is_safe_session_id(value)


@pytest.mark.parametrize(
    "value", ["api_1700000000_abcd1234", "a.b", "agent:x", "cron_ab_20260101_000000"]
)
def test_ids_that_cannot(value: str) -> None:
    assert is_safe_session_id(value)
