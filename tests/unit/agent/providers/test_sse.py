import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.agent.providers.answer import LineTooLongError, SseParser
from hermes_desktop.agent.providers.completion import ServerEvent

STREAM = (
    "\ufeff: keep-alive\r\n\r\n"
    'data: {"a": "für 日本 🙂"}\n\n'
    "event: x\nid: 7\ndata:no space\r\r"
    "data: one\ndata: two\r\n\r\n"
    "retry: 10\n\n"
    "data: [DONE]\n\n"
).encode()
EVENTS = ['{"a": "für 日本 🙂"}', "no space", "one\ntwo", "[DONE]"]


def parse(pieces: list[bytes]) -> list[str]:
    parser = SseParser()
    events = [event for piece in pieces for event in parser.feed(piece)] + parser.end()
    return [event.data for event in events]


def test_whole_stream() -> None:
    assert parse([STREAM]) == EVENTS


def test_every_single_cut() -> None:
    for at in range(len(STREAM) + 1):
        assert parse([STREAM[:at], STREAM[at:]]) == EVENTS


def test_byte_by_byte() -> None:
    assert parse([STREAM[at : at + 1] for at in range(len(STREAM))]) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_cuts(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in itertools.pairwise(edges)]
    assert parse(pieces) == EVENTS


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(1, 5),
)
def test_any_data_comes_back(texts: list[str], end: str, size: int) -> None:
    stream = "".join(f"data: {text}{end}{end}" for text in texts).encode()
    assert parse([stream[at : at + size] for at in range(0, len(stream), size)]) == texts


@given(st.binary())
def test_no_bytes_make_it_fail(noise: bytes) -> None:
    parse([noise])


def test_a_last_event_without_blank_line_is_given_at_the_end() -> None:
    parser = SseParser()
    assert parser.feed(b"data: x") == []
    assert parser.end() == [ServerEvent("x")]
    assert parser.end() == []


def test_a_line_without_end_is_refused() -> None:
    parser = SseParser(max_line=10)
    with pytest.raises(LineTooLongError):
        parser.feed(b"data: 0123456789")


def test_a_long_line_in_many_pieces_costs_no_square() -> None:
    parser = SseParser()
    for _ in range(20_000):
        parser.feed(b"data: " + b"x" * 94)
    assert len(parser.end()[0].data) > 1_900_000
