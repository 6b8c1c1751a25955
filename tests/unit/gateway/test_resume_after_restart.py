"""What becomes of chats whose answers a restart cut off."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from hermes_desktop.gateway.delivery.resume_after_restart import (
    MAX_ATTEMPTS,
    InterruptedChat,
    ResumeDecision,
    count_attempts,
    is_fresh,
    wants_answer,
)
from hermes_desktop.gateway.sessions.session_records import SessionEntry
from hermes_desktop.state.records.records import Message

NOW = datetime(2026, 3, 1, 12)  # noqa: DTZ001 - local by format


def chat(**facts: Any) -> InterruptedChat:
    usual = {"certain": True, "attempts": 0, "open_request": True, "fresh": True}
    return InterruptedChat("k", "s", **{**usual, **facts})


@pytest.mark.parametrize(
    ("facts", "fate"),
    [
        ({}, ResumeDecision.CONTINUE),
        ({"certain": False}, ResumeDecision.CONTINUE),
        ({"attempts": MAX_ATTEMPTS - 1}, ResumeDecision.CONTINUE),
        ({"attempts": MAX_ATTEMPTS}, ResumeDecision.GIVE_UP),
        ({"fresh": False}, ResumeDecision.LEAVE),
        ({"fresh": False, "attempts": 9}, ResumeDecision.LEAVE),
        ({"open_request": False}, ResumeDecision.TELL),
        ({"open_request": False, "certain": False}, ResumeDecision.SETTLE),
        ({"open_request": False, "certain": False, "fresh": False}, ResumeDecision.SETTLE),
    ],
)
def test_fates(facts: dict[str, Any], fate: ResumeDecision) -> None:
    assert chat(**facts).fate(inbox_kept=False) is fate


def test_a_kept_inbox_brings_lost_messages_itself() -> None:
    assert chat(open_request=False).fate(inbox_kept=True) is ResumeDecision.SETTLE
    assert chat().fate(inbox_kept=True) is ResumeDecision.CONTINUE


@pytest.mark.parametrize(
    ("role", "extra", "certain", "settled", "expected"),
    [
        ("user", {}, True, False, True),
        ("user", {}, True, True, True),
        ("user", {}, False, False, True),
        ("user", {}, False, True, False),
        ("tool", {}, False, False, True),
        ("assistant", {}, True, False, False),
        ("assistant", {"tool_calls": ({"id": "1"},)}, True, False, True),
        ("assistant", {"finish_reason": "interrupted"}, True, False, True),
        ("assistant", {"finish_reason": "interrupted"}, False, False, False),
        ("session_meta", {}, True, False, False),
    ],
)
def test_open_requests(
    role: str, extra: dict[str, Any], *, certain: bool, settled: bool, expected: bool
) -> None:
    last = Message(1, "s", role, "text", 0.0, **extra)
    assert wants_answer(last, certain=certain, settled=settled) is expected
    assert not wants_answer(None, certain=certain, settled=settled)


def test_freshness() -> None:
    def entry(marked: datetime | None) -> SessionEntry:
        used = NOW - timedelta(seconds=50)
        return SessionEntry("k", "s", used, used, last_resume_marked_at=marked)

    assert is_fresh(entry(None), NOW, 60)
    assert not is_fresh(entry(None), NOW, 40)
    assert is_fresh(entry(NOW), NOW, 40)
    assert is_fresh(entry(NOW - timedelta(days=9)), NOW, 0)


def test_attempts_count_in_a_row() -> None:
    counts = {"a": 2, "b": 1, "well": 2}
    assert count_attempts(counts, {"a", "c"}, {"a", "b", "c"}) == {"a": 3, "b": 1, "c": 1}
