"""Chats that go on under another id."""

from dataclasses import replace
from pathlib import Path

from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.runner import incoming
from hermes_desktop.gateway.session import SessionSource, SessionStore
from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock

ANN = SessionSource(Platform.TELEGRAM, "-9", chat_name="Team", chat_type="group", user_id="1")
BOB = replace(ANN, user_id="2")
TOPIC = replace(ANN, thread_id="4")
ELSEWHERE = replace(ANN, chat_id="-7")
HERE = [ANN, BOB, TOPIC]


def there(source: SessionSource) -> SessionSource:
    return replace(source, chat_id="-1009")


def test_everybodys_conversation_goes_on_there(tmp_path: Path) -> None:
    clock = MovableClock()
    db = SessionDB(tmp_path / "state.db", clock=clock)
    store = SessionStore(tmp_path / "sessions", GatewayConfig(), db=db, clock=clock, persist=True)
    before = [store.get_or_create_session(each) for each in HERE]
    elsewhere = store.get_or_create_session(ELSEWHERE)
    store.set_model_override(before[0].session_key, {"model": "big"})
    assert incoming.follow_moved_chat(store, Platform.TELEGRAM, "-9", "-1009") == 3
    assert incoming.follow_moved_chat(store, Platform.TELEGRAM, "-9", "-1009") == 0

    later = SessionStore(tmp_path / "sessions", GatewayConfig(), db=db, clock=clock, persist=True)
    for source, old in zip(HERE, before, strict=True):
        entry = later.get_or_create_session(there(source))
        assert entry.session_id == old.session_id
        assert entry.display_name == "Team"
        row = db.get_session(entry.session_id)
        assert row is not None
        assert (row["chat_id"], row["session_key"]) == ("-1009", entry.session_key)
        assert later.peek_session_id(old.session_key) is None
    assert later.get_or_create_session(there(ANN)).model_override == {"model": "big"}
    assert later.get_or_create_session(ELSEWHERE).session_id == elsewhere.session_id
    db.close()


def test_what_was_begun_there_already_stays(tmp_path: Path) -> None:
    store = SessionStore(
        tmp_path / "sessions", GatewayConfig(), clock=MovableClock(), persist=False
    )
    store.get_or_create_session(ANN)
    new = store.get_or_create_session(there(ANN))
    assert incoming.follow_moved_chat(store, Platform.TELEGRAM, "-9", "-1009") == 0
    assert store.get_or_create_session(there(ANN)).session_id == new.session_id
    assert incoming.follow_moved_chat(store, Platform.MATRIX, "-1009", "-5") == 0


def test_a_person_is_told_which_id_settings_have_to_name() -> None:
    told = incoming.moved_notice(Platform.TELEGRAM, "-9", "-1009")
    assert "-1009" in told.detail
    assert told.hint == "Replace -9 by -1009 in your settings."
