"""Routing entries in the table and in its mirror: the table first, strangers byte for byte."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.errors import BusyError, StateError
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.session import SessionSource, SessionStore
from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock

PHONE = SessionSource(Platform.TELEGRAM, "5", user_id="u")
KEY = "agent:main:telegram:dm:5"


class Home:
    """A home with a store of conversations and a sessions folder."""

    def __init__(self, folder: Path) -> None:
        self.sessions = folder / "sessions"
        self.mirror = self.sessions / "sessions.json"
        self.db = SessionDB(folder / "state.db")
        self.clock = MovableClock()

    def store(self, db: SessionDB | None = None, **config: Any) -> SessionStore:
        return SessionStore(
            self.sessions, GatewayConfig(**config), db=db or self.db, clock=self.clock
        )

    @property
    def scope(self) -> str:
        return str(self.sessions.resolve())

    def table(self) -> dict[str, str]:
        return self.db.load_gateway_routing_entries(scope=self.scope)

    def put(self, key: str, text: str) -> None:
        self.db.save_routing_changes(scope=self.scope, changed={key: text})

    def mirrored(self) -> dict[str, Any]:
        return json.loads(self.mirror.read_text(encoding="utf-8"))

    def entry(self, key: str, session_id: str, **more: Any) -> dict[str, Any]:
        now = self.clock.now().isoformat()
        return {
            "session_key": key,
            "session_id": session_id,
            "created_at": now,
            "updated_at": now,
            "platform": "telegram",
            **more,
        }


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.db.close()


def test_both_places_hold_the_same(home: Home) -> None:
    entry = home.store().get_or_create_session(PHONE)
    stored = json.loads(home.table()[KEY])
    assert stored == home.mirrored()[KEY] == entry.to_dict()
    again = home.store()
    again._ensure_loaded()
    assert again._entries == {KEY: entry}


def test_the_table_wins_and_the_mirror_fills_in(home: Home) -> None:
    home.sessions.mkdir()
    rows = {"a": home.entry("a", "old"), "b": home.entry("b", "only-here"), "_x": {"note": 1}}
    home.mirror.write_text(json.dumps(rows), encoding="utf-8")
    home.put("a", json.dumps(home.entry("a", "new")))
    store = home.store()
    store._ensure_loaded()
    assert {k: e.session_id for k, e in store._entries.items()} == {"a": "new", "b": "only-here"}
    store.update_session("b")
    assert home.table().keys() == {"a", "b"}
    assert home.mirrored()["a"]["session_id"] == "new"


STRANGE = [
    '{"half',
    "[1,  2]",
    '{"session_key": "k",  "session_id": "../evil"}',
    '{"session_id":  "x"}',
]


@pytest.mark.parametrize("text", STRANGE)
def test_rows_that_make_no_sense_stay_as_they_are(
    home: Home, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    home.put("strange", text)
    home.put("good", json.dumps(home.entry("good", "g")))
    store = home.store()
    store.get_or_create_session(PHONE)
    assert store._entries.keys() == {"good", KEY}
    assert "'strange'" in caplog.text
    store.forget("good")
    assert home.table().keys() == {"strange", KEY}
    assert home.table()["strange"] == text


def test_what_we_do_not_know_survives_even_when_its_entry_changes(home: Home) -> None:
    origin = {"platform": "myspace", "chat_id": "1", "mood": "blue"}
    theirs = json.dumps(home.entry("m", "s", platform="myspace", origin=origin), indent=None)
    known = {"platform": "telegram", "chat_id": "7", "future": [1]}
    text = json.dumps(home.entry("t", "u", origin=known, brand_new={"a": 1}))
    home.put("m", theirs)
    home.put("t", text)
    store = home.store()
    store.get_or_create_session(PHONE)
    assert (home.table()["m"], home.table()["t"]) == (theirs, text)
    assert store._entries["m"].is_foreign
    store.suspend_session("m")
    store.update_session("t", 5)
    m, t = (json.loads(home.table()[key]) for key in "mt")
    assert (m["platform"], m["origin"], m["suspended"]) == ("myspace", origin, True)
    assert (t["brand_new"], t["origin"]["future"], t["last_prompt_tokens"]) == ({"a": 1}, [1], 5)
    assert store.suspend_recently_active() == 2  # not the one of a platform that is not ours


def test_a_row_of_somebody_else_stays_when_we_save(home: Home) -> None:
    store = home.store()
    store.get_or_create_session(PHONE)
    home.put("theirs", '{"session_id":  "x"}')
    home.clock.advance(1)
    store.get_or_create_session(PHONE)
    store.forget(KEY)
    assert home.table() == {"theirs": '{"session_id":  "x"}'}


def test_an_unreadable_row_gives_way_only_to_news(home: Home) -> None:
    home.put(KEY, '{"half')
    home.sessions.mkdir()
    origin = PHONE.to_dict()
    home.mirror.write_text(
        json.dumps({KEY: home.entry(KEY, "known", origin=origin)}), encoding="utf-8"
    )
    store = home.store()
    store._ensure_loaded()
    assert store.peek_session_id(KEY) == "known"
    store.get_or_create_session(SessionSource(Platform.SLACK, "c"))
    assert home.table()[KEY] == '{"half'
    home.clock.advance(1)
    store.update_session(KEY)
    assert json.loads(home.table()[KEY])["session_id"] == "known"


def test_the_mirror_can_be_switched_off(home: Home) -> None:
    home.store(write_sessions_json=False).get_or_create_session(PHONE)
    assert not home.mirror.exists()
    assert home.table().keys() == {KEY}


def test_a_mirror_that_vanished_is_written_whole(home: Home) -> None:
    store = home.store()
    store.get_or_create_session(SessionSource(Platform.SLACK, "c"))
    store.get_or_create_session(PHONE)
    home.mirror.unlink()
    home.clock.advance(1)
    entry = store.get_or_create_session(PHONE)
    store.update_session(entry.session_key)
    assert len(home.mirrored()) == 3


def test_what_is_true_in_passing_waits_for_the_next_save_of_the_mirror(home: Home) -> None:
    store = home.store()
    key = store.get_or_create_session(PHONE).session_key
    before = home.mirror.read_bytes()
    home.clock.advance(1)
    store.get_or_create_session(PHONE)
    store.mark_resume_pending(key, "restart_interrupted")
    assert home.mirror.read_bytes() == before
    assert home.store().pending_chats()[0].session_key == key  # the table has it
    store.settle_turn(key, 7)
    entry = store._entries[key]
    assert (entry.resume_pending, entry.resume_reason, entry.last_prompt_tokens) == (False, None, 7)
    assert home.mirrored()[key] == entry.to_dict()


class FailingDB(SessionDB):
    """Refuses to deal with routing while told to."""

    fault: Exception | None = None

    def load_gateway_routing_entries(self, *, scope: str = "") -> dict[str, str]:
        if self.fault is not None:
            raise self.fault
        return super().load_gateway_routing_entries(scope=scope)

    def save_routing_changes(self, **changes: Any) -> int:
        if self.fault is not None:
            raise self.fault
        return super().save_routing_changes(**changes)


def test_a_table_that_cannot_be_written_is_mirrored_and_caught_up(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    db = FailingDB(home.db.db_path)
    db.fault = StateError("Full.", "", "")
    store = home.store(db, write_sessions_json=False)
    store.get_or_create_session(PHONE)
    assert "gateway_routing cannot be read" in caplog.text
    assert "gateway_routing cannot be written" in caplog.text
    assert home.mirrored().keys() == {"_README", KEY}
    assert home.table() == {}
    db.fault = None
    store.update_session(KEY)
    assert home.table().keys() == {KEY}
    db.close()


def test_a_locked_table_is_not_overruled_by_its_mirror(home: Home) -> None:
    home.store().get_or_create_session(PHONE)
    db = FailingDB(home.db.db_path)
    db.fault = BusyError("Busy.", "", "")
    store = home.store(db)
    with pytest.raises(BusyError):
        store.get_or_create_session(PHONE)
    assert store._entries == {}
    db.fault = None
    store._ensure_loaded()
    assert store._entries.keys() == {KEY}
    db.close()


def test_the_desktop_chat_leaves_no_trace(home: Home) -> None:
    store = home.store()
    desk = SessionSource(Platform.DESKTOP, "root")
    store.bind("agent:main:desktop:dm:root", "root", source=desk)
    entry = store.get_or_create_session(desk)
    assert entry.session_id == "root"
    assert home.table() == {}
    assert home.db.get_session("root") is None


def test_a_row_that_calls_itself_the_desktop_chat_is_left_alone(home: Home) -> None:
    text = json.dumps(home.entry("d", "s", platform="desktop"))
    home.put("d", text)
    store = home.store()
    store.get_or_create_session(PHONE)
    assert store._entries.keys() == {KEY}
    assert home.table()["d"] == text


def test_a_mirror_that_somebody_changed_is_read_again(home: Home) -> None:
    store = home.store()
    store.get_or_create_session(PHONE)
    members = {**home.mirrored(), "theirs": {"session_id": "x"}}
    home.mirror.write_text(json.dumps(members), encoding="utf-8")
    home.clock.advance(1)
    store.update_session(KEY)
    assert home.mirrored().keys() == {"_README", KEY, "theirs"}


def test_saving_may_happen_under_the_lock(home: Home) -> None:
    store = home.store()
    store.get_or_create_session(PHONE)
    with store._lock:
        store._entries[KEY].session_id = "moved"
        store._save()
    assert json.loads(home.table()[KEY])["session_id"] == "moved"
    before = home.mirror.stat().st_mtime_ns
    store._save()
    assert home.mirror.stat().st_mtime_ns == before
