"""Our command line and the real one on one home: each agrees with what the other did."""

import contextlib
import json
import re
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.program import Outcome, Program
from tests.fakes.state_files import dump

_SESSION_ID = re.compile(r"\d{8}_\d{6}_\w+$")
PLAIN = "20260101_000001_aaaaaa"
ORIGIN = "20260103_000001_dddddd"
CHAIN_ROOT = "20260102_000000_bbbbbb"
CHAIN_TIP = "20260102_000002_bbbbbb"


@pytest.fixture
def home(hermes: Any) -> Any:
    """A home that the real program filled, half of it long ago, nearly all of it ended."""
    hermes.script("build_home.py", str(hermes.state_db))
    with contextlib.closing(sqlite3.connect(hermes.state_db)) as conn:
        conn.execute(
            "UPDATE sessions SET started_at = started_at - 100 * 86400 WHERE id < '202601030'"
        )
        conn.execute("UPDATE messages SET timestamp = timestamp - 100 * 86400 "
                     "WHERE session_id < '202601030'")  # fmt: skip
        conn.execute(
            "UPDATE sessions SET ended_at = ?, end_reason = 'cli_close' WHERE ended_at IS NULL",
            (time.time(),),
        )
        conn.commit()
    return hermes


@pytest.fixture
def program(home: Any) -> Program:
    return Program(home.home)


def done(program: Program, *words: str) -> Outcome:
    outcome = program.run("sessions", *words)
    assert outcome.code == 0, outcome.err
    return outcome


def their_list(home: Any) -> list[str]:
    lines = home.command("sessions", "list", "--limit", "1000").splitlines()
    return [found.group() for line in lines if (found := _SESSION_ID.search(line.strip()))]


def our_list(program: Program) -> list[str]:
    return [
        line.split("\t")[0] for line in done(program, "list", "--limit", "1000").out.splitlines()
    ]


def their_stats(home: Any) -> tuple[int, int]:
    text = home.command("sessions", "stats")
    found = [re.search(rf"Total {what}: (\d+)", text) for what in ("sessions", "messages")]
    assert found[0] is not None
    assert found[1] is not None
    return int(found[0][1]), int(found[1][1])


def agree(home: Any, program: Program) -> list[str]:
    """Both show the same list and the same figures; the list is returned."""
    ours = our_list(program)
    assert ours == their_list(home)
    whole = json.loads(done(program, "stats", "--json").out)[0]
    # `hermes` leaves archived sessions out of its total, but not their messages.
    assert (whole["sessions"] - whole["archived"], whole["messages"]) == their_stats(home)
    return ours


def test_delete_and_undo(home: Any, program: Program) -> None:
    everything = agree(home, program)
    assert CHAIN_TIP in everything
    before = dump(home.state_db)

    done(program, "delete", CHAIN_ROOT, ORIGIN, "--yes")
    left = agree(home, program)
    assert CHAIN_TIP not in left
    assert ORIGIN not in left
    assert CHAIN_TIP not in home.command("sessions", "export", "-")

    done(program, "trash", "restore", "1", "2")
    assert agree(home, program) == everything
    assert dump(home.state_db) == before


def test_rename_on_either_side(home: Any, program: Program) -> None:
    done(program, "rename", PLAIN, "Named", "here")
    assert "Named here" in home.command("sessions", "list", "--limit", "1000")

    home.command("sessions", "rename", PLAIN, "Named", "there")
    assert done(program, "rename", "Named there", "Back").out.startswith(f"Session {PLAIN} ")
    agree(home, program)


def test_archive_on_either_side(home: Any, program: Program) -> None:
    done(program, "archive", CHAIN_TIP)
    assert CHAIN_TIP not in agree(home, program)
    done(program, "unarchive", CHAIN_ROOT)
    assert CHAIN_TIP in agree(home, program)

    home.command("sessions", "archive", "--title", "Chain b", "--yes")
    assert CHAIN_TIP not in agree(home, program)
    done(program, "unarchive", CHAIN_TIP)
    assert CHAIN_TIP in agree(home, program)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--older-than", "50d"],
        ["--newer-than", "2d", "--source", "cli"],
        ["--title", "chain", "--min-messages", "4"],
        ["--model", "MODEL-X", "--max-messages", "2", "--include-archived"],
        ["--cwd", "/home/u"],
    ],
)
def test_both_prune_the_same(home: Any, program: Program, tmp_path: Path, words: list[str]) -> None:
    twin = tmp_path / "twin" / ".hermes"
    shutil.copytree(home.home, twin)
    shown = json.loads(done(program, "prune", *words, "--dry-run", "--json").out)

    theirs = type(home)(home.python, twin).command("sessions", "prune", *words, "--yes")
    done(program, "prune", *words, "--yes")

    assert dump(home.state_db) == dump(twin / "state.db"), theirs
    if shown:
        assert f"Pruned {len(shown)} session(s)" in theirs
    agree(home, program)


def test_exports_are_equal(home: Any, program: Program, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"
    done(program, "export", str(ours))
    home.command("sessions", "export", str(theirs))

    lines = [[json.loads(line) for line in file.read_text().split("\n")[:-1]]
             for file in (ours, theirs)]  # fmt: skip
    assert lines[0] == lines[1]
    assert len(lines[0]) > 10


def test_an_import_of_their_export(home: Any, program: Program, tmp_path: Path) -> None:
    place = tmp_path / "theirs.jsonl"
    home.command("sessions", "export", str(place))
    listed = agree(home, program)
    done(program, "delete", *listed, "--yes")
    assert their_list(home) == []

    done(program, "import", str(place))

    assert sorted(agree(home, program)) == sorted(listed)


def test_a_snapshot_and_upkeep(home: Any, program: Program) -> None:
    listed = agree(home, program)
    done(program, "snapshot", "take")
    home.command("sessions", "delete", PLAIN, "--yes")
    assert PLAIN not in agree(home, program)

    done(program, "restore", "latest", "--yes")
    assert agree(home, program) == listed
    done(program, "optimize")
    assert agree(home, program) == listed
    assert done(program, "health", "--full").out.endswith("No problems found.\n")
