"""Thinking inside the text of a reply: found wherever a model writes it, in any pieces."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.core.text.thinking_split import (
    DROPPED_MARKS,
    THINKING_MARKS,
    Part,
    ThinkingMark,
    ThinkingSplitter,
    split_thinking,
)

SEPARATED = [
    ("<think>The user greets.</think>\n\nHello!", "Hello!", "The user greets."),
    ("\n\n<think>\n\n</think>\n\nHello!\n", "Hello!\n", ""),
    ("<THINKING>a</THINKING>\nb", "b", "a"),
    ("<think>a</think>b<think>c</think>d", "bd", "a\n\nc"),
    ("Hello\n<think>\nagain\n</think>\nMore", "Hello\nMore", "again"),
    ("<think>never closed", "", "never closed"),
    ("Hello. <think>never closed", "Hello. ", "never closed"),
    ("Yes <think>let me see</think> it is", "Yes it is", "let me see"),
    ("<think>I must not write `</think>` yet</think>ok", "ok", "I must not write `</think>` yet"),
    ("The user greets.\n</think>\n\nHello!", "Hello!", "The user greets."),
    ("he says hi</think>Hello", "Hello", "he says hi"),
    ("a plan ```\ncode\n</think>\nHello", "Hello", "a plan ```\ncode"),
    ("<think>a</think>\n</think>\nHello", "Hello", "a"),
    (
        "<|channel|>analysis<|message|>hm<|end|>"  # noqa: ISC004
        "<|start|>assistant<|channel|>final<|message|>Hello!<|return|>",
        "Hello!",
        "hm",
    ),
]
LEFT_ALONE = [
    "Use the `<think>` tag and end it with `</think>`.",
    "Put it between <think> and </think>, please.",
    "Use the <think> tag",
    'He wrote "<think>" and "</think>".',
    "```xml\n<think>\na\n</think>\n```\nfine",
    "Look:\n\n    <think>\n    </think>\n",
    "> <think> is quoted\nyes",
    "1. <think> begins it\n2. </think> ends it\n",
    "a < b and <thin air> [THIN",
    "  plain  \n\n",
    "   \n",
    "",
]


def separated(pieces: list[str], *, begins_inside: bool = False) -> tuple[str, str]:
    splitter = ThinkingSplitter(begins_inside=begins_inside)
    parts: list[Part] = [part for piece in pieces for part in splitter.feed(piece)]
    reply: list[str] = []
    thinking: list[str] = []
    for kind, text in (*parts, *splitter.end()):
        if kind == "retracted":
            assert "".join(reply) == text
            reply.clear()
        (reply if kind == "text" else thinking).append(text)
    return "".join(reply), "".join(thinking).strip()


def cuts(text: str, at: list[int]) -> list[str]:
    edges = [0, *sorted(min(each, len(text)) for each in at), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(edges)]


@pytest.mark.parametrize(("text", "reply", "thinking"), SEPARATED)
def test_thinking_is_separated(text: str, reply: str, thinking: str) -> None:
    assert split_thinking(text) == (reply, thinking)


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_words_about_the_marks_stay(text: str) -> None:
    assert split_thinking(text) == (text, "")


@pytest.mark.parametrize("mark", THINKING_MARKS, ids=lambda mark: mark.opens)
def test_every_mark_of_the_table(mark: ThinkingMark) -> None:
    assert mark.source
    text = f"{mark.opens}\nhm\n{mark.closes}\n\nHello"
    assert split_thinking(text) == ("Hello", "hm")
    assert separated(list(text)) == ("Hello", "hm")
    if mark.alone:
        assert split_thinking(f"hm\n{mark.closes}\nHello") == ("Hello", "hm")


@pytest.mark.parametrize("mark", [mark for mark, _ in DROPPED_MARKS])
def test_marks_around_the_reply_are_dropped(mark: str) -> None:
    assert split_thinking(f"{mark}Hello") == ("Hello", "")
    assert split_thinking(f"The {mark} token") == (f"The {mark} token", "")


@given(
    st.sampled_from([*(text for text, *_ in SEPARATED), *LEFT_ALONE]),
    st.lists(st.integers(0, 120), max_size=8),
)
def test_pieces_make_no_difference(text: str, at: list[int]) -> None:
    assert separated(cuts(text, at)) == separated([text]) == separated(list(text))


WORDS = ["<think>", "</think>", "<thin", "k>", "`", "```\n", "\n", " ", "Hi.", "so", '"', ">"]


@given(words=st.lists(st.sampled_from(WORDS), max_size=12), inside=st.booleans())
def test_any_mixture_is_separated_alike_in_any_pieces(words: list[str], *, inside: bool) -> None:
    text = "".join(words)
    whole = separated([text], begins_inside=inside)
    assert separated(words, begins_inside=inside) == whole
    assert separated(list(text), begins_inside=inside) == whole


@given(st.text(st.characters(exclude_characters="<[◁", exclude_categories=["Cs"])))
def test_text_without_marks_comes_through_at_once(text: str) -> None:
    splitter = ThinkingSplitter()
    given_out = [part for kind, part in splitter.feed(text) if kind == "text"]
    if text.strip():
        assert "".join(given_out) == text
    assert separated([text]) == (text, "")


def test_no_more_is_held_back_than_may_begin_a_mark() -> None:
    splitter = ThinkingSplitter()
    assert splitter.feed("Is 1 <") == [("text", "Is 1 ")]
    assert splitter.feed(" 2? <t") == [("text", "< 2? ")]
    assert splitter.feed("able>") == [("text", "<table>")]


def test_thinking_that_only_its_end_shows_is_taken_back() -> None:
    splitter = ThinkingSplitter()
    assert splitter.feed("I must be short.\n") == [("text", "I must be short.\n")]
    assert splitter.feed("</think>\n\n") == []
    assert splitter.feed("Hello") == [("retracted", "I must be short.\n"), ("text", "Hello")]
    assert splitter.closed_alone


def test_a_stray_closing_mark_at_the_end_takes_nothing_away() -> None:
    assert separated(["Hello!", "\n</think>"])[0].strip() == "Hello!"


def test_a_model_that_is_known_to_begin_with_thinking_shows_none_of_it() -> None:
    splitter = ThinkingSplitter(begins_inside=True)
    assert splitter.feed("I must be short.\n") == []
    rest = splitter.feed("</think>\n\nHello")
    assert rest == [("thinking", "I must be short."), ("text", "Hello")]
    plain = ThinkingSplitter(begins_inside=True)
    assert plain.feed("Hello") == []
    assert plain.end() == [("text", "Hello")]
    broken = ThinkingSplitter(begins_inside=True)
    assert broken.feed("I must") == []
    assert broken.end(cut=True) == [("thinking", "I must")]


def test_thinking_before_a_call_of_a_tool() -> None:
    splitter = ThinkingSplitter()
    splitter.feed("I have to look.\n</think>\n")
    assert splitter.end(acts=True) == [("retracted", "I have to look.\n")]


def test_a_long_reply_in_small_pieces_costs_no_square() -> None:
    splitter = ThinkingSplitter()
    for _ in range(100_000):
        splitter.feed("word `x` ")
    assert splitter.end() == []
