import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.settings.env_file import (
    _with_line,
    layered_lookup,
    parse_env,
    read_env_file,
    set_env_line,
    take_out_secret,
    write_secret,
)


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
        b'JUNK="quoted" and more\n'
        b"'QUOTED_NAME'=abc\n"
        b"REFERS='${PLAIN}/${NOWHERE}/${NOWHERE:-else}/$PLAIN'\n"
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
        "JUNK": '"quoted" and more',
        "QUOTED_NAME": "abc",
        "REFERS": "abc//else/$PLAIN",
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
    lookup = layered_lookup({"A": " ", "B": "1"}, {"A": "2", "B": "3"})
    assert (lookup("A"), lookup("B"), lookup("C")) == ("2", "1", None)


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("", "1", "A=1\n"),
        ("B=2", "1", "B=2\nA=1\n"),
        ("B=2\r\n", "1", "B=2\r\nA=1\r\n"),
        ("A=0\nB=2\n", "1", "A=1\nB=2\n"),
        ("export A = 0 # mine\r\nB=2\r\n", "1", "export A = 1 # mine\r\nB=2\r\n"),
        ('A="0, 1"  # mine', "1", "A=1  # mine"),
        ("A='two\nlines'\nB=2\n", "1", "A=1\nB=2\n"),
        ("A=\nB=2\n", "1", "A=1\nB=2\n"),
        ("A=1\nA=2\n", "3", "A=1\nA=3\n"),
        ("A=0\rB=2", "1", "A=1\rB=2"),
        ("# A=0\n", "1", "# A=0\nA=1\n"),
        ("A=1\nB=2\nA=3", None, "B=2\n"),
        ("B=2\n", None, "B=2\n"),
    ],
)
def test_one_line_is_set_and_the_rest_stays(
    tmp_path: Path, before: str, value: str | None, after: str
) -> None:
    path = tmp_path / ".env"
    path.write_bytes(before.encode())

    set_env_line(path, "A", value)

    assert path.read_bytes().decode() == after
    assert parse_env(after).get("A") == value


def test_a_new_file_is_private_and_an_old_one_keeps_its_rights_and_its_mark(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    set_env_line(path, "A", "1")
    assert path.stat().st_mode & 0o777 == 0o600

    path.chmod(0o640)
    path.write_bytes(b"\xef\xbb\xbfA=1\n")
    set_env_line(path, "A", "2")
    assert path.read_bytes() == b"\xef\xbb\xbfA=2\n"
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TELEGRAM_BOT_TOKEN", "1"),
        ("OPENAI_API_KEY", "1"),
        ("MY_PASSWORD", "1"),
        ("BAD NAME", "1"),
        ("A", "two words"),
        ("A", "1\nB=2"),
        ("A", '"'),
        ("A", "$(x)"),
        ("A", ""),
    ],
)
def test_secrets_and_values_that_could_mean_more_are_not_written(
    tmp_path: Path, name: str, value: str
) -> None:
    with pytest.raises(ValueError, match=r"is not a plain word|is not written"):
        set_env_line(tmp_path / ".env", name, value)

    assert not (tmp_path / ".env").exists()


def test_a_file_that_cannot_be_read_or_written_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(b"A=\xff\n")
    with pytest.raises(ConfigError):
        set_env_line(path, "A", "1")
    assert path.read_bytes() == b"A=\xff\n"

    with pytest.raises(ConfigError, match="cannot be written"):
        set_env_line(tmp_path / "no folder" / ".env", "A", "1")


@given(before=st.text(max_size=60), value=st.from_regex(r"[a-z0-9,@:.-]{1,10}", fullmatch=True))
def test_what_was_set_is_read_and_others_keep_their_values(before: str, value: str) -> None:
    after = _with_line(before, "A", value)

    assert parse_env(after) == {**parse_env(before), "A": value}


def test_a_secret_goes_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(b"# mine\r\nexport A_TOKEN='x y' # bot\r\nB=1\r\nA_TOKEN=z\r\n")
    path.chmod(0o640)
    take_out_secret(path, "A_TOKEN")
    assert path.read_bytes() == b"# mine\r\nB=1\r\n"
    write_secret(path, "A_TOKEN", "plain")
    write_secret(path, "B_TOKEN", "with blanks # and $signs")
    assert path.read_bytes() == (
        b"# mine\r\nB=1\r\nA_TOKEN=plain\r\nB_TOKEN='with blanks # and $signs'\r\n"
    )
    assert read_env_file(path)["B_TOKEN"] == "with blanks # and $signs"
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("value", ["it's $5", "back\\'slash", "a${HOME}b"])
def test_a_secret_that_could_be_read_otherwise_stays_where_it_is(
    tmp_path: Path, value: str
) -> None:
    path = tmp_path / ".env"
    path.write_text("A=1\n")
    with pytest.raises(ConfigError, match="different ways"):
        write_secret(path, "A_TOKEN", value)
    assert path.read_text() == "A=1\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_a_file_in_a_wide_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / ".env"
    path.write_bytes("A_KEY=sk-1\r\nB=für\r\n".encode(encoding))
    assert read_env_file(path) == {"A_KEY": "sk-1", "B": "für"}


def test_a_file_in_a_wide_encoding_is_not_changed_and_its_encoding_is_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / ".env"
    before = "A=1\n".encode("utf-16")
    path.write_bytes(before)
    with pytest.raises(ConfigError) as caught:
        set_env_line(path, "A", "2")
    assert "UTF-16" in caught.value.detail
    assert path.read_bytes() == before
