"""The prompts that we send are kept beside the shared file, by session, for all of our programs."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.services.sessions.session_actions import SessionActions
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.branching import Branch
from hermes_desktop.state.conversations.compaction import Compaction
from hermes_desktop.state.conversations.session_prompts import UNUSED_S, SessionPrompts
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash.trash import trash_sessions
from hermes_desktop.state.trash.trash_restore import restore_from_trash, settle_trash
from tests.fakes import state_files
from tests.fakes.clock import MovableClock


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def db(path: Path, clock: MovableClock) -> Iterator[SessionDB]:
    store = SessionDB(path, clock=clock)
    yield store
    store.close()


@pytest.fixture
def prompts(db: SessionDB, own: DesktopDatabase) -> SessionPrompts:
    return SessionPrompts(db, own)


def keep(prompts: SessionPrompts, session_id: str, text: str) -> str:
    return prompts.settle(session_id, lambda _stored: text)


def held(own: DesktopDatabase) -> dict[str, str]:
    """All that our store keeps, by session."""
    sql = "SELECT session_id, prompt FROM session_prompts"
    return own.read(lambda out: dict(map(tuple, out.execute(sql).fetchall())), default={})


def shared(path: Path) -> set[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as conn:
        return set(conn.execute("SELECT id, system_prompt FROM sessions").fetchall())


def test_the_first_one_stays_for_every_process(
    db: SessionDB, own: DesktopDatabase, prompts: SessionPrompts
) -> None:
    assert keep(prompts, "a", "first \ud800") == "first �"
    db.create_session("a", "cli", system_prompt="by another program")
    with contextlib.closing(DesktopDatabase(own.path)) as opened:
        other = SessionPrompts(db, opened)
        assert keep(other, "a", "second") == "first �"
        assert other.sent("a") == "first �"


def test_two_that_build_at_once_send_the_same(
    db: SessionDB, own: DesktopDatabase, prompts: SessionPrompts
) -> None:
    with contextlib.closing(DesktopDatabase(own.path)) as opened:
        other = SessionPrompts(db, opened)
        # The other one is faster while this one still reads files.
        sent = prompts.settle("a", lambda _stored: f"slow, after {keep(other, 'a', 'fast')}")
        assert sent == prompts.sent("a") == other.sent("a") == "fast"


def test_what_another_program_stored_is_where_it_begins(
    db: SessionDB, prompts: SessionPrompts
) -> None:
    assert prompts.sent("a") is None
    db.create_session("a", "cli", system_prompt="theirs")
    assert prompts.sent("a") == "theirs"
    assert prompts.settle("a", lambda stored: f"{stored} and ours") == "theirs and ours"
    assert prompts.sent("a") == "theirs and ours"
    assert (db.get_session("a") or {})["system_prompt"] == "theirs"


def test_continuations_and_branches_have_it_too(
    relatives: SessionDB, prompts: SessionPrompts
) -> None:
    relatives._execute_write(lambda conn: conn.execute("UPDATE sessions SET system_prompt = 'T'"))
    keep(prompts, "root", "ours")
    assert [prompts.sent(each) for each in ("tip", "branch")] == ["ours", "ours"]
    assert [prompts.sent(each) for each in ("helper", "other")] == ["T", "T"]
    assert keep(prompts, "tip", "another") == "ours"


def test_what_is_inherited_outlives_whom_it_came_from(
    relatives: SessionDB, own: DesktopDatabase, prompts: SessionPrompts
) -> None:
    keep(prompts, "root", "ours")
    trash_sessions(relatives, own, ["tip"], deleted_at=1.0, reason="test")
    assert held(own) == {"branch": "ours"}
    assert prompts.sent("branch") == "ours"


def test_it_goes_into_the_trash_and_comes_back(
    relatives: SessionDB, own: DesktopDatabase, prompts: SessionPrompts
) -> None:
    relatives._execute_write(
        lambda conn: conn.execute("UPDATE sessions SET system_prompt = 'T' WHERE id = 'tip'")
    )
    before = shared(relatives.db_path)
    keep(prompts, "root", "ours")
    keep(prompts, "other", "mine")
    gone = trash_sessions(relatives, own, ["root", "other"], deleted_at=1.0, reason="test")
    assert held(own) == {"branch": "ours"}
    restore_from_trash(relatives, own, [item.trash_id for item in gone.items])
    assert held(own) == {"branch": "ours", "root": "ours", "other": "mine"}
    assert shared(relatives.db_path) == before


def test_under_another_id_it_comes_back_under_that(
    relatives: SessionDB, own: DesktopDatabase, prompts: SessionPrompts
) -> None:
    keep(prompts, "other", "mine")
    (item,) = trash_sessions(relatives, own, ["other"], deleted_at=1.0, reason="test").items
    relatives.create_session("other", "cli")
    (restored,) = restore_from_trash(relatives, own, [item.trash_id])
    assert held(own) == {restored.session_ids["other"]: "mine"}
    assert prompts.sent("other") is None


def test_a_deletion_that_was_cut_short_takes_it_along_later(
    relatives: SessionDB, own: DesktopDatabase, prompts: SessionPrompts, path: Path
) -> None:
    keep(prompts, "other", "mine")

    def killed(conn: sqlite3.Connection) -> None:
        raise KeyboardInterrupt

    write, calls = own.write, iter((None, killed))

    class Killed(DesktopDatabase):
        def write(self, fn):  # type: ignore[no-untyped-def]
            return write(next(calls) or fn)

    with contextlib.closing(Killed(own.path)) as dying, pytest.raises(KeyboardInterrupt):
        trash_sessions(relatives, dying, ["other"], deleted_at=1.0, reason="test")
    assert relatives.get_session("other") is None
    assert held(own) == {"other": "mine"}
    assert settle_trash(relatives, own) == 1
    assert held(own) == {}
    restore_from_trash(relatives, own, [1])
    assert held(own) == {"other": "mine"}


def test_what_has_no_session_any_more_is_forgotten(
    db: SessionDB, own: DesktopDatabase, prompts: SessionPrompts, clock: MovableClock
) -> None:
    for name in ("there", "deleted by hermes", "about to begin"):
        keep(prompts, name, name)
    db.create_session("there", "cli")
    assert prompts.forget_gone() == 0
    assert prompts.forget_gone(["deleted by hermes", "there", "unknown"]) == 1
    assert set(held(own)) == {"there", "about to begin"}
    clock.advance(UNUSED_S + 1)
    assert prompts.forget_gone() == 1
    assert set(held(own)) == {"there"}


def test_tidying_up_forgets_it(
    db: SessionDB, own: DesktopDatabase, prompts: SessionPrompts, clock: MovableClock
) -> None:
    keep(prompts, "a", "mine")
    db.create_session("a", "cli")
    db.delete_sessions(["a"])  # as `hermes sessions delete` does
    clock.advance(UNUSED_S + 1)
    actions = SessionActions(db, own.path, clock=clock)
    actions.tidy_trash()
    actions.close()
    assert held(own) == {}


def test_our_own_store_may_be_unusable(
    db: SessionDB, own: DesktopDatabase, prompts: SessionPrompts, caplog: pytest.LogCaptureFixture
) -> None:
    own.path.parent.mkdir(parents=True)
    own.path.write_bytes(b"no database at all, but long enough to look at" * 40)
    db.create_session("a", "cli")
    with caplog.at_level("WARNING"):
        assert keep(prompts, "a", "built") == "built"
        assert prompts.sent("a") is None
        assert prompts.forget_gone() == 0
    assert "is not kept" in caplog.text


def newer(path: Path) -> None:
    path.parent.mkdir(parents=True)
    conn = state_files.make_newer_file(path, 30)
    conn.execute("INSERT INTO system_prompts VALUES ('h', 'You are theirs.')")
    state_files.add_session(conn, "named", system_prompt_hash="h", title="Trip")
    state_files.add_session(conn, "plain", system_prompt="You are plain.")
    conn.close()


@pytest.mark.parametrize(("origin", "stored"), [("named", (None, "h")), ("plain", (..., None))])
def test_newer_files_keep_the_form_in_which_a_prompt_is_stored(
    tmp_path: Path, origin: str, stored: tuple[object, object]
) -> None:
    path = tmp_path / "newer" / "state.db"
    newer(path)
    expected = tuple("You are plain." if each is ... else each for each in stored)
    with (
        contextlib.closing(SessionDB(path)) as db,
        contextlib.closing(DesktopDatabase(path.parent / "desktop.db")) as own,
    ):
        prompts = SessionPrompts(db, own)

        def form(session_id: str) -> tuple[object, ...]:
            sql = "SELECT system_prompt, system_prompt_hash FROM main.sessions WHERE id = ?"
            return tuple(db.read(lambda conn: conn.execute(sql, (session_id,)).fetchone()))

        text = prompts.settle(origin, lambda found: f"{found} + ours")
        assert text.endswith(" + ours")
        db.append_message(origin, "user", "hello")
        db.create_branch(Branch(origin, "branch"))
        assert db.try_acquire_compression_lock(origin, "us")
        newest = db.get_messages(origin)[-1]["id"]
        summary = [{"role": "user", "content": "summary"}]
        db.rotate_session(Compaction(origin, "us", summary, newest, 1), "next")
        assert [form(each) for each in (origin, "branch", "next")] == [expected] * 3
        assert [prompts.sent(each) for each in (origin, "branch", "next")] == [text] * 3
        gone = trash_sessions(db, own, ["next"], deleted_at=1.0, reason="test")
        restore_from_trash(db, own, [item.trash_id for item in gone.items])
        assert [form(each) for each in (origin, "next")] == [expected] * 2
        found = db.read(lambda conn: conn.execute("SELECT * FROM system_prompts").fetchall())
        assert [tuple(each) for each in found] == [("h", "You are theirs.")]


@pytest.mark.parametrize("kept_by_us", [True, False])
def test_a_prompt_that_newer_hermes_deleted_meanwhile_is_no_hindrance_to_a_restore(
    tmp_path: Path, *, kept_by_us: bool
) -> None:
    path = tmp_path / "newer" / "state.db"
    newer(path)
    with (
        contextlib.closing(SessionDB(path)) as db,
        contextlib.closing(DesktopDatabase(path.parent / "desktop.db")) as own,
    ):
        before = db.get_session("named") or {}
        assert before["system_prompt"] == "You are theirs."
        gone = trash_sessions(db, own, ["named"], deleted_at=1.0, reason="test")
        db._execute_write(lambda conn: conn.execute("DELETE FROM system_prompts"))
        if not kept_by_us:  # as earlier versions of ours made their copies
            forget = "DELETE FROM trash_rows WHERE kind = 'system_prompts'"
            own.write(lambda out: out.execute(forget))
        restore_from_trash(db, own, [item.trash_id for item in gone.items])
        after = db.get_session("named") or {}
        if kept_by_us:
            assert after == before
        else:
            assert after == {**before, "system_prompt": None, "system_prompt_hash": None}
        broken = db.read(lambda conn: conn.execute("PRAGMA foreign_key_check").fetchall())
        assert broken == []
