"""How many conversations all programs of a home answer at once."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hermes_desktop.gateway.identity.active_sessions import ActiveSessions


def entries(home: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(
        (home / "runtime" / "active_sessions.json").read_text()
    )["entries"]
    return found


def test_places_are_taken_and_given_back(tmp_path: Path) -> None:
    places = ActiveSessions(tmp_path)
    first = places.take("s1", 2)
    second = places.take("s2", 2)
    assert first
    assert second
    assert places.take("s3", 2) is None
    (one, _) = entries(tmp_path)
    assert (one["session_id"], one["surface"], one["pid"]) == ("s1", "gateway", os.getpid())
    assert set(one) == {
        "lease_id",
        "pid",
        "process_start_time",
        "session_id",
        "started_at",
        "surface",
        "updated_at",
    }
    places.give_back(first)
    places.give_back("")
    assert [each["session_id"] for each in entries(tmp_path)] == ["s2"]
    assert places.take("s3", 2)


def test_a_place_follows_its_conversation(tmp_path: Path) -> None:
    places = ActiveSessions(tmp_path, surface="tui")
    first, second = places.take("s1", 2), places.take("s2", 2)
    assert first
    assert second

    places.move(first, "s1-next")
    places.move("", "nobody")

    found = {each["lease_id"]: (each["session_id"], each["surface"]) for each in entries(tmp_path)}
    assert found == {first: ("s1-next", "tui"), second: ("s2", "tui")}


def test_places_of_programs_that_are_gone_count_no_more(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from hermes_desktop.gateway.identity.active_sessions import ActiveSessions\n"
        "assert ActiveSessions(Path(sys.argv[1])).take('s', 9)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert len(entries(tmp_path)) == 1
    places = ActiveSessions(tmp_path)
    assert places.take("mine", 1)
    data = entries(tmp_path)
    assert [each["session_id"] for each in data] == ["mine"]
    data[0]["process_start_time"] = 1.0
    (tmp_path / "runtime" / "active_sessions.json").write_text(json.dumps({"entries": data}))
    assert places.take("another", 1)


def test_strange_content_limits_nothing(tmp_path: Path) -> None:
    places = ActiveSessions(tmp_path)
    (tmp_path / "runtime").mkdir()
    for text in ("", "[]", '{"entries": 3}', '{"entries": [1, {}, {"pid": "x"}]}'):
        (tmp_path / "runtime" / "active_sessions.json").write_text(text)
        lease = places.take("s", 1)
        assert lease
        places.give_back(lease)


def test_a_home_that_cannot_be_written_limits_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    places = ActiveSessions(tmp_path / "gone")
    assert places.take("s", 1) == ""
    assert "limits nothing" in caplog.text


def test_many_at_once_never_exceed_the_limit(tmp_path: Path) -> None:
    got: list[str | None] = []

    def take(number: int) -> None:
        got.append(ActiveSessions(tmp_path).take(f"s{number}", 3))

    threads = [threading.Thread(target=take, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(each is not None for each in got) == 3
