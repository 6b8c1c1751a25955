"""One filter for the preview and for the act."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.sessions.bulk_selection import SessionFilter
from tests.fakes.clock import MovableClock

DAY = 86_400


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def filled(path: Path, clock: MovableClock) -> Iterator[SessionDB]:
    """Three ended sessions, a day apart, and an open one."""
    with contextlib.closing(SessionDB(path, clock=clock)) as db:
        add(db, "a", "cli", title="Trip 50% plan", model="GPT-4", cwd="/home/u/One", messages=1)
        clock.advance(DAY)
        add(db, "b", "telegram", user_id="u", chat_id="c", chat_type="dm", messages=3)
        clock.advance(DAY)
        add(db, "c", "cli", title="Other", model="claude", cwd="/home/u/One/sub_dir", messages=0)
        db.create_session("open", "cli")
        db.set_session_archived("c", True)
        db.update_token_counts("a", 10, 20, billing_provider="OpenAI", estimated_cost_usd=1.0)
        db.update_token_counts("b", 1, 1, estimated_cost_usd=9.0, actual_cost_usd=2.0)
        db.update_session_cwd("a", "/home/u/One", "Feature/X")
        clock.advance(DAY)
        yield db


def add(db: SessionDB, name: str, source: str, *, messages: int, title: str = "", **f: Any) -> None:
    db.create_session(name, source, **f)
    for number in range(messages):
        db.append_message(name, "assistant", "x", tool_calls=[1] if number else None)
    db.set_session_title(name, title)
    db.end_session(name, "cli_close" if source == "cli" else "idle")


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({}, "abc"),
        ({"source": "cli"}, "ac"),
        ({"source": "CLI"}, ""),
        ({"title_like": "trip"}, "a"),
        ({"title_like": "50% "}, "a"),
        ({"title_like": "%"}, "a"),
        ({"title_like": "r_p"}, ""),
        ({"title_like": ""}, "abc"),
        ({"model_like": "gpt"}, "a"),
        ({"branch_like": "feature/"}, "a"),
        ({"end_reason": "idle"}, "b"),
        ({"provider": "openai"}, "a"),
        ({"user_id": "u"}, "b"),
        ({"chat_id": "c", "chat_type": "dm"}, "b"),
        ({"chat_id": "c", "chat_type": "group"}, ""),
        ({"cwd_prefix": "/home/u/One"}, "ac"),
        ({"cwd_prefix": "/home/u/One/"}, "ac"),
        ({"cwd_prefix": "/home/u/O"}, ""),
        ({"cwd_prefix": "/home/u/One/sub_dir"}, "c"),
        ({"cwd_prefix": "/home/u/One/subXdir"}, ""),
        ({"min_messages": 1}, "ab"),
        ({"max_messages": 1}, "ac"),
        ({"min_messages": 1, "max_messages": 1}, "a"),
        ({"min_tool_calls": 2}, "b"),
        ({"max_tool_calls": 0}, "ac"),
        ({"min_tokens": 30}, "a"),
        ({"max_tokens": 2}, "bc"),
        ({"min_cost": 1.5}, "b"),
        ({"max_cost": 1}, "ac"),
        ({"archived": True}, "c"),
        ({"archived": False}, "ab"),
    ],
)
def test_conditions(filled: SessionDB, conditions: dict[str, Any], expected: str) -> None:
    found = filled.candidates(SessionFilter(**conditions))
    assert "".join(candidate.id for candidate in found) == expected
    before = filled.session_count(include_archived=True)
    assert filled.prune(SessionFilter(**conditions)) == len(expected)
    assert filled.session_count(include_archived=True) == before - len(expected)


@pytest.mark.parametrize(
    ("older_than", "started_before", "started_after", "expected"),
    [
        (None, None, None, "abc"),
        (3.5, None, None, ""),
        (2.5, None, None, "a"),
        (0, None, None, "abc"),
        (0, 1.5, None, "ab"),
        (2.5, 1.5, None, "a"),
        (1.5, 0.5, None, "a"),
        (None, None, 0.5, "bc"),
        (None, 1.5, 0.5, "b"),
    ],
)
def test_ages(
    filled: SessionDB,
    clock: MovableClock,
    older_than: float | None,
    started_before: float | None,
    started_after: float | None,
    expected: str,
) -> None:
    """The limits are days after the first session, which began three days ago."""
    first = clock.time() - 3 * DAY
    choice = SessionFilter(
        idle_before=None if older_than is None else clock.time() - older_than * DAY,
        started_before=None if started_before is None else first + started_before * DAY,
        started_after=None if started_after is None else first + started_after * DAY,
    )
    assert "".join(candidate.id for candidate in filled.candidates(choice)) == expected


def test_a_candidate_as_a_row(filled: SessionDB) -> None:
    (candidate,) = filled.candidates(SessionFilter(archived=True))
    assert candidate.as_row() == {
        "id": "c",
        "source": "cli",
        "title": "Other",
        "model": "claude",
        "started_at": candidate.started_at,
        "ended_at": candidate.ended_at,
        "message_count": 0,
        "archived": 1,
    }


def test_whether_a_filter_says_anything() -> None:
    assert not SessionFilter()
    assert not SessionFilter(title_like="")
    assert SessionFilter(archived=False)
    assert SessionFilter(min_cost=0.0)


def test_archiving_hides_whole_conversations(db: SessionDB) -> None:
    db.create_session("root", "cli", model="m")
    db.end_session("root", "compression")
    for name in ("tip", "fork"):
        db.create_session(name, "cli", parent_session_id="root")
    db.create_session(
        "branch", "cli", parent_session_id="tip", model_config={"_branched_from": "tip"}
    )
    db.create_session("done", "cli")
    db.end_session("done", "cli_close")
    db.set_session_archived("done", True)
    assert db.archive(SessionFilter(end_reason="compression")) == 1
    hidden = {row["id"] for row in db.list_sessions_rich(archived_only=True, include_children=True)}
    assert hidden == {"root", "tip", "fork", "done"}
    assert db.archive(SessionFilter()) == 0
    assert db.set_session_archived("fork", False)
    hidden = {row["id"] for row in db.list_sessions_rich(archived_only=True, include_children=True)}
    assert hidden == {"done"}
    assert not db.set_session_archived("nobody", True)
