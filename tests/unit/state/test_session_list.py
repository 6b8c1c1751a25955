import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock

Make = Callable[..., None]


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def db(path: Path, clock: MovableClock) -> SessionDB:
    return SessionDB(path, clock=clock)


@pytest.fixture
def make(db: SessionDB, clock: MovableClock) -> Make:
    def make(
        name: str, source: str = "cli", *texts: str, title: str = "", **fields: object
    ) -> None:
        clock.advance(10)
        db.create_session(name, source, **fields)
        for text in texts:
            clock.advance(1)
            db.append_message(name, "user", text)
        if title:
            db.set_session_title(name, title)

    yield make
    db.close()


def ids(rows: list[dict[str, object]]) -> list[object]:
    return [row["id"] for row in rows]


def test_newest_first_with_preview_and_activity(db: SessionDB, make: Make) -> None:
    make("a", "cli", "first\nline", "second")
    make("b")
    rows = db.list_sessions_rich()
    assert ids(rows) == ["b", "a"]
    assert (rows[1]["preview"], rows[0]["preview"]) == ("first line", "")
    assert rows[0]["last_active"] == rows[0]["started_at"]
    assert rows[1]["last_active"] > rows[1]["started_at"]


def test_preview_is_the_first_user_message_even_when_taken_back(db: SessionDB, make: Make) -> None:
    make("a")
    db.append_message("a", "assistant", "I speak first")
    first = db.append_message("a", "user", [{"type": "text", "text": "with a picture"}])
    db.append_message("a", "user", "later")
    db.rewind_to_message("a", first)
    assert db.list_summaries()[0].preview == "with a picture"


def test_which_rows_are_shown(db: SessionDB, make: Make, clock: MovableClock) -> None:
    make("plain")
    make("sub", "subagent", parent_session_id="plain", model_config={"_delegate_from": "plain"})
    make("orphan", "cli", model_config={"_delegate_from": "__orphaned__"})
    make("branch", "cli", parent_session_id="plain", model_config={"_branched_from": "plain"})
    make("unmarked", "cli", parent_session_id="plain")
    make("old origin")
    clock.advance(1)
    db.end_session("old origin", "branched")
    make("old branch", "cli", parent_session_id="old origin")
    make("tool", "tool")
    make("archived")
    db._execute_write(
        lambda conn: conn.execute("UPDATE sessions SET archived = 1 WHERE id = 'archived'")
    )
    shown = ["tool", "old branch", "old origin", "branch", "plain"]
    assert ids(db.list_sessions_rich()) == shown
    assert [s.id for s in db.list_summaries()] == shown[1:]
    assert [s.id for s in db.list_summaries(source="tool")] == ["tool"]
    assert ids(db.list_sessions_rich(archived_only=True)) == ["archived"]
    assert ids(db.list_sessions_rich(include_archived=True)) == ["archived", *shown]
    assert len(db.list_sessions_rich(include_children=True)) == 8
    assert db.session_count(exclude_children=True) == 5
    assert db.session_count() == 8
    assert db.session_count("cli", exclude_children=True) == 4


def test_a_chain_is_one_line(db: SessionDB, make: Make) -> None:
    make("a", "telegram", "the start", model="m1", title="Trip")
    db.end_session("a", "compression")
    make("b", "telegram", "the summary", parent_session_id="a", model="m2", title="Trip #2")
    make("c")
    rows = db.list_sessions_rich()
    assert ids(rows) == ["c", "b"]
    line = rows[1]
    assert line["_lineage_root_id"] == "a"
    assert (line["title"], line["preview"], line["model"]) == ("Trip #2", "the summary", "m2")
    assert line["end_reason"] is None
    summary = db.summary("a")
    assert summary == db.summary("b") == db.summaries([("a", "b")])["b"]
    assert summary is not None
    assert (summary.id, summary.root_id, summary.title) == ("b", "a", "Trip #2")
    assert summary.started_at == line["started_at"]
    assert ids(db.list_sessions_rich(project_compression_tips=False)) == ["c", "a"]


def test_filters_look_at_the_root(db: SessionDB, make: Make) -> None:
    make("a", "telegram")
    db.end_session("a", "compression")
    make("b", "cli", parent_session_id="a")
    assert [s.id for s in db.list_summaries(source="telegram")] == ["b"]
    assert db.list_summaries(source="cli") == []


def test_order_by_activity_and_pages(db: SessionDB, make: Make, clock: MovableClock) -> None:
    for name in "abcd":
        make(name, "cli", "x")
    clock.advance(1)
    db.append_message("b", "user", "again")
    assert [s.id for s in db.list_summaries(order="activity")] == ["b", "d", "c", "a"]
    assert [s.id for s in db.list_summaries(order="activity", limit=2, offset=1)] == ["d", "c"]
    assert [s.id for s in db.list_summaries(limit=2, offset=1)] == ["c", "b"]
    assert len(db.list_summaries(limit=None)) == 4
    assert ids(db.search_sessions(limit=2)) == ["b", "d"]
    assert db.search_sessions("telegram") == []


