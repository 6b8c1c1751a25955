"""The real program finds what we find, and does not notice that something was in our trash."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.maintenance.health import health_report
from hermes_desktop.state.maintenance.repair import repair_index
from hermes_desktop.state.maintenance.restore import restore_snapshot
from hermes_desktop.state.maintenance.snapshot import take_snapshot
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash.trash import trash_sessions
from hermes_desktop.state.trash.trash_restore import restore_from_trash

SAME = (
    {"query": "trip"},
    {"query": "kernel panic"},
    {"query": "kernel", "sort": "newest"},
    {"query": "kernel", "sort": "oldest", "limit": 1, "offset": 1},
    {"query": "ker*", "sort": "newest"},
    {"query": '"plan the trip"'},
    {"query": "trip OR kernel", "sort": "newest"},
    {"query": "kernel NOT panic", "sort": "newest"},
    {"query": "my-file.txt"},
    {"query": "kernel", "source_filter": ["telegram"]},
    {"query": "kernel", "exclude_sources": ["telegram"]},
    {"query": "kernel", "role_filter": ["assistant"]},
    {"query": "旅行計画"},
    {"query": "予算", "sort": "newest"},
    {"query": "nothing like this"},
    {"query": ""},
)
"""Searches that both must answer alike."""

ONLY_OURS = ({"query": "ls -la"}, {"query": "o'brien"}, {"query": "src/app.py"})


@pytest.fixture
def home(hermes: Any) -> Any:
    """A home that the real program made, with messages of ours."""
    hermes.script("build_home.py", str(hermes.state_db))
    with contextlib.closing(SessionDB(hermes.state_db)) as db:
        db.create_session("20260101_000000_aaaaaa", "cli", model="m")
        db.create_session("20260101_000000_bbbbbb", "telegram")
        said = (
            ("aaaaaa", "user", "Please plan the trip, o'brien"),
            ("aaaaaa", "assistant", "A kernel panic in my-file.txt, 旅行計画 と 予算"),
            ("bbbbbb", "user", "kernel in src/app.py"),
            ("bbbbbb", "assistant", "run ls -la, the kernel is fine"),
        )
        for number, (end, role, text) in enumerate(said):
            db.append_message(
                f"20260101_000000_{end}", role, text, timestamp=1_790_000_000.0 + number
            )
    return hermes


def test_searches_are_answered_alike(home: Any) -> None:
    theirs = home.script("search_messages.py", str(home.state_db), *map(json.dumps, SAME))
    with contextlib.closing(SessionDB(home.state_db)) as db:
        for choices, expected in zip(SAME, theirs, strict=True):
            ours = db.search_messages(**choices)
            assert [row["id"] for row in ours] == [row["id"] for row in expected], choices
            for row, other in zip(ours, expected, strict=True):
                assert row.keys() == other.keys(), choices
                assert {**row, "snippet": ""} == {**other, "snippet": ""}, choices
                assert row["snippet"].split() == other["snippet"].split(), choices


def test_what_they_cannot_find(home: Any) -> None:
    theirs = home.script("search_messages.py", str(home.state_db), *map(json.dumps, ONLY_OURS))
    assert theirs == [[], [], []]
    with contextlib.closing(SessionDB(home.state_db)) as db:
        assert all(len(db.search_messages(**choices)) == 1 for choices in ONLY_OURS)


def test_the_home_is_the_same_after_trash_mending_and_restoring(home: Any, tmp_path: Path) -> None:
    before = home.script("observe_home.py", str(home.state_db))
    folder = tmp_path / "snapshots"
    own = DesktopDatabase(tmp_path / "desktop" / "desktop.db")
    with contextlib.closing(SessionDB(home.state_db)) as db, contextlib.closing(own):
        ids = [row["id"] for row in db.list_sessions_rich(limit=None, include_archived=True)]
        receipt = trash_sessions(db, own, ids, deleted_at=1.0, reason="test")
        assert "No sessions found" in home.command("sessions", "list")
        restore_from_trash(db, own, [item.trash_id for item in receipt.items])
        assert home.script("observe_home.py", str(home.state_db)) == before
        repair_index(db, folder, now=1.0, unseen_ok=True)
        kept = take_snapshot(home.state_db, folder, reason="test", now=2.0)
        db.append_message(ids[0], "user", "gone again soon")
    restore_snapshot(kept, home.state_db, folder, now=3.0, unseen_ok=True)
    assert home.script("observe_home.py", str(home.state_db)) == before
    assert health_report(home.state_db, check="full").is_healthy
