"""The demo's texts put into time."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.files.shipped_files import shipped_path
from hermes_desktop.services.assembly.demo_home import (
    DemoSession,
    Script,
    read_scripts,
    schedule_sessions,
)

NOW = 1_800_000_000.0


@pytest.fixture(scope="module")
def scripts() -> list[Script]:
    return read_scripts(shipped_path("demo"))


def one(messages: Sequence[Any] = (), **fields: Any) -> DemoSession:
    script = {"name": "x", "source": "cli", "minutes": 5, "messages": messages, **fields}
    (session,) = schedule_sessions([script], NOW)
    return session


def test_the_same_every_time(scripts: list[Script]) -> None:
    assert schedule_sessions(scripts, NOW) == schedule_sessions(scripts, NOW)


@pytest.mark.parametrize("now", [NOW, NOW + 43_211, NOW + 86_400 * 200.5])
def test_nothing_lies_in_the_future_and_times_go_up(scripts: list[Script], now: float) -> None:
    sessions = schedule_sessions(scripts, now)

    assert [one.started_at for one in sessions] == sorted(one.started_at for one in sessions)
    for session in sessions:
        times = [message["timestamp"] for message in session.messages]
        assert times == sorted(times)
        assert session.started_at <= min(times, default=now) <= now
        assert max(times, default=0) <= session.ended_at <= now
    assert len({session.id for session in sessions}) == len(sessions)


@pytest.mark.parametrize("now", [NOW, NOW + 43_211, NOW + 86_400 * 200.5])
def test_parents_come_before_their_children(scripts: list[Script], now: float) -> None:
    sessions = schedule_sessions(scripts, now)
    position = {session.script["name"]: number for number, session in enumerate(sessions)}

    for session in sessions:
        for relation in ("continues", "branches"):
            if relation in session.script:
                assert position[session.script[relation]] < position[session.script["name"]]


def test_local_times_of_day() -> None:
    (session,) = schedule_sessions(
        [{"name": "x", "source": "cli", "days": 3, "at": "18:40", "messages": []}], NOW
    )

    local = datetime.fromtimestamp(session.started_at).astimezone()
    assert (local.hour, local.minute) == (18, 40)
    assert 2 <= (datetime.fromtimestamp(NOW).astimezone() - local).days <= 3


def test_ids_in_the_forms_of_their_sources() -> None:
    assert one().id.rpartition("_")[2] == "2d7116"
    assert len(one(chat={"id": "1", "type": "dm"}, source="telegram").id) == 24
    assert one(source="cron", job="backup").id.startswith("cron_")
    assert one(source="api_server").id.startswith(f"api_{NOW - 300:.0f}_")


def test_calls_become_messages_of_tools() -> None:
    call = {"name": "terminal", "arguments": {"command": "ls"}, "result": {"output": "ä"}}
    asked, called, answered, closing = one(
        [
            {"you": "Look\n"},
            {"hermes": "", "reasoning": "Hm.\n", "calls": [call]},
            {"hermes": "So."},
        ]
    ).messages

    assert (asked["role"], asked["content"]) == ("user", "Look")
    assert called["tool_calls"][0]["function"] == {
        "name": "terminal",
        "arguments": '{"command": "ls"}',
    }
    assert (called["reasoning"], called["finish_reason"]) == ("Hm.", "tool_calls")
    assert answered["tool_call_id"] == called["tool_calls"][0]["id"]
    assert (answered["tool_name"], answered["content"]) == ("terminal", '{"output": "ä"}')
    assert closing["finish_reason"] == "stop"


def test_a_drill_is_expanded() -> None:
    drill = {
        "opening": "Ask me.",
        "first": "First: {word}",
        "right": "Right. {word}",
        "wrong": "No, {last} is {meaning}. {word}",
        "closing": "{last}, {wrong} of {all}",
        "cards": ["uno | one", "due | two | three", "tre | three"],
    }

    said = [message["content"] for message in one(drill=drill).messages]

    assert said == [
        "Ask me.",
        "First: uno",
        "one",
        "Right. due",
        "three",
        "No, due is two. tre",
        "three",
        "tre, 1 of 3",
    ]


def test_a_name_may_be_used_once(tmp_path: Path) -> None:
    text = "sessions:\n  - {name: x, source: cli, minutes: 1, messages: []}\n"
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "b.yaml").write_text(text)

    with pytest.raises(ValueError, match="x"):
        read_scripts(tmp_path)
