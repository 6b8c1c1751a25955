"""Bodies of answers, unpacked in bounded pieces."""

import gzip
import zlib
from collections.abc import Iterator

import httpx
import pytest

from hermes_desktop.agent.bounded_decoding import UndecodableError, decoded

WORDS = b"some words " * 1000


def answer(body: bytes, coding: str, at_once: int = 7) -> httpx.Response:
    def pieces() -> Iterator[bytes]:
        for begin in range(0, len(body), at_once):
            yield body[begin : begin + at_once]

    return httpx.Response(200, headers={"Content-Encoding": coding}, content=pieces())


def bare(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


@pytest.mark.parametrize(
    ("packed", "coding"),
    [
        (WORDS, ""),
        (WORDS, "identity"),
        (gzip.compress(WORDS), "gzip"),
        (gzip.compress(WORDS), "X-GZIP"),
        (zlib.compress(WORDS), "deflate"),
        (bare(WORDS), "deflate"),
    ],
    ids=["bare", "identity", "gzip", "x-gzip", "zlib", "deflate"],  # gzip holds the time
)
@pytest.mark.parametrize("at_once", [7, 1 << 20])
def test_what_is_unpacked(packed: bytes, coding: str, at_once: int) -> None:
    assert b"".join(decoded(answer(packed, coding, at_once))) == WORDS


def test_no_piece_is_large() -> None:
    pieces = [*decoded(answer(gzip.compress(b"\n" * 20_000_000), "gzip", 1 << 20))]
    assert sum(map(len, pieces)) == 20_000_000
    assert max(map(len, pieces)) <= 100_000


@pytest.mark.parametrize(
    ("packed", "coding"),
    [(gzip.compress(gzip.compress(WORDS)), "gzip, gzip"), (WORDS, "br"), (WORDS, "gzip")],
    ids=["twice", "unknown", "nonsense"],
)
def test_what_is_not_unpacked(packed: bytes, coding: str) -> None:
    with pytest.raises(UndecodableError):
        b"".join(decoded(answer(packed, coding)))
