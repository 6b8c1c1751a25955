"""Searching archived conversations only, or the others only, as the list has them."""

from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.search.search_records import SearchHit, SearchQuery
from tests.fakes import state_files


def found(db: SessionDB, text: str, **choices) -> set[str]:
    hits: list[SearchHit] = []
    db.search(SearchQuery(text, **choices), on_hits=hits.extend)
    return {hit.session_id for hit in hits}


@pytest.fixture
def talk(db: SessionDB) -> SessionDB:
    """An archived conversation of two segments with a subagent and a branch; and an open one."""
    db.create_session("old", "cli")
    db.create_session(
        "branch", "cli", parent_session_id="old", model_config={"_branched_from": "old"}
    )
    db.create_session(
        "helper", "subagent", parent_session_id="old", model_config={"_delegate_from": "old"}
    )
    db.end_session("old", "compression")
    db.set_session_archived("old", archived=True)
    db.create_session("new", "cli", parent_session_id="old")  # goes on after it was put away
    db.create_session("open", "cli")
    for name in ("old", "branch", "helper", "new", "open"):
        db.append_message(name, "user", "the walrus 旅行 旅行計画")
    return db


HIDDEN, SHOWN = {"old", "helper", "new"}, {"branch", "open"}


@pytest.mark.parametrize("text", ["walrus", "w*", "wal*", "旅行", "旅行計画"])
@pytest.mark.parametrize("order", ["newest", "best"])
def test_only_archived_or_only_others(talk: SessionDB, text: str, order: str) -> None:
    assert found(talk, text, order=order) == HIDDEN | SHOWN
    assert found(talk, text, order=order, archived=False) == SHOWN
    assert found(talk, text, order=order, archived=True) == HIDDEN
    assert found(talk, text, order=order, archived=True, sources=["cli"]) == {"old", "new"}
    assert found(talk, text, order=order, archived=True, session_ids=["new", "open"]) == {"new"}


def test_one_hit_a_conversation(talk: SessionDB) -> None:
    choices = {"one_per_conversation": True, "exclude_sources": ("subagent",)}
    assert found(talk, "walrus", archived=True, **choices) == {"new"}
    assert found(talk, "w*", archived=False, **choices) == SHOWN


def test_the_list_says_the_same(talk: SessionDB) -> None:
    for archived in (False, True):
        listed = {
            row["_lineage_root_id"] if "_lineage_root_id" in row else row["id"]
            for row in talk.list_sessions_rich(archived_only=archived)
        }
        hits: list[SearchHit] = []
        query = SearchQuery("walrus", archived=archived, exclude_sources=("subagent",))
        talk.search(query, on_hits=hits.extend)
        assert {hit.root_id for hit in hits} == listed


def test_a_segment_alone_is_not_put_away(db: SessionDB) -> None:
    """As in the list, the oldest row decides."""
    db.create_session("old", "cli")
    db.end_session("old", "compression")
    db.create_session("new", "cli", parent_session_id="old")
    db.append_message("new", "user", "walrus")
    db._conn.execute("UPDATE sessions SET archived = 1 WHERE id = 'new'")
    assert found(db, "walrus", archived=False) == {"new"}
    assert found(db, "walrus", archived=True) == set()


@pytest.mark.slow
def test_pages_are_filled_from_further_down(db: SessionDB) -> None:
    for name in ("away", "here"):
        db.create_session(name, "cli")
    db.append_message("here", "user", "word")
    for number in range(1_200):
        db.append_message("away", "user", f"word {number}")
    db.set_session_archived("away", archived=True)
    for text in ("word", "w*"):
        assert found(db, text, archived=False, limit=3) == {"here"}


def test_a_circle_of_subagents_ends(db: SessionDB) -> None:
    for name in ("a", "b"):
        db.create_session(name, "subagent")
        db.append_message(name, "user", "walrus")
    for name, other in (("a", "b"), ("b", "a")):
        db._conn.execute(
            "UPDATE sessions SET parent_session_id = ?, model_config = ? WHERE id = ?",
            (other, f'{{"_delegate_from": "{other}"}}', name),
        )
    assert found(db, "walrus", archived=False) == {"a", "b"}
    assert found(db, "walrus", archived=True) == set()


@pytest.mark.parametrize("version", state_files.OLD_VERSIONS)
def test_older_files(path: Path, version: int) -> None:
    path.parent.mkdir()
    conn = state_files.make_old_file(path, version)
    state_files.add_session(conn, "s")
    state_files.add_message(conn, "s", content="please")
    conn.close()
    db = SessionDB(path)
    assert found(db, "please", archived=False) == {"s"}
    assert found(db, "p*", archived=False) == {"s"}
    assert found(db, "please", archived=True) == set()
    db.close()
