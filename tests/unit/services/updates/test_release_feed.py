"""What counts as a release feed."""

from typing import Any

import pytest

from hermes_desktop.services.updates.release_feed import (
    FEED_VARIABLE,
    MOST_NOTES,
    FeedError,
    Release,
    feed_address,
    read_release,
)

GOOD = {"version": "1.2.0", "date": "2026-12-01", "notes": "New.", "page": "https://x.example/r"}


def test_a_feed_is_read_and_unknown_keys_are_ignored() -> None:
    expected = Release("1.2.0", "2026-12-01", "New.", "https://x.example/r")
    assert read_release({**GOOD, "signature": {"later": [1]}}) == expected
    assert read_release({"version": "1.2.0", "date": "2026-12-01"}) == Release(
        "1.2.0", "2026-12-01"
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("version", None), ("version", 1.2), ("version", "newest"), ("version", "1.2.0\n"),
        ("date", None), ("date", "1.12.2026"), ("date", "2026-13-01"), ("date", 20261201),
        ("notes", ["a"]), ("notes", None),
        ("page", 7), ("page", "http://x.example"), ("page", "javascript:alert(1)"),
        ("page", "file:///etc/passwd"), ("page", "https://"), ("page", "https://a@b.example/"),
        ("page", "https://x.example/ y"), ("page", "https://x.example:a/"),
        ("page", "https://x.example/" + "a" * 500), ("page", "https://[x"),
        ("page", "https://x.example/\u202e"),
    ],
)  # fmt: skip
def test_a_bad_value_makes_the_whole_feed_invalid(key: str, value: Any) -> None:
    with pytest.raises(FeedError, match=key):
        read_release({**GOOD, key: value})


@pytest.mark.parametrize("document", [None, [], "1.2.0", 3, [GOOD]])
def test_what_is_no_object_is_no_feed(document: Any) -> None:
    with pytest.raises(FeedError):
        read_release(document)


def test_notes_are_cut_and_lose_what_is_not_plain_text() -> None:
    notes = "\x1b[31mRed\x1b[0m\r\n\u202eevil\u2066\x00 <b>not bold</b> \ud800"
    assert read_release({**GOOD, "notes": notes}).notes == "Red\nevil <b>not bold</b> ?"
    long = read_release({**GOOD, "notes": "a" * 100_000}).notes
    assert len(long) == MOST_NOTES + 1
    assert long.endswith("…")


def test_there_is_no_feed_unless_a_variable_names_one() -> None:
    assert feed_address({}) == ""
    assert feed_address({FEED_VARIABLE: " https://x.example/f "}) == "https://x.example/f"
