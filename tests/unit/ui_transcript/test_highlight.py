"""Tokens of code, line by line, counted as Qt counts."""

import pytest

from hermes_desktop.ui.widgets.highlight import MAX_HIGHLIGHTED, colour_lines


def test_tokens_of_python() -> None:
    lines = colour_lines("python", 'def run():\n    return "x"  # why')
    assert len(lines) == 2
    assert (0, 3, "keyword") in lines[0]
    assert (4, 3, "name") in lines[0]
    assert {kind for _, _, kind in lines[1]} == {"keyword", "string", "comment"}


def test_positions_count_utf_16_units() -> None:
    (line,) = colour_lines("python", '"🌶" + 1')
    assert (7, 1, "number") in line


def test_a_string_over_lines_is_coloured_on_each() -> None:
    lines = colour_lines("python", '"""a\nb"""')
    assert [line[0][2] for line in lines] == ["string", "string"]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("", "x = 1"),
        ("no-such-language", "x = 1"),
        ("../../etc/passwd", "x = 1"),
        ("python", "x = 1\n" * MAX_HIGHLIGHTED),
        ("python", "x" * 5_000),
    ],
)
def test_what_stays_plain(language: str, text: str) -> None:
    assert colour_lines(language, text) == ()


def test_diffs_have_their_two_colours() -> None:
    lines = colour_lines("diff", "+new\n-old")
    assert [line[0][2] for line in lines] == ["added", "removed"]
