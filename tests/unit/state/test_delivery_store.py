"""What is owed to chats, and what came from them, across programs that are killed."""

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.shared_tables.delivery_store import DeliveryStore, Obligation, Owner
from hermes_desktop.state.shared_tables.delivery_table import (
    KEPT_S,
    MOST_ROWS,
    TABLE,
    obligation_id,
)
from hermes_desktop.state.shared_tables.desktop_database import OWN_VERSION, DesktopDatabase
from hermes_desktop.state.shared_tables.inbox_table import MOST_DONE
from tests.fakes.clock import MovableClock

US, OTHER = Owner(11, 110), Owner(22, 220)
KEY = "agent:main:telegram:dm:c1"


class Home:
    """A home with both files; ``version`` is that of its conversation store."""

    def __init__(self, folder: Path, version: int) -> None:
        self.folder, self.clock = folder, MovableClock()
        self.db = SessionDB(folder / "state.db", clock=self.clock)
        if version != 22:
            self.db._execute_write(
                lambda c: c.execute(f"UPDATE schema_version SET version={version}")
            )
            self.db.close()
            self.db = SessionDB(folder / "state.db", clock=self.clock)
        self.own = DesktopDatabase(folder / "desktop" / "desktop.db")

    def store(self, owner: Owner = US) -> DeliveryStore:
        return DeliveryStore(self.db, self.own, lambda: owner, clock=self.clock)

    def tables(self) -> set[str]:
        rows = self.db.read(lambda c: c.execute("SELECT name FROM sqlite_master").fetchall())
        return {row[0] for row in rows}

    def count(self) -> int:
        with contextlib.closing(sqlite3.connect(self.folder / "state.db")) as conn:
            return int(conn.execute(f"SELECT count(*) FROM {TABLE}").fetchone()[0])


@pytest.fixture(params=[22, 18, 23])
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Home]:
    made = Home(tmp_path, request.param)
    yield made
    made.db.close()
    made.own.close()


def reply(text: str = "hi", message: str = "m1", platform: str = "telegram") -> Obligation:
    return Obligation(obligation_id(KEY, message, text), KEY, platform, "c1", None, text)


def test_names_are_those_of_the_other_gateway() -> None:
    assert obligation_id("k", "m1", "text") == "667ff3bbb2a710e2dd714afa"


def test_a_reply_from_owed_to_delivered(home: Home) -> None:
    store = home.store()
    assert store.owed(["telegram"]) == []
    owed = reply("Grüße \ud800")
    store.owe(owed)
    [found] = store.owed(["telegram", "discord"])
    assert (found.state, found.attempts, found.owner, found.content) == (
        "pending",
        0,
        US,
        "Grüße \ufffd",
    )
    assert store.owed(["discord"]) == []
    assert store.owed([]) == []
    store.set_state(owed.obligation_id, "attempting")
    store.set_state(owed.obligation_id, "failed", "x" * 900)
    [found] = store.owed(["telegram"])
    assert (found.state, found.last_error) == ("failed", "x" * 500)
    store.set_state(owed.obligation_id, "delivered")
    assert store.owed(["telegram"]) == []


def test_where_the_table_stands(home: Home, tmp_path: Path) -> None:
    version = home.db.condition.schema_version or 0
    assert TABLE not in home.tables()
    home.store().owe(reply())
    assert (TABLE in home.tables()) == (version <= 22)
    assert home.db.condition.schema_version == version


def test_a_table_of_other_columns_is_left_alone(tmp_path: Path) -> None:
    home = Home(tmp_path, 22)
    home.db._execute_write(
        lambda c: c.execute(f"CREATE TABLE {TABLE} (obligation_id TEXT, x TEXT)")
    )
    home.store().owe(reply())
    assert home.count() == 0
    assert len(home.store().owed(["telegram"])) == 1
    home.db.close()
    home.own.close()


def test_the_same_reply_again_begins_anew(home: Home) -> None:
    store = home.store()
    owed = reply("Done.")
    store.owe(owed)
    store.set_state(owed.obligation_id, "delivered")
    home.clock.advance(60)
    home.store(OTHER).owe(owed)
    [found] = store.owed(["telegram"])
    assert (found.state, found.owner, found.created_at) == ("pending", OTHER, home.clock.time())


def test_only_one_takes_over(home: Home) -> None:
    home.store(OTHER).owe(reply())
    ours, theirs = home.store(US), home.store(Owner(33, None))
    [seen] = ours.owed(["telegram"])
    assert theirs.take_over(seen)
    assert not ours.take_over(seen)
    [seen] = ours.owed(["telegram"])
    assert (seen.attempts, seen.owner) == (1, Owner(33, None))
    assert ours.take_over(seen)
    assert not ours.take_over(replace(seen, owner=None))
    ours.set_state(seen.obligation_id, "delivered")
    [*left] = ours.owed(["telegram"])
    assert left == []


def test_settled_replies_go_after_a_week_and_beyond_500(home: Home) -> None:
    store = home.store()
    for number in range(3):
        store.owe(reply(str(number)))
        store.set_state(reply(str(number)).obligation_id, "delivered")
    store.owe(reply("open"))
    home.clock.advance(KEPT_S + 1)
    store.prune()
    assert [each.content for each in store.owed(["telegram"])] == ["open"]
    for number in range(3):
        assert not store.owed_since("other", 0)
        store.owe(reply(str(number)))
    assert len(store.owed(["telegram"])) == 4
    assert store.owed_since(KEY, home.clock.time())
    assert not store.owed_since(KEY, home.clock.time() + 1)


