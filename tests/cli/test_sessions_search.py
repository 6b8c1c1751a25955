"""``sessions search`` and ``sessions stats``."""

import json

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.program import Converse, Program
from tests.fakes.state_files import dump
from tests.fakes.terminal import at_terminal


@pytest.fixture
def talks(converse: Converse) -> None:
    converse("s1", "How do I water a fern?", "Water the fern weekly.", title="Plants")
    converse("s2", "ls -la in o'brien/home", "Here: 旅行 plans", source="telegram")
    converse("s3", "Nothing of that", "Fern again \x1b[31m")


@pytest.mark.usefixtures("talks")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["fern"], ["s3", "s1", "s1"]),
        (["fern", "weekly"], ["s1"]),
        (["fern", "--once"], ["s3", "s1"]),
        (["fern", "--role", "user"], ["s1"]),
        (["fern", "--source", "telegram"], []),
        (["fern", "--limit", "1"], ["s3"]),
        (["fer", "--prefix"], ["s3", "s1", "s1"]),
        (["fer*"], ["s3", "s1", "s1"]),
        (["--", "-la"], ["s2"]),
        (["o'brien/home"], ["s2"]),
        (["旅"], ["s2"]),
        (['"water a"'], ["s1"]),
        (["absent"], []),
    ],
)
def test_hits(program: Program, words: list[str], found: list[str]) -> None:
    done = program.run("sessions", "search", *words)

    assert done.code == 0, done.err
    if found:
        assert [line.split("\t")[0] for line in done.out.splitlines()] == found
    else:
        assert done.out == "No messages found.\n"
    options = words[: words.index("--")] if "--" in words else words
    rest = words[len(options) :]
    objects = json.loads(program.run("sessions", "search", *options, "--json", *rest).out)
    assert [each["session_id"] for each in objects] == found


@pytest.mark.usefixtures("talks")
def test_archived_ones_alone_or_left_out(program: Program) -> None:
    assert program.run("sessions", "archive", "s1", "--yes").code == 0

    def found(*words: str) -> list[str]:
        hits = json.loads(program.run("sessions", "search", "fern", "--json", *words).out)
        return [each["session_id"] for each in hits]

    assert found() == ["s3", "s1", "s1"]
    assert found("--archived") == ["s1", "s1"]
    assert found("--not-archived") == ["s3"]


@pytest.mark.usefixtures("talks")
def test_fields_and_marks(program: Program) -> None:
    (line,) = program.run("sessions", "search", "weekly").out.splitlines()
    assert line.split("\t")[2:5] == ["assistant", "cli", "Plants"]

    (hit,) = json.loads(program.run("sessions", "search", "weekly", "--json").out)
    start, end = hit["marks"][0]
    assert hit["snippet"][start:end] == "weekly"


@pytest.mark.usefixtures("talks")
def test_on_a_terminal_nothing_of_strangers_is_obeyed(program: Program) -> None:
    done = at_terminal(program, "sessions", "search", "again")

    assert done.code == 0
    assert "Untitled session · cli" in done.out
    assert "\x1b" not in done.out
    assert "␛[31m" in done.out


@pytest.mark.parametrize("words", [[], [""], ["a", "--limit", "0"], ["a", "--source", " "]])
def test_nothing_to_look_for(program: Program, db: SessionDB, words: list[str]) -> None:
    assert program.run("sessions", "search", *words).code == 2


def test_no_store(program: Program) -> None:
    assert program.run("sessions", "search", "word").code == 1
    assert program.run("sessions", "stats").code == 1


@pytest.mark.usefixtures("talks")
def test_stats(program: Program, db: SessionDB) -> None:
    db.update_token_counts("s1", 1_500, 20)
    db.set_session_archived("s3", archived=True)
    # Counters of rows are what other programs say; the messages are counted.
    db._execute_write(lambda conn: conn.execute("UPDATE sessions SET message_count = 99"))
    before = dump(db.db_path)

    done = program.run("sessions", "stats")

    lines = done.out.splitlines()
    assert lines[:3] == ["Sessions: 3", "Archived: 1 of them", "Messages: 6"]
    assert lines[3] == "Tokens: 1,500 in, 20 out"
    assert lines[-2:] == ["cli\t2\t4", "telegram\t1\t2"]
    whole, *sources = json.loads(program.run("sessions", "stats", "--json").out)
    assert (whole["sessions"], whole["messages"], whole["input_tokens"]) == (3, 6, 1_500)
    assert sum(each["sessions"] for each in sources) == whole["sessions"]
    assert sum(each["messages"] for each in sources) == whole["messages"]
    assert whole["bytes"] == db.db_path.stat().st_size
    assert sources[0] == {"source": "cli", "sessions": 2, "messages": 4}
    assert dump(db.db_path) == before


def test_stats_of_nothing(program: Program, db: SessionDB) -> None:
    done = program.run("sessions", "stats")

    assert done.code == 0
    assert done.out.startswith("Sessions: 0\n")
