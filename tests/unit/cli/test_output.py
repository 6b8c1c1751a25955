"""Text of strangers, made harmless."""

import json

import pytest

from hermes_desktop.cli import output
from hermes_desktop.cli.output import neutralise, one_line, without_surrogates, write_json
from hermes_desktop.cli.sessions.session_text import ago, clock_time

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nwith lines", "plain\ttext\nwith lines"),
        ("line\r\nend", "line\nend"),
        ("over\rwritten", "over␍written"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("bell\x07 null\x00 delete\x7f", "bell␇ null␀ delete␡"),
        ("\x9b31m\x85", "\ufffd31m\ufffd"),
        ("\u202egnp.exe\u202c", "\ufffdgnp.exe\ufffd"),
        ("\u2066a\u2069", "\ufffda\ufffd"),
        ("\u2028", "\ufffd"),
        ("\ud83d", "\ufffd"),
        ("שלום \u200fمرحبا", "שלום \u200fمرحبا"),
        ("👩\u200d💻 สวัสดี e\u0301", "👩\u200d💻 สวัสดี e\u0301"),
    ],
)
def test_neutralise(text: str, shown: str) -> None:
    assert neutralise(text) == shown


def test_one_line() -> None:
    assert one_line("  a\n\tb\u00a0c \x1b ") == "a b c ␛"
    assert one_line(" \n ") == ""


def test_surrogates() -> None:
    assert without_surrogates("a\udce9b😀") == "a\ufffdb😀"


def test_json_keeps_the_values(capsys: pytest.CaptureFixture[str]) -> None:
    values = {
        "text": '\x1b\x9b\u202e\ud83d\r\n\t 世界 "quoted" \\ 👩\u200d💻',
        "none": None,
        "n": 1.5,
    }

    write_json([values, values])

    out = capsys.readouterr().out
    assert json.loads(out) == [values, values]
    assert "世界" in out
    assert not {"\x1b", "\x9b", "\u202e", "\r"} & set(out)


@pytest.mark.parametrize(
    ("age_s", "words"),
    [
        (-300, "just now"),
        (0, "just now"),
        (59, "just now"),
        (60, "1m ago"),
        (3599, "59m ago"),
        (3600, "1h ago"),
        (86399, "23h ago"),
        (86400, "yesterday"),
        (172799, "yesterday"),
        (172800, "2d ago"),
        (604799, "6d ago"),
    ],
)
def test_ago(age_s: float, words: str) -> None:
    assert ago(NOW - age_s, NOW) == words


def test_ago_far_back_and_unknown() -> None:
    assert ago(NOW - 7 * 86400, NOW) == clock_time(NOW - 7 * 86400)[:10]
    assert ago(None, NOW) == ago(0.0, NOW) == "?"


@pytest.mark.parametrize("when", [1e300, -1e300, float("nan"), float("inf")])
def test_times_that_no_calendar_has(when: float) -> None:
    assert clock_time(when) == "?"


def test_no_command_can_forget_to_make_text_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    output.write("\x1b[1mbold\x1b[0m \x1b[2J\x1b[8m\x1b]0;owned\x07 \u202egnp\n")
    assert capsys.readouterr().out == "\x1b[1mbold\x1b[0m ␛[2J␛[8m␛]0;owned␇ \ufffdgnp\n"


def test_questions_are_harmless_and_progress_may_return(capsys: pytest.CaptureFixture[str]) -> None:
    output.ask("\rDelete \x1b[2Jthis? [y/N] ")
    assert capsys.readouterr().err == "\rDelete ␛[2Jthis? [y/N] "


def test_an_object_keeps_its_values(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"source": "cli\x1b[31m\u202e", "n": 1}
    output.write_json_object(value)
    out = capsys.readouterr().out
    assert json.loads(out) == value
    assert "\x1b" not in out
