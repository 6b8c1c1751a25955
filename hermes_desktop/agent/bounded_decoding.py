"""Bodies of HTTP responses, decompressed in small pieces.

A few kilobytes can decompress to gigabytes. httpx decompresses each received piece as a whole,
and doubly compressed bodies twice. Here no step yields more than 64 KiB, so that the reader can
stop in time.
"""

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

_MOST_AT_ONCE = 65536
_EITHER_HEADER = 32 + zlib.MAX_WBITS
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})

ACCEPTED = "gzip, deflate"
"""Value for ``Accept-Encoding``: the encodings supported here."""


class UndecodableError(Exception):
    """The body is damaged, or has an encoding that was not requested."""


def decoded(response: "httpx.Response") -> Iterator[bytes]:
    """Yield the pieces of a body that is still to be read, decompressed. Blocking.

    Raises:
        UndecodableError: It cannot be decompressed.
        httpx.HTTPError: It broke off.
    """
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding in {"", "identity"}:
        yield from response.iter_raw()
    elif coding in _PACKED:
        yield from _unpacked(response.iter_raw(), coding)
    else:
        raise UndecodableError(f"packed as {coding[:40]}")


def _unpacked(pieces: Iterator[bytes], coding: str) -> Iterator[bytes]:
    inflater = zlib.decompressobj(_EITHER_HEADER)
    begun = False
    for piece in pieces:
        rest = piece
        while rest and not inflater.eof:
            try:
                out = inflater.decompress(rest, _MOST_AT_ONCE)
            except zlib.error as error:
                if begun or coding != "deflate":
                    raise UndecodableError(str(error)) from error
                # Some servers omit the header.
                inflater = zlib.decompressobj(-zlib.MAX_WBITS)
                begun = True
                continue
            begun = True
            rest = inflater.unconsumed_tail
            if out:
                yield out
    # At most what the window holds back.
    if out := inflater.flush():
        yield out
