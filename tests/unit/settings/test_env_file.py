import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.settings.env_file import first_set, parse_env, read_env_file


def test_no_file(tmp_path: Path) -> None:
    assert read_env_file(tmp_path / ".env") == {}


def test_all_forms(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(
        b"\xef\xbb\xbfPLAIN=abc\r\n"
        b"# comment\n"
        b"\n"
        b"export EXPORTED=x # remark\n"
        b"  SPACED  =  has spaces inside  \n"
        b'DOUBLE="a # b \\" \\\\ c" # remark\n'
        b"SINGLE='it \\n stays' \n"
        b"EMPTY=\n"
        b"HASH=a#b\n"
        b"ONLY= # nothing\n"
        b"TWICE=1\nTWICE=2\n"
        b"BAD-NAME=1\n2BAD=1\nno equals sign\n"
        b"BYTES=\xff\n"
        b'LINES="one\ntwo"\n'
        b'OPEN="never closed\n'
        b"LAST=end"
    )
    assert read_env_file(path) == {
        "PLAIN": "abc",
        "EXPORTED": "x",
        "SPACED": "has spaces inside",
        "DOUBLE": 'a # b " \\ c',
        "SINGLE": "it \\n stays",
        "EMPTY": "",
        "HASH": "a#b",
        "ONLY": "",
        "TWICE": "2",
        "BYTES": "\ufffd",
        "LINES": "one\ntwo",
        "OPEN": '"never closed',
        "LAST": "end",
    }
    assert "PLAIN" not in os.environ


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0")))
def test_what_is_written_in_double_quotes_comes_back(value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    assert parse_env(f'A="{quoted}"\nB=2\n') == {"A": value, "B": "2"}


def test_a_folder_instead(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        read_env_file(tmp_path)


def test_the_first_place_with_something_in_it_wins() -> None:
    lookup = first_set({"A": " ", "B": "1"}, {"A": "2", "B": "3"})
    assert (lookup("A"), lookup("B"), lookup("C")) == ("2", "1", None)
