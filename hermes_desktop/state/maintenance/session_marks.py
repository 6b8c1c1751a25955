"""Compact record of all rows of ``sessions``: number, id and hash, in 20 bytes each."""

import itertools
import marshal
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

_BITS = 9
_BLOCK_ROWS = 1 << _BITS
_OFFSET = _BLOCK_ROWS - 1


class RowMark(NamedTuple):
    """A row as it was read.

    Attributes:
        mark: A hash of its values, the id included.
    """

    rowid: int
    session_id: str
    mark: int


class SessionMarks:
    """The rows of ``sessions`` as they were last seen. Used on one thread at a time."""

    def __init__(self, rows: Iterable[RowMark] = ()) -> None:
        self._blocks: dict[int, _Block] = {}
        self._displaced: set[str] = set()
        for number, group in itertools.groupby(rows, key=_block_number):
            self._blocks.setdefault(number, _Block()).put(group)

    def __len__(self) -> int:
        return sum(len(block.offsets) for block in self._blocks.values())

    def note(self, rows: Iterable[RowMark]) -> set[str]:
        """Record rows; return the ids of those that are new or changed."""
        changed: set[str] = set()
        for number, group in itertools.groupby(rows, key=_block_number):
            block = self._blocks.setdefault(number, _Block())
            fresh = [row for row in group if block.mark_of(row.rowid & _OFFSET) != row.mark]
            if fresh:
                changed.update(row.session_id for row in fresh)
                self._displaced |= block.put(fresh)
        return changed

    def take_displaced(self) -> set[str]:
        """Return the ids whose row number has been given to another session since the last call."""
        displaced, self._displaced = self._displaced, set()
        return displaced

    def match(self, present: Iterable[int]) -> tuple[list[int], set[str]]:
        """Compare with the numbers of all rows that exist now; forget those that do not.

        Returns:
            The numbers that are not known, and the ids of the forgotten rows.
        """
        unknown: list[int] = []
        kept: dict[int, _Block] = {}
        gone: set[str] = set()
        for number, group in itertools.groupby(sorted(present), key=lambda rowid: rowid >> _BITS):
            offsets = {rowid & _OFFSET for rowid in group}
            block = self._blocks.pop(number, None)
            known = set(block.offsets) if block is not None else set()
            unknown += [(number << _BITS) + offset for offset in sorted(offsets - known)]
            if block is not None:
                gone |= block.keep_only(offsets) if known - offsets else set()
                kept[number] = block
        for block in self._blocks.values():
            gone |= block.keep_only(set())
        self._blocks = kept
        return unknown, gone


class _Block:
    """The rows whose numbers differ in the last bits only."""

    __slots__ = ("_ids", "_marks", "offsets")

    def __init__(self) -> None:
        self.offsets = array("H")
        self._marks = array("q")
        self._ids = b""

    def mark_of(self, offset: int) -> int | None:
        """Return the mark of a row, None if it is not known."""
        place = bisect_left(self.offsets, offset)
        known = place < len(self.offsets) and self.offsets[place] == offset
        return self._marks[place] if known else None

    def put(self, rows: Iterable[RowMark]) -> set[str]:
        """Record rows; return the ids that had their numbers before."""
        known = self._rows()
        displaced: set[str] = set()
        for row in rows:
            before = known.get(row.rowid & _OFFSET)
            if before is not None and before[0] != row.session_id:
                displaced.add(before[0])
            known[row.rowid & _OFFSET] = row.session_id, row.mark
        self._store(known)
        return displaced

    def keep_only(self, offsets: set[int]) -> set[str]:
        """Forget all other rows; return their ids."""
        known = self._rows()
        self._store({offset: row for offset, row in known.items() if offset in offsets})
        return {row[0] for offset, row in known.items() if offset not in offsets}

    def _rows(self) -> dict[int, tuple[str, int]]:
        if not self._ids:
            return {}
        ids = marshal.loads(zlib.decompress(self._ids))  # noqa: S302 - made in _store
        return dict(zip(self.offsets, zip(ids, self._marks, strict=True), strict=True))

    def _store(self, rows: dict[int, tuple[str, int]]) -> None:
        self.offsets = array("H", sorted(rows))
        self._marks = array("q", (rows[offset][1] for offset in self.offsets))
        ids = [rows[offset][0] for offset in self.offsets]
        self._ids = zlib.compress(marshal.dumps(ids), 1) if rows else b""


def _block_number(row: RowMark) -> int:
    return row.rowid >> _BITS
