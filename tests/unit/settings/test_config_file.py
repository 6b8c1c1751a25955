import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.settings.config_file import expand_env, read_config


def read(tmp_path: Path, text: str | bytes) -> object:
    path = tmp_path / "config.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_config(path).data


def test_no_file_is_an_empty_mapping(tmp_path: Path) -> None:
    document = read_config(tmp_path / "config.yaml")
    assert document.data == {}
    assert document.path == tmp_path / "config.yaml"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "null"])
def test_nothing_in_it(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == {}


def test_yaml_1_1_rules(tmp_path: Path) -> None:
    text = "a: on\nb: off\nc: 1:30\nd: 0o17\ne: 017\nf: yes\ng: 2024-01-02\n"
    data = read(tmp_path, text)
    assert isinstance(data, dict)
    assert data["g"].year == 2024
    assert {**data, "g": None} == {
        "a": True,
        "b": False,
        "c": 90,
        "d": "0o17",
        "e": 15,
        "f": True,
        "g": None,
    }


def test_of_a_key_that_stands_twice_the_last_one_counts(tmp_path: Path) -> None:
    assert read(tmp_path, "model: a\nmodel: b\nx: {y: 1, y: 2}\n") == {"model": "b", "x": {"y": 2}}


def test_byte_order_mark_and_other_scripts(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbfname: J\xc3\xbcrgen \xf0\x9f\x99\x82\n") == {
        "name": "Jürgen 🙂"
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: [1, 2\n", "line"),
        ("a: 1\n\tb: 2\n", "line 2"),
        ("a: 1\nb: !!python/object/apply:os.system ['true']\n", "line 2"),
        ("- a\n- b\n", "line 1"),
        ("just words", "line 1"),
        ("a: 1\n? [x]\n: y\n", "line"),
        (b"a: 1\nb: \xff\xfe\n", "line 2"),
        ("a: 1\nb:\n- ü\n- 2024-99-99\nc: 2024-88-88\n", "line 4"),
        ("ü: 1\na: \x07\n", "line 2"),
        ("a: " + "[" * 5000, "config.yaml"),
        ("a: *nowhere\n", "line 1"),
    ],
)
def test_what_cannot_be_understood(tmp_path: Path, text: str | bytes, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert line in caught.value.detail
    assert str(tmp_path) in caught.value.detail
    assert caught.value.hint
    kept = (tmp_path / "config.yaml").read_bytes()
    assert kept == (text if isinstance(text, bytes) else text.encode())


def test_a_folder_and_a_pipe_instead_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    with pytest.raises(ConfigError, match="not a plain file"):
        read_config(tmp_path / "config.yaml")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="not a plain file"):
        read_config(tmp_path / "pipe")


@contextlib.contextmanager
def an_ordinary_user() -> Iterator[None]:
    """Root may read everything: be somebody else for a moment."""
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if was_root:
            os.seteuid(0)


def test_no_right_to_read(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("a: 1")
    (tmp_path / "config.yaml").chmod(0)
    with an_ordinary_user(), pytest.raises(ConfigError, match="Permission denied"):
        read_config(tmp_path / "config.yaml")


def test_a_path_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError):
        read_config(tmp_path / "file" / "config.yaml")


def test_variables_in_values() -> None:
    values = {"A": "1", "EMPTY": ""}
    assert expand_env("x${A}y${EMPTY}${A}", values.get) == "x1y1"
    assert expand_env("$A {A} ${}", values.get) == "$A {A} ${}"
    with pytest.raises(ConfigError) as caught:
        expand_env("secret-${NOPE}", values.get, "config.yaml, model.api_key")
    assert "NOPE" in caught.value.title
    assert "model.api_key" in caught.value.detail
    assert "secret" not in str(caught.value)
