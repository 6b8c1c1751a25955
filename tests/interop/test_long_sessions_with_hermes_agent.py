"""The real program beside us while a long session is on its way."""

import contextlib
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.branching import Branch
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash.trash import trash_sessions
from hermes_desktop.state.trash.trash_restore import restore_from_trash

LONG, OTHER = "20260101_000000_aaaaaa", "20260102_000000_bbbbbb"
MESSAGES = 2_500


class Interrupted(SessionDB):
    """Somebody does something before the third write."""

    act: Callable[[], object] | None = None
    writes = 0

    def _execute_write(self, fn: Callable[[sqlite3.Connection], Any]) -> Any:
        self.writes += 1
        if self.writes == 3 and self.act is not None:
            self.act()
        return super()._execute_write(fn)


@pytest.fixture
def sees(hermes: Any) -> Callable[..., list[str]]:
    """Which sessions the real program finds; first it may say something in one."""
    hermes.script("build_home.py", str(hermes.state_db))
    with contextlib.closing(SessionDB(hermes.state_db)) as db:
        for name in (LONG, OTHER):
            db.create_session(name, "cli")
            db.append_message(name, "user", "hello")
        words = [{"role": "user", "content": f"words {n}"} for n in range(MESSAGES)]
        db.replace_messages(LONG, words)
        db.set_session_title(LONG, "A long talk")

    def look(*said: str) -> list[str]:
        found = hermes.script("looks_for_sessions.py", str(hermes.state_db), "A long talk", *said)
        return [each for each in found if each in {LONG, OTHER, "copy"}]

    return look


def test_it_is_not_found_while_it_goes_comes_and_is_copied(
    hermes: Any, sees: Callable[..., list[str]]
) -> None:
    places: list[list[str]] = []
    with (
        contextlib.closing(Interrupted(hermes.state_db)) as db,
        contextlib.closing(DesktopDatabase(hermes.home / "desktop" / "desktop.db")) as own,
    ):
        db.act = lambda: places.append(sees())
        (item,) = trash_sessions(db, own, [LONG], deleted_at=1.0, reason="test").items
        places.append(sees())
        db.writes = 0
        restore_from_trash(db, own, [item.trash_id])
        places.append(sees())
        db.writes = 0
        assert db.create_branch(Branch(LONG, "copy")) == MESSAGES
        places.append(sees())
    assert places == [[OTHER]] * 3 + [[LONG, OTHER]] * 2 + [[LONG, OTHER, "copy"]]


def test_what_it_says_meanwhile_is_not_lost(hermes: Any, sees: Callable[..., list[str]]) -> None:
    with (
        contextlib.closing(Interrupted(hermes.state_db)) as db,
        contextlib.closing(DesktopDatabase(hermes.home / "desktop" / "desktop.db")) as own,
    ):
        db.act = lambda: sees(LONG, "said meanwhile")
        (item,) = trash_sessions(db, own, [LONG], deleted_at=1.0, reason="test").items
        assert item.message_count == MESSAGES + 1
        restore_from_trash(db, own, [item.trash_id])
        said = [row["content"] for row in db.get_messages(LONG)]
        assert said == [*(f"words {n}" for n in range(MESSAGES)), "said meanwhile"]
        assert (db.get_session(LONG) or {})["message_count"] == MESSAGES + 1
    assert sees() == [LONG, OTHER]
