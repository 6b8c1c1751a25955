"""The lines of the session list, kept in order in compressed blocks.

A history may have hundreds of thousands of sessions, and the window keeps the order and the
searched text of all of them. As objects, a line takes more than 500 bytes; in a block it takes
about 60. Only the blocks that a page or a change needs are unpacked; a search unpacks the texts of
one block after the other.
"""

import heapq
import itertools
import marshal
import zlib
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from hermes_desktop.state.sessions.list_order import Needle, haystack
from hermes_desktop.state.sessions.session_list import Line

_BLOCK_LINES = 256
_RUN_LINES = 16 * _BLOCK_LINES
_HASH_BYTES = 4


class LineEntry(NamedTuple):
    """One line of the list. Entries sort by activity, the oldest first.

    Attributes:
        last_active: Epoch seconds of the latest message.
        started_at: Epoch seconds at which the root began.
        root: Id of the session that the line represents.
        tip: Id of the session that the line shows.
        members: Ids of all sessions that the line covers.
        hay: The text that the filter searches; empty where only the other fields were read.
    """

    last_active: float
    started_at: float
    root: str
    tip: str
    source: str
    members: tuple[str, ...]
    hay: tuple[str, str] = ("", "")

    @classmethod
    def of(cls, line: Line) -> "LineEntry":
        """Return the entry of a line."""
        members = tuple(member.id for member in line.members)
        return cls(*line.order, line.tip_id, line.source, members, haystack(line.members))


class LineBlocks:
    """An ordered collection of entries. Used on one thread."""

    def __init__(self, blocks: Iterable["_Block"] = ()) -> None:
        self._blocks = list(blocks)

    def __len__(self) -> int:
        return sum(block.size for block in self._blocks)

    def __iter__(self) -> Iterator[LineEntry]:
        """Iterate over all entries, without their texts."""
        return itertools.chain.from_iterable(self._blocks)

    def sources(self) -> Counter[str]:
        """Return the number of lines per source."""
        total: Counter[str] = Counter()
        for block in self._blocks:
            total.update(block.sources)
        return total

    def newest(
        self, limit: int, offset: int, source: str | None, needle: Needle | None
    ) -> tuple[list[LineEntry], int]:
        """Return the newest matching entries without their texts, and the number of all matches."""
        found: list[LineEntry] = []
        total = skipped = 0
        for block in reversed(self._blocks):
            if skipped + len(found) >= offset + limit:
                total += block.count(source, needle)
                continue
            if needle is None and total + block.count(source) <= offset:
                skipped = total = total + block.count(source)
                continue
            found += reversed(block.matching(source, needle))
            total = skipped + len(found)
        start = offset - skipped
        return found[start : start + limit], total

    def covering(self, session_ids: Collection[str]) -> list[LineEntry]:
        """Return the entries that cover any of these sessions, without their texts."""
        wanted = set(session_ids)
        hashes = [_hash(name) for name in wanted]
        return [
            entry
            for block in self._blocks
            if block.may_cover(hashes)
            for entry in block
            if not wanted.isdisjoint(entry.members)
        ]

    def replace(self, roots: Collection[str], entries: Iterable[LineEntry]) -> None:
        """Remove the lines of some roots and insert others."""
        hashes = [_hash(root) for root in roots]
        oldest = [block.oldest for block in self._blocks]
        added: defaultdict[int, list[LineEntry]] = defaultdict(list)
        for entry in entries:
            added[max(bisect_right(oldest, entry[:3]) - 1, 0)].append(entry)
        result: list[_Block] = []
        for place, block in enumerate(self._blocks):
            if place in added or block.may_cover(hashes):
                kept = [entry for entry in block.entries() if entry.root not in roots]
                lines = sorted(kept + added.pop(place, []))
                small = 0 < len(lines) <= 2 * _BLOCK_LINES
                result += [_Block(lines)] if small else _blocks_of(lines)
            else:
                result.append(block)
        result += _blocks_of(sorted(itertools.chain(*added.values())))  # there was no block yet
        self._blocks = result