def test_activity_of_a_chain_is_that_of_any_segment(
    db: SessionDB, make: Make, clock: MovableClock
) -> None:
    make("a", "cli", "x")
    db.end_session("a", "compression")
    make("b", "cli", "x", parent_session_id="a")
    make("c", "cli", "x")
    clock.advance(1)
    db.append_message("b", "user", "again")
    assert [s.id for s in db.list_summaries(order="activity")] == ["b", "c"]


def test_empty_ones(db: SessionDB, make: Make) -> None:
    make("full", "cli", "x")
    make("empty")
    assert [s.id for s in db.list_summaries(empty=True)] == ["empty"]
    assert [s.id for s in db.list_summaries(empty=False)] == ["full"]
    assert ids(db.list_sessions_rich(min_message_count=1)) == ["full"]
    assert db.summaries([("empty", "empty")])["empty"].is_empty


@pytest.mark.parametrize("order", ["created", "activity"])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("trip", ["b"]),
        ("PLAN", ["b"]),
        ("tripplan", ["b"]),
        ("trip-plan!", ["b"]),
        ("old name", ["b"]),
        ("a1", ["b"]),
        ("ÜBER", ["c"]),
        ("nothing", []),
        ("%", []),
        ("", ["c", "b"]),
    ],
)
def test_search(db: SessionDB, make: Make, query: str, found: list[str], order: str) -> None:
    make("a1", "cli", title="Old name")
    db.end_session("a1", "compression")
    make("b", "cli", parent_session_id="a1", title="Trip Plan")
    make("c", "cli", title="über")
    assert [s.id for s in db.list_summaries(query=query, order=order)] == found


def test_searches_of_the_row_list_need_the_order_by_activity(db: SessionDB, make: Make) -> None:
    make("a", "cli", title="Trip")
    make("b", "cli", title="Other")
    assert len(db.list_sessions_rich(search_query="trip")) == 2
    assert ids(db.list_sessions_rich(search_query="trip", order_by_last_active=True)) == ["a"]
    assert ids(db.list_sessions_rich(id_query="B", order_by_last_active=True)) == ["b"]


def test_working_folder(db: SessionDB, make: Make) -> None:
    for name, cwd in (("a", "/x/y"), ("b", "/x/y/z"), ("c", "/x/yz"), ("d", "C:\\x\\y")):
        make(name, "cli", cwd=cwd)
    assert ids(db.list_sessions_rich(cwd_prefix="/x/y/")) == ["b", "a"]
    assert ids(db.list_sessions_rich(cwd_prefix="C:\\x")) == ["d"]


def test_compact_rows_leave_the_prompt_out(db: SessionDB, make: Make) -> None:
    make("a", "cli", system_prompt="long")
    assert "system_prompt" not in db.list_sessions_rich(compact_rows=True)[0]
    assert db.list_sessions_rich()[0]["system_prompt"] == "long"
    with pytest.raises(TypeError):
        db.list_sessions_rich(colour="red")


def test_more_lines_than_one_query_takes(db: SessionDB, make: Make) -> None:
    for number in range(450):
        make(f"s{number}")
    assert len(db.list_summaries(limit=None)) == 450
    keys = [(f"s{n}", f"s{n}") for n in range(450)]
    assert len(db.summaries([*keys, ("gone", "gone")])) == 450


def test_summary_of_nobody(db: SessionDB) -> None:
    with contextlib.closing(db):
        assert db.summary("nobody") is None
        assert db.summaries([]) == {}
        assert db.session_mark("nobody") is None


def test_archiving_covers_the_whole_chain(db: SessionDB, make: Make) -> None:
    make("a")
    db.end_session("a", "compression")
    make("b", "cli", parent_session_id="a")
    make("c")
    assert db.set_session_archived("b", archived=True)
    assert ids(db.list_sessions_rich()) == ["c"]
    assert all((db.get_session(name) or {})["archived"] for name in "ab")
    assert db.set_session_archived("a", archived=False)
    assert ids(db.list_sessions_rich()) == ["c", "b"]
    assert not db.set_session_archived("nobody", archived=True)


@pytest.mark.parametrize("mark", ["[CONTEXT COMPACTION — REFERENCE ONLY]", "[CONTEXT COMPACTION]"])
def test_a_summary_is_not_shown_as_the_first_words(db: SessionDB, mark: str) -> None:
    db.create_session("a", "cli")
    db.append_message("a", "user", f"{mark} Earlier messages were replaced.")
    assert db.summary("a").preview == ""
    assert db.summary("a").label == "Untitled session"
    db.append_message("a", "user", "And the train?")
    assert db.summary("a").preview == "And the train?"
