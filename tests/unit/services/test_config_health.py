"""What is wrong with the text of config.yaml, told without its secrets."""

from pathlib import Path

import pytest

from hermes_desktop.services.settings.config_health import RepeatedKey, lines_around, repeated_keys


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def test_keys_that_stand_twice_are_found_at_every_depth(file) -> None:
    file.write_text("a: 1\nb:\n  c: 1\n  d: {e: 1, e: 2}\n  c: 2\na: 2\na: 3\n")
    assert repeated_keys(file) == (
        RepeatedKey("b.d.e", (4, 4)),
        RepeatedKey("b.c", (3, 5)),
        RepeatedKey("a", (1, 6, 7)),
    )


@pytest.mark.parametrize("content", [b"", b"a: [1\n", b"\xff\xfe", b"- 1\n- 2\n"])
def test_where_nothing_can_be_said_nothing_is(file, content) -> None:
    file.write_bytes(content)
    assert repeated_keys(file) == ()


def test_no_file_has_no_lines(file) -> None:
    assert (repeated_keys(file), lines_around(file, 3)) == ((), ())


def test_the_lines_around_a_mistake_hide_secrets(file) -> None:
    file.write_text("one: 1\napi_key: sk-plain-secret\n\tbad: 1\n- token: 'abc'\nfive: 5\nsix: 6\n")
    found = lines_around(file, 3)
    assert [line.number for line in found] == [1, 2, 3, 4, 5]
    assert [line.text for line in found] == [
        "one: 1", "api_key: [secret]", "\tbad: 1", "- token: [secret]", "five: 5",
    ]  # fmt: skip


def test_a_line_that_is_not_there_and_bytes_that_are_no_text(file) -> None:
    file.write_bytes(b"\xef\xbb\xbfone: \xff\n")
    assert lines_around(file, 1)[0].text == "one: �"
    assert lines_around(file, 99) == ()
