"""A conversation that we shortened, in the lists of the real program."""

from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.compaction import Compaction

SUMMARY = [
    {"role": "user", "content": "the first question"},
    {"role": "assistant", "content": "[CONTEXT COMPACTION — REFERENCE ONLY] so it was"},
    {"role": "user", "content": "the last question"},
    {"role": "assistant", "content": "the last answer"},
]


def shorten(db: SessionDB, session_id: str, new_id: str | None) -> None:
    holder = "pid=1:tid=1:agent=a:nonce=b"
    assert db.try_acquire_compression_lock(session_id, holder)
    rows = db.get_messages(session_id)
    wanted = Compaction(session_id, holder, SUMMARY, rows[-1]["id"], len(rows))
    if new_id is None:
        db.compact_in_place(wanted)
    else:
        db.rotate_session(wanted, new_id)
    db.release_compression_lock(session_id, holder)


@pytest.mark.slow
def test_it_is_one_row_with_its_name(hermes: Any, tmp_path: Path) -> None:
    db = SessionDB(hermes.state_db)
    for session_id in ("20260304_120000_aaaaaa", "20260304_120000_bbbbbb"):
        db.create_session(session_id, "cli", model="m", system_prompt="You help.")
        for number in range(30):
            db.append_message(session_id, ("user", "assistant")[number % 2], f"text {number}")
    db.set_session_title("20260304_120000_aaaaaa", "Rotated talk")
    db.set_session_title("20260304_120000_bbbbbb", "Compact talk")
    shorten(db, "20260304_120000_aaaaaa", "20260304_130000_cccccc")
    shorten(db, "20260304_130000_cccccc", "20260304_140000_dddddd")
    shorten(db, "20260304_120000_bbbbbb", None)
    db.close()
    listed = hermes.command("sessions", "list")
    assert listed.count("Rotated talk #3") == 1, listed
    assert listed.count("Compact talk") == 1, listed
    assert "20260304_140000_dddddd" in listed
    assert "20260304_130000_cccccc" not in listed
    assert "20260304_120000_aaaaaa" not in listed
