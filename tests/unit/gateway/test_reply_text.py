"""Texts that chats take: without secrets and errors of providers, in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.gateway.platforms.reply_text import split_text, without_provider_errors


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Error code: 401 - {'error': {'message': 'Invalid API key'}}", "key"),
        ("HTTP 429: slow down", "busy"),
        ("RateLimitError: quota exceeded", "busy"),
        ("⚠️ API call failed: 500", "could not answer"),
        ('{"error": {"message": "flagged by moderation"}}', "refused"),
        ("openai.BadRequestError: nope", "could not answer"),
        ("503 Service Unavailable", "could not answer"),
        ("  AuthenticationError: no", "key"),
    ],
)
def test_errors_of_providers_become_plain_words(text: str, words: str) -> None:
    said = without_provider_errors(text)
    assert said != text
    assert words in said


@pytest.mark.parametrize(
    "text",
    [
        "An HTTP 429 means that you ask too often.",
        "429 Too Many Requests is what a server says when you ask too often.",
        "401 is prime.",
        "Error handling in Python uses try and except.",
        "HTTP 429: " + "x" * 400,
        "HTTP 429:\n1\n2\n3\n4\n5",
        "",
        "Connections are errors waiting to happen.",
        "The API call failed because the key was wrong.",
    ],
)
def test_answers_about_errors_stay(text: str) -> None:
    assert without_provider_errors(text) == text


def test_short_texts_stay_whole() -> None:
    assert split_text("hello", None) == ["hello"]
    assert split_text("x" * 100, 100) == ["x" * 100]


def test_cut_after_paragraphs_and_numbered() -> None:
    text = "\n\n".join("word " * 15 for _ in range(4)).strip()
    pieces = split_text(text, 120)
    assert [piece.rpartition("\n")[2] for piece in pieces] == [
        f"({n}/{len(pieces)})" for n in range(1, len(pieces) + 1)
    ]
    assert all(len(piece) <= 120 for piece in pieces)
    assert all(piece.startswith("word") for piece in pieces)


def test_blocks_of_code_are_closed_and_opened_again() -> None:
    code = "\n".join(f"line {number} = {number}" for number in range(60))
    pieces = split_text(f"Look:\n\n```python\n{code}\n```\nDone.", 200)
    assert len(pieces) > 3
    for piece in pieces:
        assert len(piece) <= 200
        assert piece.count("```") % 2 == 0
    assert all(piece.startswith("```python\n") for piece in pieces[1:-1])
    joined = "".join(pieces)
    assert all(f"line {number} = {number}\n" in joined for number in range(60))


def test_code_keeps_its_blanks_where_it_is_cut() -> None:
    code = "\n".join(f"    deep {number}" for number in range(40))
    pieces = split_text(f"```\n{code}\n```", 120)
    assert all("\n    deep" in piece for piece in pieces[:-1])
    assert all(line.startswith(("    deep", "```", "(")) for p in pieces for line in p.split("\n"))


def test_a_platform_counts_in_its_own_way() -> None:
    def utf16(text: str) -> int:
        return len(text.encode("utf-16-le")) // 2

    pieces = split_text("🐦" * 300, 200, utf16)
    assert all(utf16(piece) <= 200 for piece in pieces)
    assert "".join(piece.rpartition("\n")[0] for piece in pieces) == "🐦" * 300


def test_tiny_limits_cut_anywhere() -> None:
    assert split_text("abcdefg", 3) == ["abc", "def", "g"]


@given(
    st.text(alphabet=st.sampled_from("ab \n`~#x.🐦"), min_size=0, max_size=900),
    st.integers(80, 300),
)
def test_nothing_is_too_long_and_no_letter_is_lost(text: str, limit: int) -> None:
    pieces = split_text(text, limit)
    assert all(len(piece) <= limit for piece in pieces)
    for letter in "abx#🐦":
        if not any(mark in text for mark in ("```", "~~~")):  # a language may be said again
            assert sum(piece.count(letter) for piece in pieces) == text.count(letter)


@pytest.mark.parametrize("mark", ["**{}**", "`{}`", "_{}_", "~~{}~~", "[{}](https://x.y)"])
def test_marks_within_a_line_are_not_cut(mark: str) -> None:
    marked = mark.format("some words that belong together")
    text = f"{'x' * 70} and then {marked} and what follows"
    pieces = split_text(text, 100, numbered=False)
    assert any(marked in piece for piece in pieces)
    assert " ".join(pieces) == text


def test_what_people_see_as_one_character_is_not_cut() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    pieces = split_text(family * 40, 99, numbered=False)
    assert all(len(piece) % len(family) == 0 for piece in pieces)
    assert "".join(pieces) == family * 40


def test_the_beginning_of_a_text_is_cut_like_all_of_it() -> None:
    text = "\n".join(f"line {number} of a longer text" for number in range(60))
    whole = split_text(text, 200, numbered=False)
    for end in range(300, len(text), 37):
        begun = split_text(text[:end], 200, numbered=False)
        assert begun[:-2] == whole[: len(begun) - 2]
