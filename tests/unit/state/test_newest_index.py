"""Files of layout 30, whose second search index leaves subagents out, stay sound at every step."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.branching import Branch
from hermes_desktop.state.database import chunked_writes
from hermes_desktop.state.maintenance.index_health import check_indexes
from hermes_desktop.state.search.search_records import SearchHit, SearchQuery
from hermes_desktop.state.sessions import deletion
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash.trash import trash_sessions
from hermes_desktop.state.trash.trash_restore import restore_from_trash
from tests.fakes.newest_home import make_newest_file
from tests.fakes.state_files import conversations

CITY = "東京都"
SESSIONS = ["s_cli", "s_sub", "s_cron", "s_hid"]


class Checked(SessionDB):
    """Compares the indexes with the messages after each transaction, and counts those."""

    steps = 0

    def _execute_write(self, fn: Callable[[sqlite3.Connection], Any]) -> Any:
        done = super()._execute_write(fn)
        self.steps += 1
        assert self.unsound() == []
        return done

    def unsound(self) -> list[str]:
        looked = self.read(lambda conn: check_indexes(conn, self.layout, compare=True, cancel=None))
        return [str(each) for each in looked if not each.is_complete]


@pytest.fixture
def newest(path: Path) -> Iterator[Checked]:
    make_newest_file(path, single_writer=False)
    with contextlib.closing(Checked(path)) as db:
        db.create_session("s_cron", "cron")
        for each in SESSIONS:
            for number in range(3):
                db.append_message(each, "user", f"{CITY}庁舎 {number} in {each}")
        yield db


@pytest.fixture(params=["at once", "in steps"])
def stepwise(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param == "at once":
        return False
    monkeypatch.setattr(chunked_writes, "MOST_ROWS", 1)
    monkeypatch.setattr(deletion, "MOST_MESSAGES", 1)
    return True


def found(db: SessionDB) -> set[str]:
    hits: list[SearchHit] = []
    db.search(SearchQuery(CITY), on_hits=hits.extend)
    return {hit.session_id for hit in hits}


@pytest.mark.parametrize("session_id", SESSIONS)
def test_what_comes_back_from_the_trash_is_found(
    newest: Checked, own: DesktopDatabase, session_id: str, stepwise: bool
) -> None:
    before, hits, steps = conversations(newest), found(newest), newest.steps
    assert "s_cli" in hits

    receipt = trash_sessions(newest, own, [session_id], deleted_at=1.0, reason="test")
    assert session_id not in found(newest)
    restore_from_trash(newest, own, [item.trash_id for item in receipt.items])

    assert (newest.steps - steps > 4) is stepwise
    assert found(newest) == hits
    after = conversations(newest)
    assert after == before


def test_a_session_is_hidden_while_it_is_moved(
    newest: Checked, own: DesktopDatabase, stepwise: bool
) -> None:
    listed: list[set[str]] = []

    def look(_: object) -> None:
        rows = newest.list_sessions_rich(limit=99, include_archived=True)
        listed.append({row["id"] for row in rows} & {"s_cli"})

    receipt = trash_sessions(
        newest, own, ["s_cli"], deleted_at=1.0, reason="test", on_progress=look
    )
    restore_from_trash(newest, own, [receipt.items[0].trash_id], on_progress=look)

    assert listed.count({"s_cli"}) == 1  # after the last step
    assert listed[-1] == {"s_cli"}


def test_a_branch_is_found(newest: Checked, stepwise: bool) -> None:
    newest.create_branch(Branch("s_cli", "copy", source="cli"))

    assert "copy" in found(newest)


def test_an_import_is_found(newest: Checked, stepwise: bool) -> None:
    whole = newest.export_session_lineage("s_cli")
    assert whole is not None
    (exported,) = whole["segments"]
    newest.import_sessions([{**exported, "id": "again", "title": None}])

    assert "again" in found(newest)


@pytest.mark.parametrize("session_id", SESSIONS)
def test_a_deletion_for_good_leaves_nothing(
    newest: Checked, session_id: str, stepwise: bool
) -> None:
    newest.delete_sessions([session_id])

    assert session_id not in found(newest)
    assert newest.unsound() == []