def test_no_more_than_500_rows(tmp_path: Path) -> None:
    home = Home(tmp_path, 22)
    store = home.store()
    for number in range(MOST_ROWS + 20):
        home.clock.advance(1)
        store.owe(reply(str(number)))
        store.set_state(
            reply(str(number)).obligation_id, "abandoned" if number % 2 else "delivered"
        )
    store.prune()
    assert home.count() == MOST_ROWS
    home.db.close()
    home.own.close()


def test_a_message_is_received_once(home: Home) -> None:
    store = home.store()
    row = store.receive(("telegram", "c1"), "m1", KEY, {"text": "hello"})
    assert row is not None
    assert store.receive(("telegram", "c1"), "m1", KEY, {"text": "hello"}) is None
    others = [
        store.receive(("telegram", "c2"), "m1", KEY + "2", {"text": "hello"}),
        store.receive(("telegram", "c1"), None, KEY, {}),
        store.receive(("telegram", "c1"), None, KEY, {}),
    ]
    assert [each.id for each in store.unhandled_messages()] == [row, *others]
    store.finish(row)
    assert store.receive(("telegram", "c1"), "m1", KEY, {"text": "hello"}) is None
    assert [each.id for each in store.unhandled_messages()] == others
    assert b"hello" not in _texts(home)


def _texts(home: Home) -> bytes:
    rows = home.own.read(
        lambda c: c.execute("SELECT event FROM inbox WHERE state = 'done'").fetchall(), default=[]
    )
    return "".join(row[0] for row in rows).encode()


def test_a_message_that_another_gateway_stored_came_before(home: Home) -> None:
    home.db.create_session("s1", "telegram", session_key=KEY)
    home.db.append_message("s1", role="user", content="x", platform_message_id="m9")
    assert home.store().receive(("telegram", "c1"), "m9", KEY, {}) is None
    assert home.store().receive(("telegram", "c2"), "m9", KEY + "2", {}) is not None


def test_the_reply_that_nobody_noted(home: Home) -> None:
    db, store = home.db, home.store()
    db.create_session("s1", "telegram", session_key=KEY)
    db.append_message("s1", role="user", content="before")
    db.append_message("s1", role="assistant", content="old reply")
    row = store.receive(("telegram", "c1"), "m1", KEY, {})
    assert row is not None
    store.begin(row, "s1")
    [begun] = store.unhandled_messages()
    assert (begun.state, begun.session_id, begun.began_at) == ("begun", "s1", home.clock.time())
    assert store.reply_to(begun, "m1") is None
    db.append_message("s1", role="user", content="hello", platform_message_id="m1")
    assert store.reply_to(begun, "m1") is None
    db.append_message("s1", role="assistant", content="let me see", tool_calls=[{"id": "1"}])
    assert store.reply_to(begun, "m1") is None
    db.append_message("s1", role="tool", content="42", tool_call_id="1")
    assert store.reply_to(begun, "m1") is None
    db.append_message("s1", role="assistant", content="it is 42")
    assert store.reply_to(begun, "m1") == "it is 42"


def test_the_reply_in_the_continuation_of_a_conversation(home: Home) -> None:
    db, store = home.db, home.store()
    db.create_session("s1", "telegram", session_key=KEY)
    row = store.receive(("telegram", "c1"), "m1", KEY, {})
    assert row is not None
    store.begin(row, "s1")
    db.append_message("s1", role="user", content="hello", platform_message_id="m1")
    db.end_session("s1", "compression")
    db.create_session("s2", "telegram", parent_session_id="s1")
    db.append_message("s2", role="assistant", content="summary")
    db.append_message("s2", role="user", content="hello", platform_message_id="m1")
    db.append_message("s2", role="assistant", content="hi")
    [begun] = store.unhandled_messages()
    assert store.reply_to(begun, "m1") == "hi"


def test_ids_are_forgotten_after_a_week(home: Home) -> None:
    store = home.store()
    row = store.receive(("telegram", "c1"), "m1", KEY, {})
    assert row is not None
    store.finish(row)
    waiting = store.receive(("telegram", "c1"), "m2", KEY, {"text": "kept"})
    home.clock.advance(KEPT_S + 1)
    store.prune()
    assert [each.id for each in store.unhandled_messages()] == [waiting]
    assert store.receive(("telegram", "c1"), "m1", KEY, {}) is not None
    assert MOST_DONE == 5000


def test_an_adopted_message_is_ours(home: Home) -> None:
    row = home.store(OTHER).receive(("telegram", "c1"), "m1", KEY, {})
    assert row is not None
    home.store(US).adopt(row)
    [found] = home.store().unhandled_messages()
    assert found.owner == US


def test_a_store_of_the_first_version_gets_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "desktop.db"
    own = DesktopDatabase(path)
    own.write(lambda _: None)
    own.close()
    with contextlib.closing(sqlite3.connect(path)) as conn:
        for name in ("inbox", TABLE, "session_prompts", "pins", "facts", "window_state"):
            conn.execute(f"DROP TABLE {name}")
        conn.execute("PRAGMA user_version = 1")
        conn.commit()
    own = DesktopDatabase(path)
    for name in ("inbox", "session_prompts"):
        count = f"SELECT count(*) FROM {name}"
        assert own.write(lambda conn, sql=count: conn.execute(sql).fetchone()[0]) == 0  # type: ignore[misc]
    version = own.read(lambda conn: conn.execute("PRAGMA user_version").fetchone()[0], default=0)
    assert version == OWN_VERSION
    own.close()
