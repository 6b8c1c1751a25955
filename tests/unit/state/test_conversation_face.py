"""Parts of conversations, copies of them, and special lists."""

import contextlib
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.state import MissingSessionError, SessionDB, TitleError
from hermes_desktop.state.conversations.branching import Branch
from tests.fakes.clock import MovableClock


def say(db: SessionDB, name: str, *texts: Any) -> list[int]:
    """Append texts in turn as user and assistant."""
    return [
        db.append_message(name, ("user", "assistant")[number % 2], text)
        for number, text in enumerate(texts)
    ]


def told(messages: list[dict[str, Any]]) -> list[Any]:
    return [message["content"] for message in messages]


# ----------------------------------------------------------------- what is told and shown


def test_a_look_back_that_nobody_asked_for_is_left_out(db: SessionDB) -> None:
    db.create_session("a", "cli")
    memory = "Review the conversation above and consider saving to memory if you like."
    skills = "Review the conversation above and update the skill library. Now."
    say(db, "a", "question", "answer", memory, "Nothing to save.", "next", "answer", skills)
    db.append_message("a", "user", "kept")
    say(db, "a", "Review the conversation above and tell me", "gladly")
    assert told(db.get_messages_as_conversation("a")) == [
        "question",
        "answer",
        "next",
        "answer",
        "kept",
        "Review the conversation above and tell me",
        "gladly",
    ]


def test_resuming(db: SessionDB) -> None:
    db.create_session("a", "cli")
    say(db, "a", "one", "two", "three")
    db.end_session("a", "compression")
    db.create_session("b", "cli", parent_session_id="a")
    say(db, "b", "three", "four", "five")
    db.append_message("b", "user", "six")
    db.append_message("b", "tool", "stray")
    model = db.get_messages_as_conversation("b", repair_alternation=True)
    shown = db.get_messages_as_conversation("b", include_ancestors=True)
    assert told(model) == ["three", "four", "five\n\nsix"]
    assert told(shown) == ["one", "two", "three", "four", "five", "six", "stray"]


# ------------------------------------------------------------------------------- windows


def test_the_last_questions(db: SessionDB) -> None:
    db.create_session("a", "cli")
    ids = say(db, "a", "first\n line " + "x" * 100, "answer", [{"type": "text", "text": "shown"}])
    db.rewind_to_message("a", say(db, "a", "taken back")[0])
    found = db.list_recent_user_messages("a")
    assert [row["id"] for row in found] == [ids[2], ids[0]]
    assert found[0]["preview"] == "shown"
    assert found[1]["preview"] == "first line " + "x" * 66 + "..."
    assert len(db.list_recent_user_messages("a", include_inactive=True)) == 3
    assert len(db.list_recent_user_messages("a", limit=1)) == 1


def test_what_was_really_sent(db: SessionDB) -> None:
    db.create_session("a", "cli")
    say(db, "a", "one", "answer", "two", "answer")
    assert [
        db.set_latest_user_api_content("a", "one", "ONE"),
        db.set_latest_user_api_content("a", "two", "TWO \ud800"),
        db.set_latest_user_api_content("nobody", "two", "x"),
    ] == [0, 1, 0]
    sent = [m.get("api_content") for m in db.get_messages_as_conversation("a")]
    assert sent == [None, None, "TWO �", None]


# --------------------------------------------------------------------------------- lists


def test_runs_of_a_job(path: Path) -> None:
    clock = MovableClock()
    with contextlib.closing(SessionDB(path, clock=clock)) as db:
        for name in ("cron_ab_1", "cron_ab_2", "cron_abc_3", "cron_AB_4", "cron_ab"):
            clock.advance(1)
            db.create_session(name, "cron")
        db.create_session("cron_ab_9", "cli")  # a person's, which only looks like one
        assert [row["id"] for row in db.list_cron_job_runs("ab")] == ["cron_ab_2", "cron_ab_1"]
        assert [row["id"] for row in db.list_cron_job_runs("ab", 1, 1)] == ["cron_ab_1"]
        assert {"preview", "last_active"} <= db.list_cron_job_runs("ab")[0].keys()


# ---------------------------------------------------------------------------- branches


@pytest.fixture
def origin(db: SessionDB) -> list[int]:
    """A conversation with everything that is copied, and what is not."""
    db.create_session(
        "o",
        "telegram",
        model="m",
        model_config={"k": 1, "_delegate_from": "x"},
        cwd="/w",
        system_prompt="p",
        session_key="key",
        chat_id="1",
    )
    db.update_session_cwd("o", "/w", "main", "/w")
    ids = say(db, "o", [{"type": "text", "text": "one"}], "two", "three", "four")
    calls = [{"id": "1"}, {"id": "2"}]
    ids.append(db.append_message("o", "assistant", "", tool_calls=calls, reasoning="r"))
    ids.append(db.append_message("o", "tool", "out", tool_call_id="1", tool_name="t"))
    db.append_message("o", "session_meta")
    db.rewind_to_message("o", db.append_message("o", "user", "taken back"))
    db.set_session_title("o", "Trip")
    return ids


def test_a_branch_is_a_copy_with_a_mark(db: SessionDB, origin: list[int]) -> None:
    before = db.get_session("o")
    assert db.create_branch(Branch("o", "b", source="desktop")) == 6
    assert db.get_session("o") == before
    row = db.get_session("b") or {}
    assert row["model_config"] == '{"k": 1, "_branched_from": "o"}'
    wanted = {"source": "desktop", "title": "Trip #2", "parent_session_id": "o", "model": "m"}
    wanted |= {"cwd": "/w", "git_branch": "main", "git_repo_root": "/w", "system_prompt": "p"}
    wanted |= {"message_count": 6, "tool_call_count": 2, "chat_id": None, "session_key": None}
    assert {name: row[name] for name in wanted} == wanted
    copied = db.get_messages("b")
    for ours, theirs in zip(copied, db.get_messages("o"), strict=False):
        for name in ("role", "content", "tool_calls", "tool_call_id", "tool_name", "reasoning"):
            assert ours[name] == theirs[name]
    assert min(message["id"] for message in copied) > origin[-1]
    assert [line.id for line in db.list_summaries()] == ["b"]
    times = [message["timestamp"] for message in copied]
    assert times == sorted(set(times))


def test_a_branch_from_the_middle(db: SessionDB, origin: list[int]) -> None:
    assert db.create_branch(Branch("o", "b", until_message_id=origin[1], title=" Other  way ")) == 2
    assert db.get_session_title("b") == "Other way"
    assert (db.get_session("b") or {})["source"] == "telegram"
    assert db.create_branch(Branch("o", "c", title="Other way", end_origin=True)) == 6
    assert db.get_session_title("c") == "Other way #2"
    assert (db.get_session("o") or {})["end_reason"] == "branched"


def test_a_branch_that_cannot_be_made(db: SessionDB, origin: list[int]) -> None:
    for branch, error in (
        (Branch("nobody", "b"), MissingSessionError),
        (Branch("o", "o"), RefusedError),
        (Branch("o", "b", title="x" * 101), TitleError),
    ):
        with pytest.raises(error):
            db.create_branch(branch)
    assert db.session_count() == 1


def test_a_long_title_is_shortened_for_its_number(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.set_session_title("a", "x" * 100)
    for number in (1, 2, 3):
        db.create_branch(Branch("a", f"b{number}"))
    titles = [db.get_session_title(f"b{number}") for number in (1, 2, 3)]
    assert titles == ["x" * 97, "x" * 97 + " #2", "x" * 97 + " #3"]
