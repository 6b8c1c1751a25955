"""A conversation that began anew by itself is explained, once, with a way back."""

from datetime import datetime
from typing import Any

import pytest

from hermes_desktop.gateway.config.gateway_config import Platform, SessionResetPolicy
from hermes_desktop.gateway.session import SessionEntry
from hermes_desktop.gateway.sessions.session_notes import take_reset_note

MORNING = datetime.fromisoformat("2026-03-01T09:00")


def entry(reason: str | None, **more: Any) -> SessionEntry:
    values: dict[str, Any] = {
        "platform": Platform.TELEGRAM,
        "was_auto_reset": reason is not None,
        "auto_reset_reason": reason,
        "reset_had_activity": True,
        "previous_session_id": "before",
    }
    return SessionEntry("k", "now", MORNING, MORNING, **values | more)


@pytest.mark.parametrize(
    ("reason", "policy", "words"),
    [
        ("idle", SessionResetPolicy(idle_minutes=1440), "there were no messages for a day"),
        ("idle", SessionResetPolicy(idle_minutes=2880), "for 2 days"),
        ("idle", SessionResetPolicy(idle_minutes=60), "for 1 hour"),
        ("idle", SessionResetPolicy(idle_minutes=90), "for 90 minutes"),
        ("daily", SessionResetPolicy(at_hour=4), "every day at 04:00"),
        ("suspended", SessionResetPolicy(), "was stopped"),
        ("resume_pending_expired", SessionResetPolicy(), "a restart interrupted"),
    ],
)
def test_the_reason_is_given_in_words(reason: str, policy: SessionResetPolicy, words: str) -> None:
    chat = entry(reason)
    note = take_reset_note(chat, policy)
    assert (note.reason, note.previous_session_id) == (reason, "before")
    for text in (note.explanation, note.for_model, note.for_person):
        assert words in text
    assert "\nTo continue the previous session, send: /resume before" in note.for_person
    assert ("session_reset" in note.for_person) is (reason in {"idle", "daily"})
    assert take_reset_note(chat, policy) is None
    assert chat.auto_reset_reason is None


@pytest.mark.parametrize(
    ("reason", "policy", "more", "told"),
    [
        ("idle", SessionResetPolicy(notify=False), {}, False),
        ("idle", SessionResetPolicy(), {"reset_had_activity": False}, False),
        ("daily", SessionResetPolicy(), {"platform": Platform.WEBHOOK}, False),
        ("daily", SessionResetPolicy(), {"platform": None}, True),
        ("suspended", SessionResetPolicy(notify=False), {"reset_had_activity": False}, True),
    ],
)
def test_who_is_told(
    reason: str, policy: SessionResetPolicy, more: dict[str, Any], told: bool
) -> None:
    note = take_reset_note(entry(reason, **more), policy)
    assert (note.for_person is not None) is told
    assert note.for_model


def test_without_a_conversation_to_go_back_to_the_list_is_named() -> None:
    note = take_reset_note(entry("idle", previous_session_id=None), SessionResetPolicy())
    assert "send: /resume --all" in note.for_person


def test_nothing_happened() -> None:
    assert take_reset_note(entry(None), SessionResetPolicy()) is None
