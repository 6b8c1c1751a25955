"""May a kept agent be used again? All shapes of entries, all states of the row."""

import pytest

from hermes_desktop.agent.turns.turn_results import seen_after_turn
from hermes_desktop.gateway.turns.agent_cache import (
    IDLE_S,
    MAX_AGENTS,
    NEVER_SEEN,
    PENDING,
    CachedAgent,
    CacheEntry,
    Reuse,
    decide,
    surplus,
    with_mark,
)
from hermes_desktop.state.records.records import SessionMark

AGENT = object()
MARK = SessionMark(4, 0, 40)


@pytest.mark.parametrize(
    ("entry", "live", "verdict"),
    [
        (None, MARK, Reuse.BUILD),
        ((PENDING, "sig", 4), MARK, Reuse.BUILD),
        ((AGENT, "old", 4, "s"), MARK, Reuse.BUILD),
        ((AGENT, "sig"), MARK, Reuse.KEEP),
        ((AGENT, "sig"), None, Reuse.KEEP),
        ((AGENT, "sig", 4), MARK, Reuse.KEEP),
        ((AGENT, "sig", 3), MARK, Reuse.RELOAD),
        ((AGENT, "sig", 3), None, Reuse.KEEP),
        ((AGENT, "sig", 4, "s"), MARK, Reuse.KEEP),
        ((AGENT, "sig", 5, "s"), MARK, Reuse.RELOAD),
        ((AGENT, "sig", None, "s"), MARK, Reuse.KEEP),
        ((AGENT, "sig", None, "s"), None, Reuse.KEEP),
        ((AGENT, "sig", 4, "s"), None, Reuse.GONE),
        ((AGENT, "sig", 4, None), None, Reuse.KEEP),
        ((AGENT, "sig", 4, "other"), MARK, Reuse.RELOAD),
        ((AGENT, "sig", 4, "other"), None, Reuse.RELOAD),
        ((AGENT, "sig", 4, "s", MARK), MARK, Reuse.KEEP),
        ((AGENT, "sig", 4, "s", SessionMark(4, 1, 40)), MARK, Reuse.RELOAD),
        ((AGENT, "sig", 4, "s", SessionMark(4, 0, 39)), MARK, Reuse.RELOAD),
        ((AGENT, "sig", 4, "s", None), MARK, Reuse.KEEP),
        ((AGENT, "sig", NEVER_SEEN, "s", None), MARK, Reuse.RELOAD),
    ],
)
def test_decide(entry: CacheEntry | None, live: SessionMark | None, verdict: Reuse) -> None:
    assert decide(entry, "sig", "s", live) is verdict


def test_an_agent_has_seen_what_was_there_and_what_it_wrote() -> None:
    assert seen_after_turn(MARK, [41, 45]) == SessionMark(6, 0, 45)
    assert seen_after_turn(MARK, []) == MARK
    assert seen_after_turn(None, [1, 2]) == SessionMark(2, 0, 2)
    assert seen_after_turn(None, []) is None


def test_foreign_rows_in_between_are_not_seen() -> None:
    seen = seen_after_turn(MARK, [41, 43])  # 42 is somebody else's
    entry = CachedAgent(AGENT, "sig", seen.message_count, "s", seen)
    assert decide(entry, "sig", "s", SessionMark(7, 0, 43)) is Reuse.RELOAD


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ((AGENT, "sig"), (AGENT, "sig")),
        ((PENDING, "sig", 0), (PENDING, "sig", 0)),
        ((AGENT, "sig", 0), (AGENT, "sig", 4)),
        ((AGENT, "sig", 0, "s"), (AGENT, "sig", 4, "s")),
        ((AGENT, "sig", 0, "other"), (AGENT, "sig", 0, "other")),
        ((AGENT, "sig", 0, "s", None), (AGENT, "sig", 4, "s", MARK)),
    ],
)
def test_a_new_baseline_keeps_the_shape(entry: CacheEntry, expected: CacheEntry) -> None:
    assert with_mark(entry, "s", MARK) == expected


def test_the_oldest_and_the_idle_go_but_never_the_busy() -> None:
    cache: dict[str, CacheEntry] = {}
    for number in range(MAX_AGENTS + 2):
        cache[f"k{number}"] = (AGENT, "sig")
    cache["k0"] = cache.pop("k0")  # used again: no longer the oldest
    assert surplus(cache, {}, (), 0.0) == ["k1", "k2"]
    assert surplus(cache, {}, {"k1"}, 0.0) == ["k2"]
    few: dict[str, CacheEntry] = {"idle": (AGENT, "sig"), "fresh": (AGENT, "sig")}
    used = {"idle": 0.0, "fresh": 5.0}
    assert surplus(few, used, (), IDLE_S + 1) == ["idle"]
