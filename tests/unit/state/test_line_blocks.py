"""Compressed blocks of lines answer as a plain sorted list would."""

import random
from collections import Counter

import pytest

from hermes_desktop.state.sessions.line_blocks import LineBlocks, LineEntry, LineSorter
from hermes_desktop.state.sessions.list_order import Needle

WORDS = ["trip", "invoice", "café", "旅行", "a-b", "tail\udcff"]


def entries_of(count: int, rng: random.Random) -> list[LineEntry]:
    made = []
    for number in range(count):
        name = f"id_{number:05d}"
        title = f"{rng.choice(WORDS)} {number % 100}"
        members = (name,) if number % 7 else (name, f"{name}_b", f"{name}_c")
        hay = ("\0".join((title, *members)), title.replace(" ", "").replace("-", ""))
        source = rng.choice(("cli", "cron", "telegram"))
        active = float(rng.randrange(500))
        made.append(LineEntry(active, float(number), name, members[-1], source, members, hay))
    return made


def stored(entries: list[LineEntry]) -> LineBlocks:
    sorter = LineSorter()
    for entry in entries:
        sorter.add(entry)
    return sorter.sorted()


def bare(entries: list[LineEntry]) -> list[LineEntry]:
    return [entry._replace(hay=("", "")) for entry in entries]


def check(blocks: LineBlocks, entries: list[LineEntry]) -> None:
    entries = sorted(entries)
    assert list(blocks) == bare(entries)
    assert len(blocks) == len(entries)
    assert blocks.sources() == Counter(entry.source for entry in entries)
    for text in ("", "trip", "ab 7", "旅行", "id_00012", "zzz", "tail\udcff"):
        for source in (None, "cron", "nowhere"):
            needle = Needle(text) if text else None
            wanted = [
                entry
                for entry in reversed(entries)
                if source in {None, entry.source} and (not needle or needle.found_in(entry.hay))
            ]
            for limit, offset in ((200, 0), (3, 700), (50, 10), (0, 0), (10**6, 0)):
                found, total = blocks.newest(limit, offset, source, needle)
                assert found == bare(wanted)[offset : offset + limit]
                assert total == len(wanted)


@pytest.mark.parametrize("count", [0, 1, 256, 257, 9_000])
def test_sorted_from_any_order(count: int) -> None:
    rng = random.Random(count)
    entries = entries_of(count, rng)
    rng.shuffle(entries)
    check(stored(entries), entries)


def test_lines_are_found_by_any_session_that_they_cover() -> None:
    entries = entries_of(2_000, random.Random(1))
    blocks = stored(entries)
    assert blocks.covering(["id_00014_c"]) == bare([entries[14]])
    assert blocks.covering(["id_00014", "id_00014_b", "id_00003", "gone"]) == bare(
        sorted([entries[14], entries[3]])
    )
    assert blocks.covering([]) == []


def test_changed_lines_stay_in_order() -> None:
    rng = random.Random(2)
    entries = {entry.root: entry for entry in entries_of(1_500, rng)}
    blocks = stored(list(entries.values()))
    for number in range(40):
        changed = rng.sample(sorted(entries), rng.choice((1, 3, 200)))
        fresh = [
            entries.pop(root)._replace(last_active=float(rng.randrange(600))) for root in changed
        ]
        fresh = fresh[: len(fresh) // 2] if number % 2 else fresh
        blocks.replace(changed, fresh)
        entries.update({entry.root: entry for entry in fresh})
    check(blocks, list(entries.values()))
    blocks.replace(list(entries), [])
    check(blocks, [])
    blocks.replace([], list(entries.values()))
    check(blocks, list(entries.values()))
