"""What was said, by way of the session store: a failed write waits, taking back hides."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.errors import BusyError, StateUnavailableError
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.session import SessionSource, SessionStore
from hermes_desktop.gateway.sessions import session_transcripts
from hermes_desktop.state import SessionDB


class FailingDB(SessionDB):
    """Fails so many appends with a given error."""

    failures = 0
    rebuilt = 0
    error: Exception = BusyError("Busy.", "", "")

    def append_message(self, *args: Any, **fields: Any) -> int:
        if self.failures:
            self.failures -= 1
            raise self.error
        return super().append_message(*args, **fields)

    def replace_messages(self, *args: Any, **fields: Any) -> None:
        if self.failures:
            raise self.error
        super().replace_messages(*args, **fields)

    def rebuild_fts(self) -> int:
        self.rebuilt += 1
        return super().rebuild_fts()


@pytest.fixture
def db(tmp_path: Path) -> Iterator[FailingDB]:
    db = FailingDB(tmp_path / "state.db")
    db.create_session("s", source="telegram")
    yield db
    db.close()


@pytest.fixture
def store(tmp_path: Path, db: FailingDB) -> SessionStore:
    return SessionStore(tmp_path / "sessions", GatewayConfig(), db=db)


def say(text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **more}


def texts(store: SessionStore) -> list[Any]:
    return [message["content"] for message in store.load_transcript("s")]


def test_what_was_said_is_stored_once(store: SessionStore) -> None:
    store.append_to_transcript("s", say("a", platform_message_id="m1", unknown=1))
    store.append_to_transcript("s", say("stored by the agent", "assistant"), skip_db=True)
    assert texts(store) == ["a"]
    assert store.has_platform_message_id("s", "m1")
    assert not store.has_platform_message_id("s", "m2")


def test_a_failed_write_is_made_up_for_in_order(store: SessionStore, db: FailingDB) -> None:
    db.failures = 2
    store.append_to_transcript("s", say("a"))
    store.append_to_transcript("s", say("b", "assistant"))
    assert db.message_count("s") == 0
    db.failures = 1
    assert texts(store) == ["a", "b"]  # still only in memory
    assert db.message_count("s") == 0
    store.append_to_transcript("s", say("c"))
    assert [m["content"] for m in db.get_messages("s")] == ["a", "b", "c"]
    assert store._unsaved == {}


def test_only_so_many_messages_wait(
    store: SessionStore, db: FailingDB, caplog: pytest.LogCaptureFixture
) -> None:
    db.failures = 1000
    for number in range(session_transcripts.MAX_UNSAVED + 1):
        store.append_to_transcript("s", say(str(number)))
    assert len(store._unsaved["s"]) == session_transcripts.MAX_UNSAVED
    assert "is lost" in caplog.text
    assert store._unsaved["s"][0]["content"] == "1"


def test_a_broken_index_is_built_anew_once(store: SessionStore, db: FailingDB) -> None:
    db.error = StateUnavailableError("The search index is damaged.", "", "")
    db.failures = 1
    store.append_to_transcript("s", say("a"))
    assert (db.rebuilt, texts(store)) == (1, ["a"])
    db.failures = 1
    store.append_to_transcript("s", say("b", "assistant"))
    assert db.rebuilt == 1
    assert texts(store) == ["a", "b"]


def test_a_conversation_deleted_while_in_use_keeps_what_is_said(
    store: SessionStore, db: FailingDB
) -> None:
    entry = store.get_or_create_session(SessionSource(Platform.SLACK, "c"))
    db.delete_sessions([entry.session_id])
    store.append_to_transcript(entry.session_id, say("a"))
    store.append_to_transcript("nobodys", say("b"))
    assert db.get_session(entry.session_id)["source"] == "slack"
    assert db.get_session("nobodys")["source"] == "unknown"


def test_rewriting_says_whether_it_worked(store: SessionStore, db: FailingDB) -> None:
    store.append_to_transcript("s", say("a"))
    db.failures = 1
    assert not store.rewrite_transcript("s", [])
    assert texts(store) == ["a"]
    db.failures = 0
    assert store.rewrite_transcript("s", [say("b"), say("c", "assistant")])
    assert texts(store) == ["b", "c"]


def test_taking_turns_back_hides_them(store: SessionStore, db: FailingDB) -> None:
    assert store.rewind_session("s") is None
    for text in ("a", "b", "c"):
        store.append_to_transcript("s", say(text))
        store.append_to_transcript("s", say(text.upper(), "assistant"))
    assert store.rewind_session("s", 2) == {
        "rewound_count": 4,
        "turns_undone": 2,
        "target_text": "b",
    }
    assert texts(store) == ["a", "A"]
    parts = [{"type": "text", "text": "x"}, {"type": "image"}, {"type": "text", "text": "y"}]
    store.append_to_transcript("s", {"role": "user", "content": parts})
    rewound = store.rewind_session("s", 9)
    assert (rewound["turns_undone"], rewound["target_text"]) == (2, "a")
    assert db.message_count("s") == 7


def test_without_a_database_nothing_is_known(tmp_path: Path) -> None:
    store = SessionStore(tmp_path, GatewayConfig())
    store.append_to_transcript("s", say("a"))
    assert store.load_transcript("s") == []
    assert not store.rewrite_transcript("s", [])
    assert store.rewind_session("s") is None
    assert not store.has_platform_message_id("s", "m")
