"""When a chat begins a new conversation, when it takes an old one up again, and how both end."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.errors import BusyError
from hermes_desktop.gateway.config.gateway_config import (
    GatewayConfig,
    Platform,
    RunningSettings,
    SessionResetPolicy,
)
from hermes_desktop.gateway.session import SessionSource, SessionStore
from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock

PHONE = SessionSource(Platform.TELEGRAM, "5", user_id="u", chat_name="Ann")
KEY = "agent:main:telegram:dm:5"
IDLE = SessionResetPolicy(mode="idle", idle_minutes=10)

Make = Callable[..., SessionStore]


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def db(tmp_path: Path, clock: MovableClock) -> Iterator[SessionDB]:
    db = SessionDB(tmp_path / "state.db", clock=clock)
    yield db
    db.close()


@pytest.fixture
def make(tmp_path: Path, db: SessionDB, clock: MovableClock) -> Make:
    """Makes stores of the same home, as a gateway does after each start."""

    def make(
        policy: SessionResetPolicy | None = None,
        *,
        busy: Callable[[str], bool] | None = None,
        fresh_s: float = 3600,
    ) -> SessionStore:
        config = GatewayConfig(
            default_reset_policy=policy or SessionResetPolicy(),
            running=RunningSettings(resume_fresh_s=fresh_s),
        )
        return SessionStore(tmp_path / "sessions", config, busy, db=db, clock=clock)

    return make


def said(db: SessionDB, session_id: str, text: str = "hello") -> None:
    db.append_message(session_id, "user", text)


def lose_routing(db: SessionDB, tmp_path: Path) -> None:
    (tmp_path / "sessions" / "sessions.json").unlink()
    db.save_routing_changes(scope=str(tmp_path / "sessions"), changed={}, removed=[KEY])


def test_a_new_conversation_has_a_row_that_names_its_chat(make: Make, db: SessionDB) -> None:
    entry = make().get_or_create_session(PHONE)
    row = db.get_session(entry.session_id)
    assert {name: row[name] for name in ("source", "session_key", "chat_id", "chat_type")} == {
        "source": "telegram",
        "session_key": KEY,
        "chat_id": "5",
        "chat_type": "dm",
    }
    assert (row["user_id"], row["display_name"]) == ("u", "Ann")
    assert '"chat_id": "5"' in row["origin_json"]


def test_a_suspended_chat_begins_anew_whatever_its_policy(make: Make, db: SessionDB) -> None:
    store = make(busy=lambda _key: True)
    old = store.get_or_create_session(PHONE)
    assert store.suspend_session(KEY)
    assert not store.suspend_session("nobody")
    fresh = store.get_or_create_session(PHONE)
    assert (fresh.auto_reset_reason, fresh.previous_session_id) == ("suspended", old.session_id)
    assert db.get_session(old.session_id)["end_reason"] == "suspended"
    assert not fresh.suspended
    note = store.take_reset_note(KEY)
    assert (note.reason, note.previous_session_id) == ("suspended", old.session_id)
    assert note.for_person
    assert store.take_reset_note(KEY) is None
    back = store.switch_session(KEY, note.previous_session_id)  # the one way back
    assert back.session_id == old.session_id
    assert db.get_session(old.session_id)["end_reason"] is None
    stored = make()
    stored._ensure_loaded()
    assert stored._entries == {KEY: back}


@pytest.mark.parametrize(
    ("mode", "fresh_s", "seconds", "reason"),
    [
        ("idle", 3600, 3599, None),
        ("idle", 3600, 3601, "resume_pending_expired"),
        ("idle", 0, 3601, None),
        ("none", 3600, 99_999, None),
    ],
)
def test_a_cut_off_reply_is_taken_up_for_an_hour(
    make: Make, clock: MovableClock, mode: str, fresh_s: float, seconds: int, reason: str | None
) -> None:
    store = make(SessionResetPolicy(mode=mode, idle_minutes=10_000), fresh_s=fresh_s)
    old = store.get_or_create_session(PHONE)
    assert store.mark_resume_pending(KEY, "shutdown_timeout")
    clock.advance(seconds)
    now = store.get_or_create_session(PHONE)
    assert now.auto_reset_reason == reason
    assert (now is old) is (reason is None)


def test_marks_of_a_cut_off_reply(make: Make) -> None:
    store = make()
    entry = store.get_or_create_session(PHONE)
    assert not store.clear_resume_pending(KEY)
    assert store.mark_resume_pending(KEY)
    assert (entry.resume_reason, entry.last_resume_marked_at) == (
        "restart_timeout",
        entry.updated_at,
    )
    assert store.clear_resume_pending(KEY)
    assert (entry.resume_pending, entry.resume_reason) == (False, None)
    store.suspend_session(KEY)
    assert not store.mark_resume_pending(KEY)


def test_after_a_crash_only_chats_that_were_in_use_are_taken_up(
    make: Make, clock: MovableClock
) -> None:
    store = make()
    for chat, pause in (("old", 121), ("suspended", 0), ("pending", 0), ("new", 0)):
        store.get_or_create_session(SessionSource(Platform.TELEGRAM, chat))
        clock.advance(pause)
    store.suspend_session("agent:main:telegram:dm:suspended")
    store.mark_resume_pending("agent:main:telegram:dm:pending", "kept")
    assert store.suspend_recently_active() == 1
    reasons = {entry.origin.chat_id: entry.resume_reason for entry in store._entries.values()}
    assert reasons == {
        "old": None,
        "suspended": None,
        "pending": "kept",
        "new": "restart_interrupted",
    }
    again = make()
    again._ensure_loaded()
    assert again._entries == store._entries


def test_a_chat_without_an_entry_goes_on_where_it_was(
    make: Make, db: SessionDB, clock: MovableClock, tmp_path: Path
) -> None:
    old = make().get_or_create_session(PHONE)
    clock.advance(5)
    said(db, old.session_id)
    last_words = clock.now()
    db.end_session(old.session_id, "agent_close")
    lose_routing(db, tmp_path)
    clock.advance(3600)
    found = make().get_or_create_session(PHONE)
    assert found.session_id == old.session_id
    assert (found.created_at, found.updated_at) == (old.created_at, last_words)
    assert not found.was_auto_reset
    assert db.get_session(old.session_id)["ended_at"] is None


def test_what_state_db_knows_expires_like_everything_else(
    make: Make, db: SessionDB, clock: MovableClock, tmp_path: Path
) -> None:
    old = make().get_or_create_session(PHONE)
    said(db, old.session_id)
    lose_routing(db, tmp_path)
    clock.advance(601)
    fresh = make(IDLE).get_or_create_session(PHONE)
    assert fresh.session_id != old.session_id
    assert (fresh.auto_reset_reason, fresh.reset_had_activity) == ("idle", True)
    assert fresh.previous_session_id == old.session_id
    assert db.get_session(old.session_id)["end_reason"] == "idle"
    # Background work of the chat keeps it alive.
    lose_routing(db, tmp_path)
    said(db, fresh.session_id)
    clock.advance(601)
    kept = make(IDLE, busy=lambda key: key == KEY).get_or_create_session(PHONE)
    assert kept.session_id == fresh.session_id


def test_a_reset_is_not_undone_by_what_lies_before_it(
    make: Make, db: SessionDB, clock: MovableClock
) -> None:
    store = make()
    forgotten = store.get_or_create_session(PHONE)
    said(db, forgotten.session_id)
    clock.advance(10)
    db.create_session("later", source="telegram", session_key=KEY, chat_id="5", chat_type="dm")
    said(db, "later")
    store.bind(KEY, "later")
    db.end_session("later", "session_reset")
    fresh = store.get_or_create_session(PHONE)
    assert fresh.session_id not in {"later", forgotten.session_id}
    assert not fresh.was_auto_reset


def test_an_end_that_nobody_chose_is_taken_back(make: Make, db: SessionDB) -> None:
    store = make()
    old = store.get_or_create_session(PHONE)
    said(db, old.session_id)
    db.end_session(old.session_id, "ws_orphan_reap")
    assert store.get_or_create_session(PHONE).session_id == old.session_id
    assert db.get_session(old.session_id)["end_reason"] is None


def test_an_expired_chat_whose_row_was_ended_still_says_that_it_expired(
    make: Make, db: SessionDB, clock: MovableClock
) -> None:
    store = make(IDLE)
    old = store.get_or_create_session(PHONE)
    store.update_session(KEY, last_prompt_tokens=9)
    store.set_model_override(KEY, {"model": "m", "api_key": "secret"})
    assert store.get_model_override(KEY) == {"model": "m"}
    clock.advance(601)
    store.set_expiry_finalized(old)
    assert old.expiry_finalized
    assert store.get_model_override(KEY) is None
    row = db.get_session(old.session_id)
    assert (row["expiry_finalized"], row["end_reason"]) == (1, "session_reset")
    again = make(IDLE)  # a restart in between does not make the person wonder
    fresh = again.get_or_create_session(PHONE)
    assert (fresh.auto_reset_reason, fresh.reset_had_activity) == ("idle", True)
    assert fresh.previous_session_id == old.session_id
    assert not fresh.expiry_finalized


def test_a_stored_entry_of_an_ended_conversation_is_moved_or_dropped(
    make: Make, db: SessionDB, clock: MovableClock
) -> None:
    store = make()
    chats = {name: SessionSource(Platform.TELEGRAM, name) for name in ("gone", "moved", "open")}
    ids = {name: store.get_or_create_session(chat).session_id for name, chat in chats.items()}
    clock.advance(5)
    for name in ("gone", "moved"):
        db.end_session(ids[name], "session_reset")
    moved = "agent:main:telegram:dm:moved"
    db.create_session("next", source="telegram", session_key=moved)
    said(db, "next")
    again = make()
    again._ensure_loaded()
    assert {e.origin.chat_id: e.session_id for e in again._entries.values()} == {
        "moved": "next",
        "open": ids["open"],
    }
    assert "agent:main:telegram:dm:gone" not in db.load_gateway_routing_entries(
        scope=str(again.sessions_dir)
    )


def test_a_new_conversation_at_somebodys_wish(make: Make, db: SessionDB) -> None:
    store = make()
    assert store.reset_session(KEY) is None
    old = store.get_or_create_session(PHONE)
    db.end_session(old.session_id, "agent_close")
    fresh = store.reset_session(KEY)
    assert fresh is store._entries[KEY]
    assert (fresh.is_fresh_reset, fresh.was_auto_reset) == (True, False)
    assert (fresh.origin, fresh.display_name, fresh.previous_session_id) == (
        PHONE,
        "Ann",
        old.session_id,
    )
    assert db.get_session(old.session_id)["end_reason"] == "session_reset"
    assert db.get_session(fresh.session_id)["session_key"] == KEY
    assert store.take_fresh_reset(KEY)
    assert not store.take_fresh_reset(KEY)
    assert store.reset_session(KEY, "Anna").display_name == "Anna"
    forced = store.get_or_create_session(PHONE, force_new=True)
    assert forced.session_id != fresh.session_id
    assert not forced.was_auto_reset


def test_moving_a_chat_to_another_conversation(make: Make, db: SessionDB) -> None:
    store = make()
    assert store.switch_session(KEY, "other") is None
    old = store.get_or_create_session(PHONE)
    db.create_session("other", source="cli")
    db.end_session("other", "compression")
    db.create_session("tip", source="cli", parent_session_id="other")
    db.end_session("tip", "cli_close")
    entry = store.switch_session(KEY, "other")
    assert entry.session_id == "tip"
    assert store.switch_session(KEY, "tip") is entry
    assert db.get_session(old.session_id)["end_reason"] == "session_switch"
    tip = db.get_session("tip")
    assert (tip["end_reason"], tip["source"], tip["session_key"]) == (None, "cli", None)
    back = store.switch_session(KEY, old.session_id)
    assert back.previous_session_id == "tip"
    assert db.get_session(old.session_id)["end_reason"] is None


def test_callers_of_one_chat_share_one_conversation(make: Make) -> None:
    store = make()
    together = threading.Barrier(8)
    found: list[str] = []

    def ask() -> None:
        together.wait()
        found.append(store.get_or_create_session(PHONE).session_id)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_store_that_cannot_be_asked_changes_nothing(
    tmp_path: Path, db: SessionDB, clock: MovableClock
) -> None:
    class BusyStore(SessionDB):
        busy = False

        def get_compression_tip(self, session_id: str) -> str:
            if self.busy:
                raise BusyError("Busy.", "", "")
            return super().get_compression_tip(session_id)

    busy_db = BusyStore(db.db_path)
    store = SessionStore(tmp_path / "sessions", GatewayConfig(), db=busy_db, clock=clock)
    entry = store.get_or_create_session(PHONE)
    before = entry.updated_at
    busy_db.busy = True
    clock.advance(5)
    with pytest.raises(BusyError):
        store.get_or_create_session(PHONE)
    assert store._entries == {KEY: entry}
    assert entry.updated_at == before
    busy_db.close()


def test_looking_entries_up(make: Make, clock: MovableClock) -> None:
    store = make()
    first = store.get_or_create_session(PHONE)
    clock.advance(120)
    second = store.get_or_create_session(SessionSource(Platform.SLACK, "c"))
    assert store.list_sessions() == [second, first]
    assert store.list_sessions(active_minutes=1) == [second]


def test_keys_name_a_profile_only_where_profiles_share_a_gateway(tmp_path: Path) -> None:
    def key(source: SessionSource, *, shared: bool) -> str:
        config = GatewayConfig(multiplex_profiles=shared)
        return SessionStore(tmp_path, config, namespace="work")._generate_session_key(source)

    other = SessionSource(Platform.TELEGRAM, "5", profile="other")
    assert key(other, shared=False) == KEY
    assert key(other, shared=True) == "agent:other:telegram:dm:5"
    assert key(PHONE, shared=True) == "agent:work:telegram:dm:5"
    desk = SessionSource(Platform.DESKTOP, "root")
    assert key(desk, shared=False) == "agent:work:desktop:dm:root"


class MovingDB(SessionDB):
    """Lets something happen in the middle of a look-up; fails at marks while told to."""

    meanwhile: Callable[[], object] | None = None
    failing = False

    def get_compression_tip(self, session_id: str) -> str:
        if self.meanwhile is not None:
            call, self.meanwhile = self.meanwhile, None
            call()
        return super().get_compression_tip(session_id)

    def promote_to_session_reset(self, session_id: str, reason: str = "session_reset") -> bool:
        if self.failing:
            raise BusyError("Busy.", "", "")
        return super().promote_to_session_reset(session_id, reason)

    def get_session(self, session_id: str) -> dict | None:
        if self.failing:
            raise BusyError("Busy.", "", "")
        return super().get_session(session_id)


@pytest.fixture
def moving(tmp_path: Path, db: SessionDB, clock: MovableClock) -> Iterator[MovingDB]:
    moving = MovingDB(db.db_path, clock=clock)
    yield moving
    moving.close()


def test_a_chat_that_is_moved_during_the_look_up_is_looked_up_again(
    tmp_path: Path, moving: MovingDB, clock: MovableClock
) -> None:
    store = SessionStore(tmp_path / "sessions", GatewayConfig(), db=moving, clock=clock)
    store.get_or_create_session(PHONE)
    moving.create_session("elsewhere", source="telegram")
    moving.meanwhile = lambda: store.bind(KEY, "elsewhere")
    assert store.get_or_create_session(PHONE).session_id == "elsewhere"


def test_a_mark_that_cannot_be_set_does_not_stop_the_chat(
    tmp_path: Path, moving: MovingDB, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    store = SessionStore(tmp_path / "sessions", GatewayConfig(), db=moving, clock=clock)
    old = store.get_or_create_session(PHONE)
    moving.failing = True
    fresh = store.reset_session(KEY)
    assert fresh.session_id != old.session_id
    assert "Ending a session failed" in caplog.text
    # What cannot be asked about at the start stays as it is.
    again = SessionStore(tmp_path / "sessions", GatewayConfig(), db=moving, clock=clock)
    again._ensure_loaded()
    assert again._entries == {KEY: fresh}
    assert "continues is unknown" in caplog.text


def test_stored_chats_at_the_next_start(make: Make, db: SessionDB) -> None:
    """One nobody meant to end goes on; one without an origin cannot be found again."""
    store = make()
    kept = store.get_or_create_session(PHONE)
    said(db, kept.session_id)
    db.end_session(kept.session_id, "agent_close")
    db.create_session("nameless", source="telegram")
    store.bind("nameless", "nameless")
    db.end_session("nameless", "session_reset")
    again = make()
    again._ensure_loaded()
    assert again._entries == {KEY: kept}
