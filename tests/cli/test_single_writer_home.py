"""The command line on homes of newer Hermes: what would write is refused, what reads works."""

import json
from pathlib import Path

import pytest

from tests.fakes.newest_home import answering_socket, bytes_of, make_newest_file
from tests.fakes.program import Program, names

WRITING = (
    ("sessions", "rename", "s_cli", "New"),
    ("sessions", "delete", "s_cli", "--yes"),
    ("sessions", "delete", "s_arch", "--yes"),
    ("sessions", "delete", "s_arch", "--dry-run"),
    ("sessions", "archive", "s_cli"),
    ("sessions", "archive", "--source", "cli", "--yes"),
    ("sessions", "unarchive", "s_arch"),
    ("sessions", "prune", "--yes"),
    ("sessions", "prune", "--yes", "--for-good"),
    ("sessions", "trash", "empty", "--yes"),
    ("sessions", "trash", "restore", "1"),
    ("sessions", "import", "export.jsonl"),
    ("sessions", "import", "export.jsonl", "--dry-run"),
    ("sessions", "optimize"),
    ("sessions", "optimize", "--dry-run"),
    ("sessions", "health", "--repair", "--yes"),
    ("sessions", "restore", "latest", "--yes"),
    ("chat", "-q", "hello"),
    ("chat", "-q", "hello", "--resume", "s_cli"),
    ("chat", "-q", "hello", "--continue"),
    ("gateway", "run"),
    ("gateway", "run", "--insist"),
)
READING = (
    ("sessions", "list"),
    ("sessions", "show", "s_cli"),
    ("sessions", "search", "zebra"),
    ("sessions", "stats"),
    ("sessions", "health"),
    ("sessions", "health", "--full"),
    ("sessions", "export", "-"),
    ("sessions", "trash", "list"),
    ("sessions", "snapshot", "take"),
    ("sessions", "snapshot", "list"),
    ("insights",),
)


@pytest.fixture(params=["wal", "delete"])
def journal(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_tour_of_every_command_changes_no_byte(
    program: Program, configured: Path, journal: str
) -> None:
    file = configured / "state.db"
    make_newest_file(file, single_writer=True, journal=journal)
    row = {"id": "new", "source": "cli", "messages": [{"role": "user", "content": "x"}]}
    Path(program.home.parent / "export.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    before = bytes_of(file)

    for arguments in READING:
        done = program.run(*arguments)
        assert done.code == 0, (arguments, done.err)
        assert bytes_of(file) == before, arguments
    for arguments in WRITING:
        done = program.run(*arguments)
        assert done.code in {1, 5}, (arguments, done.out, done.err)
        assert "belongs to Hermes' gateway" in done.err, (arguments, done.err)
        assert "Traceback" not in done.err
        assert bytes_of(file) == before, arguments
    for name in ("gateway.lock", "gateway.pid", "gateway_state.json"):
        assert not (configured / name).exists()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_without_the_marks_each_command_does_its_work(
    program: Program, home: Path, journal: str
) -> None:
    make_newest_file(home / "state.db", single_writer=False, journal=journal)

    for arguments in READING:
        assert program.run(*arguments).code == 0, arguments
    for arguments in (
        ("sessions", "rename", "s_cli", "Another", "title"),
        ("sessions", "archive", "s_cli"),
        ("sessions", "unarchive", "s_cli"),
        ("sessions", "delete", "s_unread", "--yes"),
        ("sessions", "trash", "restore", "s_unread"),
        ("sessions", "prune", "--yes"),
    ):
        done = program.run(*arguments)
        assert done.code == 0, (arguments, done.err)
    listed = names(program.run("sessions", "list").out.splitlines())
    assert {"s_cli", "s_unread", "s_tip"} <= set(listed)
    assert "Search index: complete" in program.run("sessions", "health", "--full").out


def test_the_command_that_continues_is_given(program: Program, configured: Path) -> None:
    make_newest_file(configured / "state.db", single_writer=True)

    assert program.run("chat", "-q", "x").err.rstrip().endswith("Continue in `hermes`: hermes")
    resumed = program.run("chat", "-q", "x", "--resume", "Long")
    assert resumed.err.rstrip().endswith("hermes --resume s_tip")
    assert program.run("chat", "-q", "x", "--resume", "nothing").code == 3


def test_the_status_says_whose_gateway_it_is(program: Program, home: Path) -> None:
    make_newest_file(home / "state.db", single_writer=True)

    done = program.run("gateway", "status")
    assert "belongs to Hermes' gateway" in done.out
    assert "`hermes gateway start`" in done.out
    [only] = json.loads(program.run("gateway", "status", "--json").out)
    assert "Hermes' gateway" in only["not_ours"]


def test_a_gateway_that_is_not_understood_makes_it_reading_only(
    program: Program, home: Path
) -> None:
    make_newest_file(home / "state.db", single_writer=False)
    with answering_socket(home, b"what?\n"):
        done = program.run("sessions", "rename", "s_cli", "New")
        assert done.code == 1
        assert "cannot tell" in done.err
        assert program.run("sessions", "list").code == 0
        assert program.run("gateway", "run").code == 5
    assert program.run("sessions", "rename", "s_cli", "New").code == 0


def test_conversations_in_another_database_are_not_an_empty_list(
    program: Program, home: Path
) -> None:
    (home / "config.yaml").write_text("database:\n  backend: postgres\n", encoding="utf-8")

    done = program.run("sessions", "list")
    assert done.code == 1
    assert "kept in PostgreSQL" in done.err
    assert program.run("chat", "-q", "hello").code == 1
    assert not (home / "state.db").exists()

    make_newest_file(home / "state.db", single_writer=False)
    for arguments in (("sessions", "list"), ("sessions", "search", "zebra"), ("sessions", "stats")):
        done = program.run(*arguments)
        assert done.code == 0
        assert "kept in PostgreSQL" in done.err
    assert "kept in PostgreSQL" in program.run("sessions", "rename", "s_cli", "New").err
