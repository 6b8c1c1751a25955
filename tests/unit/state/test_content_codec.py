import json
import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.state.records.content_codec import (
    STRUCTURED,
    clean_text,
    decode_content,
    decode_json,
    encode_content,
    epoch,
    plain_text,
    preview_of,
    to_json,
)

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
CLEAN_TEXT = st.text()
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | CLEAN_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(CLEAN_TEXT, inner),
    max_leaves=20,
)


@given(ANY_TEXT)
def test_clean_text_can_always_be_stored(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode("utf-8")
    assert clean_text(cleaned) == cleaned


@given(CLEAN_TEXT)
def test_clean_text_keeps_proper_text(text: str) -> None:
    assert clean_text(text) == text


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    assert clean_text("a\ud800b\udfff") == "a�b�"
    assert clean_text("\ud83d\ude00") == "😀"


@pytest.mark.slow
@given(st.lists(JSON_VALUES) | st.dictionaries(CLEAN_TEXT, JSON_VALUES))
def test_structured_content_comes_back(content: object) -> None:
    stored = encode_content(content)
    assert stored.startswith(STRUCTURED)
    assert stored.isascii()
    assert decode_content(stored) == content


@given(CLEAN_TEXT.filter(lambda text: not text.startswith(STRUCTURED)))
def test_text_comes_back(text: str) -> None:
    assert decode_content(encode_content(text)) == text


@given(st.lists(st.dictionaries(ANY_TEXT, ANY_TEXT)))
def test_structured_content_with_any_text_can_be_stored_and_shown(content: object) -> None:
    plain_text(decode_content(encode_content(content))).encode("utf-8")


@given(ANY_TEXT | st.binary() | st.none() | st.integers())
def test_preview_is_one_short_line(stored: object) -> None:
    preview = preview_of(stored)
    assert len(preview) <= 63
    assert "\n" not in preview
    assert "\r" not in preview


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (None, ""),
        ("hello", "hello"),
        ("  two\r\nlines\n", "two  lines"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 60 + "..."),
        ('\x00json:[{"type": "text", "text": "look"}, {"type": "image_url"}]', "look"),
        ("\x00json:broken", "\x00json:broken"),
        (b"bytes \xff", "bytes �"),
    ],
)
def test_preview(stored: object, expected: str) -> None:
    assert preview_of(stored) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        (["a", 5, None, {"content": "c"}], "a\nc"),
        ({"text": "one"}, "one"),
        ({"text": {"deep": 1}}, ""),
        (7, "7"),
    ],
)
def test_plain_text(content: object, expected: str) -> None:
    assert plain_text(content) == expected


def test_empty_lists_are_stored_as_nothing() -> None:
    assert to_json([]) is None
    assert to_json(None) is None
    assert json.loads(to_json([{"id": "1"}]) or "") == [{"id": "1"}]


@pytest.mark.parametrize("stored", [None, "", "{broken", b"\xff", 5, "[" * 100_000])
def test_json_that_is_none_reads_as_nothing(stored: object) -> None:
    assert decode_json(stored) is None


def test_epoch_takes_numbers_and_datetimes_only() -> None:
    assert epoch(5) == 5.0
    assert epoch(datetime(2020, 1, 1, tzinfo=UTC)) == 1_577_836_800.0
    assert [epoch(x) for x in (None, "5", True, math.nan, math.inf)] == [None] * 5
