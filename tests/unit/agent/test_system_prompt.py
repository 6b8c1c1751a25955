from datetime import datetime
from pathlib import Path

import pytest

from hermes_desktop.agent.turns.system_prompt import (
    DEFAULT_IDENTITY,
    SOUL_LIMIT,
    build_system_prompt,
    read_identity,
)

NOW = datetime.fromisoformat("2026-03-04T23:59")


def test_the_parts_in_order(tmp_path: Path) -> None:
    soul = tmp_path / "SOUL.md"
    soul.write_bytes(b"\xef\xbb\xbf  You are Otto.\n\n")
    assert build_system_prompt(NOW, soul, " In a train. ") == (
        "You are Otto.\n\nIn a train.\n\nThis session began on Wednesday, 2026-03-04."
    )


def test_the_same_all_day_and_our_own_words() -> None:
    first = build_system_prompt(NOW, None)
    assert first.startswith(DEFAULT_IDENTITY)
    assert first == build_system_prompt(NOW.replace(hour=0), None, "  ")


@pytest.mark.parametrize("content", [None, b"", b" \n\0"])
def test_no_soul(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "SOUL.md"
    if content is not None:
        path.write_bytes(content)
    assert read_identity(path) == DEFAULT_IDENTITY


def test_a_soul_that_cannot_be_read(tmp_path: Path) -> None:
    assert read_identity(tmp_path) == DEFAULT_IDENTITY
    assert read_identity(tmp_path / "no" / "SOUL.md") == DEFAULT_IDENTITY


def test_a_huge_soul_is_cut(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_bytes(b"\xff" + b"x" * 3 * SOUL_LIMIT)
    text = read_identity(tmp_path / "SOUL.md")
    assert len(text) == SOUL_LIMIT
    assert text.startswith("\ufffdxx")
