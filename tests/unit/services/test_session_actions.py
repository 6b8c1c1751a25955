"""Delete, undo, archive, rename: the same functions for window and command line."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.errors import NotFoundError
from hermes_desktop.services.sessions import bulk_sessions
from hermes_desktop.services.sessions.session_actions import RunningTurnError, SessionActions
from hermes_desktop.state import SessionDB
from hermes_desktop.state.sessions.bulk_selection import SessionFilter
from hermes_desktop.state.sessions.titles import TitleError
from tests.fakes.clock import MovableClock
from tests.fakes.state_files import dump

DAY_S = 86_400.0


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def db(tmp_path: Path, clock: MovableClock) -> Iterator[SessionDB]:
    database = SessionDB(tmp_path / "state.db", clock=clock)
    yield database
    database.close()


@pytest.fixture
def turns() -> dict[str, str]:
    """Running turns by session."""
    return {}


@pytest.fixture
def actions(
    db: SessionDB, tmp_path: Path, clock: MovableClock, turns: dict[str, str]
) -> Iterator[SessionActions]:
    made = SessionActions(
        db, tmp_path / "desktop" / "desktop.db", clock=clock, running_turn=turns.get
    )
    yield made
    made.close()


@pytest.fixture
def family(db: SessionDB, clock: MovableClock) -> None:
    """A conversation of two segments with a subagent and a branch, and two others."""
    for session_id, source, fields in (
        ("root", "telegram", {}),
        ("tip", "telegram", {"parent_session_id": "root"}),
        ("helper", "cli", {"parent_session_id": "tip", "model_config": {"_delegate_from": "tip"}}),
        ("branch", "cli", {"parent_session_id": "tip", "model_config": {"_branched_from": "tip"}}),
        ("other", "cli", {}),
        ("third", "telegram", {}),
    ):
        clock.advance(10.0)
        if session_id == "tip":
            db.end_session("root", "compression")
        db.create_session(session_id, source, **fields)
        db.append_message(session_id, "user", f"said in {session_id}")
    db.set_session_title("tip", "Long one")


pytestmark = pytest.mark.usefixtures("family")


def test_a_plan_names_all_that_goes_and_changes_nothing(
    actions: SessionActions, db: SessionDB, tmp_path: Path
) -> None:
    before = dump(db.db_path)

    plan = actions.plan_delete(["root", "other", "tip", "gone", "third"])

    assert plan.ids == ("tip", "other", "third")
    assert plan.segments == ("root", "tip", "other", "third")
    assert plan.subagents == ("helper",)
    assert plan.by_source == {"telegram": 2, "cli": 1}
    assert plan.missing == ("gone",)
    assert plan.messages == 5
    assert plan.bytes > 100
    assert plan.conversations[0].label == "Long one"
    assert dump(db.db_path) == before
    assert not (tmp_path / "desktop").exists()


def test_what_was_planned_goes_and_comes_back_row_for_row(
    actions: SessionActions, db: SessionDB
) -> None:
    before = dump(db.db_path)
    plan = actions.plan_delete(["tip", "third"])

    receipt = actions.delete(plan)

    left = {row["id"] for row in db.search_sessions()}
    assert left == {"branch", "other"}
    assert sum(item.session_count for item in receipt.items) == 4
    assert [item.root_id for item in actions.trash()] == ["third", "root"]

    restored = actions.undo(receipt)

    assert {each.root_id for each in restored} == {"root", "third"}
    assert dump(db.db_path) == before
    assert actions.trash() == ()


def test_an_undo_that_comes_too_late(actions: SessionActions) -> None:
    receipt = actions.delete(actions.plan_delete(["other"]))
    actions.undo(receipt)

    with pytest.raises(NotFoundError):
        actions.undo(receipt)


def test_undo_of_what_is_partly_back(actions: SessionActions, db: SessionDB) -> None:
    receipt = actions.delete(actions.plan_delete(["other", "third"]))
    actions.restore([receipt.items[0].trash_id])

    (only,) = actions.undo(receipt)

    assert only.root_id == "third"
    assert db.get_session("other") is not None


def test_a_prune_takes_ended_sessions_alone_and_is_undone(
    actions: SessionActions, db: SessionDB, clock: MovableClock
) -> None:
    for session_id in ("tip", "third"):
        db.end_session(session_id, "user_exit")
    choice = SessionFilter(source="telegram")
    plan = bulk_sessions.plan_prune(db, choice, now=clock.time())
    assert {each.id for each in plan.candidates} == {"root", "tip", "third"}
    db.reopen_session("third")
    before = dump(db.db_path)

    receipt = actions.prune(plan)

    assert {row["id"] for row in db.search_sessions()} == {"helper", "branch", "other", "third"}
    assert {(item.root_id, item.reason) for item in actions.trash()} == {
        ("root", "pruned"),
        ("tip", "pruned"),
    }
    actions.undo(receipt)
    assert dump(db.db_path) == before


def test_what_was_pruned_stays_for_thirty_days(
    actions: SessionActions, db: SessionDB, clock: MovableClock
) -> None:
    db.end_session("tip", "user_exit")
    actions.prune(bulk_sessions.plan_prune(db, SessionFilter(source="telegram"), now=clock.time()))
    clock.advance(29 * DAY_S)
    assert actions.tidy_trash() == 0
    clock.advance(2 * DAY_S)
    assert actions.tidy_trash() == 2


@pytest.mark.parametrize("session_id", ["root", "tip", "helper"])
def test_a_running_turn_is_named_and_left_alone(
    actions: SessionActions, db: SessionDB, turns: dict[str, str], session_id: str
) -> None:
    plan = actions.plan_delete(["other", "root"])
    turns[session_id] = "“book the train”, for 12 s"
    before = dump(db.db_path)

    attempts: list[Callable[[], object]] = [
        lambda: actions.plan_delete(["other", "root"]),
        lambda: actions.delete(plan),
    ]
    if session_id != "helper":
        attempts.append(lambda: actions.archive(["other", "root"]))
    for attempt in attempts:
        with pytest.raises(RunningTurnError, match="book the train") as refused:
            attempt()
        assert refused.value.session_id == session_id
        assert refused.value.exit_code == 5
    assert dump(db.db_path) == before


def test_archive_and_back(actions: SessionActions, db: SessionDB) -> None:
    assert actions.archive(["root", "other"]) == ("root", "other")
    assert actions.archive(["tip", "third"]) == ("third",)
    assert [row.id for row in db.list_summaries()] == ["branch"]

    assert actions.unarchive(["tip", "branch"]) == ("tip",)

    assert {row.id for row in db.list_summaries()} == {"tip", "branch"}


def test_archive_of_a_gone_session_changes_nothing(actions: SessionActions, db: SessionDB) -> None:
    before = dump(db.db_path)

    for act in (actions.archive, actions.unarchive):
        with pytest.raises(NotFoundError):
            act(["other", "gone"])

    assert dump(db.db_path) == before


def test_a_title_goes_to_the_part_the_list_shows(actions: SessionActions, db: SessionDB) -> None:
    assert actions.rename("root", "  Short \n one ") == "Short one"
    assert db.get_session_title("tip") == "Short one"
    assert db.get_session_title("root") is None
    assert actions.rename("tip", " ") is None
    assert db.get_session_title("tip") is None


def test_titles_that_cannot_be(actions: SessionActions) -> None:
    with pytest.raises(TitleError):
        actions.rename("other", "Long one")
    with pytest.raises(NotFoundError):
        actions.rename("gone", "Any")


def test_the_trash_is_kept_for_thirty_days(actions: SessionActions, clock: MovableClock) -> None:
    actions.delete(actions.plan_delete(["other"]))
    clock.advance(29 * DAY_S)
    actions.delete(actions.plan_delete(["third"]))

    clock.advance(2 * DAY_S)

    assert actions.tidy_trash() == 1
    assert [item.root_id for item in actions.trash()] == ["third"]
    assert actions.empty_trash(older_than=clock.time() - 5 * DAY_S) == 0
    assert actions.empty_trash() == 1
    assert actions.trash() == ()