class LineSorter:
    """Sorts entries that arrive in any order without holding all of them unpacked."""

    def __init__(self) -> None:
        self._runs: list[list[_Block]] = []
        self._waiting: list[LineEntry] = []

    def add(self, entry: LineEntry) -> None:
        """Add one entry."""
        self._waiting.append(entry)
        if len(self._waiting) == _RUN_LINES:
            self._pack()

    def sorted(self) -> LineBlocks:
        """Return all entries in order."""
        self._pack()
        if len(self._runs) == 1:
            return LineBlocks(self._runs[0])
        return LineBlocks(_blocks_of(heapq.merge(*map(_unpacked, self._runs))))

    def _pack(self) -> None:
        if not self._waiting:
            return
        self._runs.append(list(_blocks_of(sorted(self._waiting))))
        self._waiting.clear()


class _Block:
    """Up to a few hundred consecutive entries.

    Attributes:
        size: The number of entries.
        oldest: The sort key of the first entry.
        sources: The number of entries per source.
    """

    __slots__ = ("_hashes", "_keys", "_texts", "oldest", "size", "sources")

    def __init__(self, entries: Sequence[LineEntry]) -> None:
        self.size = len(entries)
        self.oldest = entries[0][:3]
        self.sources = dict(Counter(entry.source for entry in entries))
        self._hashes = b"".join(_hash(name) for entry in entries for name in entry.members)
        self._keys = _packed([entry[:6] for entry in entries])
        self._texts = _packed([entry.hay for entry in entries])

    def __iter__(self) -> Iterator[LineEntry]:
        """Iterate over the entries, without their texts."""
        return itertools.starmap(LineEntry, _loaded(zlib.decompress(self._keys)))

    def entries(self) -> list[LineEntry]:
        """Return the entries."""
        texts = _loaded(zlib.decompress(self._texts))
        return [entry._replace(hay=hay) for entry, hay in zip(self, texts, strict=True)]

    def count(self, source: str | None, needle: Needle | None = None) -> int:
        """Return the number of matching entries."""
        of_source = self.size if source is None else self.sources.get(source, 0)
        if needle is None or not of_source:
            return of_source
        return sum(self._found(needle)) if source is None else len(self.matching(source, needle))

    def matching(self, source: str | None, needle: Needle | None) -> list[LineEntry]:
        """Return the matching entries without their texts, the oldest first."""
        keys: list[LineEntry] = []
        if needle is None:
            keys = list(self)
        elif any(found := self._found(needle)):
            keys = list(itertools.compress(self, found))
        return keys if source is None else [key for key in keys if key.source == source]

    def _found(self, needle: Needle) -> list[bool]:
        """Return for each entry whether the text is found in it; nothing if it is in none."""
        raw = zlib.decompress(self._texts)
        # Marshalled texts are UTF-8: what is not in all of them together is in none of them.
        if not needle.may_be_in(raw):
            return []
        return [needle.found_in(hay) for hay in _loaded(raw)]

    def may_cover(self, hashes: Iterable[bytes]) -> bool:
        """Return False if none of the sessions with these hashes is a member of any entry."""
        return any(_holds(self._hashes, each) for each in hashes)


def _unpacked(run: list[_Block]) -> Iterator[LineEntry]:
    """Yield the entries of a run, of which nothing is kept."""
    run.reverse()
    while run:
        yield from run.pop().entries()


def _blocks_of(entries: Iterable[LineEntry]) -> Iterator[_Block]:
    rest = iter(entries)
    while chunk := list(itertools.islice(rest, _BLOCK_LINES)):
        yield _Block(chunk)


def _packed(values: list[Any]) -> bytes:
    return zlib.compress(marshal.dumps(values), 1)


def _loaded(raw: bytes) -> list[Any]:
    values: list[Any] = marshal.loads(raw)  # noqa: S302 - made by this process, in _packed
    return values


def _hash(name: str) -> bytes:
    return zlib.crc32(name.encode("utf-8", "surrogatepass")).to_bytes(_HASH_BYTES, "little")


def _holds(hashes: bytes, wanted: bytes) -> bool:
    place = hashes.find(wanted)
    while place % _HASH_BYTES and place > 0:
        place = hashes.find(wanted, place + 1)
    return place >= 0
