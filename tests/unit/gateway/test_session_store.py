"""Chats and their conversations: found, begun anew, moved, pruned, saved by difference."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, SessionResetPolicy
from hermes_desktop.gateway.session import SessionSource, SessionStore
from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock

PHONE = SessionSource(Platform.TELEGRAM, "5", user_id="u")
KEY = "agent:main:telegram:dm:5"


def store_of(
    tmp_path: Path,
    *,
    policy: SessionResetPolicy | None = None,
    db: SessionDB | None = None,
    clock: MovableClock | None = None,
    persist: bool = False,
) -> SessionStore:
    config = GatewayConfig(default_reset_policy=policy or SessionResetPolicy())
    return SessionStore(
        tmp_path / "sessions", config, db=db, clock=clock or MovableClock(), persist=persist
    )


def test_a_chat_keeps_its_conversation(tmp_path: Path) -> None:
    clock = MovableClock()
    store = store_of(tmp_path, clock=clock)
    first = store.get_or_create_session(PHONE)
    assert first.session_key == KEY
    assert len(first.session_id.rsplit("_", 1)[1]) == 8
    clock.advance(60)
    again = store.get_or_create_session(PHONE)
    assert again is first
    assert again.updated_at == clock.now()
    assert store.peek_session_id(KEY) == first.session_id
    assert store.peek_session_id("nobody") is None


def test_memory_only_touches_no_file(tmp_path: Path) -> None:
    store = store_of(tmp_path)
    store.get_or_create_session(PHONE)
    store.bind(KEY, "other")
    store.forget(KEY)
    assert list(tmp_path.iterdir()) == []


def test_an_idle_chat_starts_afresh_and_its_row_says_why(tmp_path: Path) -> None:
    clock = MovableClock()
    db = SessionDB(tmp_path / "state.db", clock=clock)
    policy = SessionResetPolicy(mode="idle", idle_minutes=10)
    store = store_of(tmp_path, policy=policy, db=db, clock=clock, persist=True)
    old = store.get_or_create_session(PHONE)
    old.last_prompt_tokens = 5
    clock.advance(601)
    assert store._is_session_expired(old)
    fresh = store.get_or_create_session(PHONE)
    assert fresh.session_id != old.session_id
    assert (fresh.was_auto_reset, fresh.auto_reset_reason, fresh.reset_had_activity) == (
        True,
        "idle",
        True,
    )
    assert db.get_session(old.session_id)["end_reason"] == "idle"
    db.close()


def test_a_chat_with_background_work_does_not_expire(tmp_path: Path) -> None:
    clock = MovableClock()
    asked: list[str] = []

    def busy(session_key: str) -> bool:
        asked.append(session_key)
        raise OSError("cannot tell")

    config = GatewayConfig(default_reset_policy=SessionResetPolicy(mode="daily", at_hour=4))
    store = SessionStore(tmp_path, config, busy, clock=clock, persist=False)
    entry = store.get_or_create_session(PHONE)
    clock.advance(86_400)
    assert store.get_or_create_session(PHONE) is entry
    assert set(asked) == {KEY}


def test_a_conversation_that_somebody_ended_is_not_gone_on_with(tmp_path: Path) -> None:
    db = SessionDB(tmp_path / "state.db")
    store = store_of(tmp_path, db=db)
    old = store.get_or_create_session(PHONE)
    db.create_session(old.session_id, source="telegram")
    assert store.get_or_create_session(PHONE) is old
    db.end_session(old.session_id, "session_reset")
    fresh = store.get_or_create_session(PHONE)
    assert fresh.session_id != old.session_id
    assert not fresh.was_auto_reset
    db.close()


def test_an_entry_follows_its_compression_chain(tmp_path: Path) -> None:
    db = SessionDB(tmp_path / "state.db")
    store = store_of(tmp_path, db=db)
    entry = store.get_or_create_session(PHONE)
    db.create_session(entry.session_id, source="telegram")
    db.end_session(entry.session_id, "compression")
    db.create_session("tip", source="telegram", parent_session_id=entry.session_id)
    assert store.get_or_create_session(PHONE) is entry
    assert entry.session_id == "tip"
    db.close()


def test_binding_moves_a_chat_and_ends_nothing(tmp_path: Path) -> None:
    db = SessionDB(tmp_path / "state.db")
    db.create_session("a", source="cli")
    store = store_of(tmp_path, db=db)
    entry = store.bind(KEY, "a", source=PHONE)
    assert (entry.platform, entry.chat_type, entry.origin) == (Platform.TELEGRAM, "dm", PHONE)
    assert store.bind(KEY, "b") is entry
    assert store.peek_session_id(KEY) == "b"
    assert db.get_session("a")["ended_at"] is None
    db.close()


def test_pruning_spares_the_desktop_chat(tmp_path: Path) -> None:
    clock = MovableClock()
    store = store_of(tmp_path, clock=clock)
    store.get_or_create_session(PHONE)
    desk = SessionSource(Platform.DESKTOP, "root")
    kept = store.bind("agent:main:desktop:dm:root", "root", source=desk)
    clock.advance(timedelta(days=91).total_seconds())
    assert store.prune_old_entries(None) == 0
    assert store.prune_old_entries(90) == 1
    assert list(store._entries.values()) == [kept]


def test_what_is_saved_comes_back_and_strangers_stay(tmp_path: Path) -> None:
    index = tmp_path / "sessions" / "sessions.json"
    index.parent.mkdir()
    broken = '{"session_id": "../evil",   "session_key":"bad"}'
    index.write_text(f'{{"bad": {broken}, "list": [1]}}', encoding="utf-8")
    store = store_of(tmp_path, persist=True)
    entry = store.get_or_create_session(PHONE)
    assert broken in index.read_text(encoding="utf-8")

    again = store_of(tmp_path, persist=True)
    again._ensure_loaded()
    assert again._entries == {KEY: entry}

    # Another program adds a chat of its own meanwhile; ours goes.
    data = json.loads(index.read_text(encoding="utf-8"))
    data["theirs"] = {"session_id": "x"}
    index.write_text(json.dumps(data), encoding="utf-8")
    again.forget(KEY)
    assert json.loads(index.read_text(encoding="utf-8")).keys() == {
        "_README",
        "bad",
        "list",
        "theirs",
    }


def test_an_index_that_cannot_be_read_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = tmp_path / "sessions" / "sessions.json"
    index.parent.mkdir()
    index.write_text("half a fi", encoding="utf-8")
    store = store_of(tmp_path, persist=True)
    store.get_or_create_session(PHONE)
    assert index.read_text(encoding="utf-8") == "half a fi"
    assert "cannot be read" in caplog.text
    assert "cannot be written" in caplog.text
