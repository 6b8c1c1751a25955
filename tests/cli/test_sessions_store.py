"""``sessions health``, ``optimize``, ``snapshot``, ``restore``: the store as a whole."""

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.program import Program
from tests.fakes.state_files import dump
from tests.fakes.terminal import at_terminal

HOLD = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
    " c.execute('SELECT count(*) FROM sessions').fetchone(); print('open', flush=True);"
    " sys.stdin.read()"
)


@pytest.fixture
def store(home: Path) -> Path:
    """A store nobody has open."""
    db = SessionDB(home / "state.db")
    for name in ("s1", "s2"):
        db.create_session(name, "cli")
        db.append_message(name, "assistant", f"said in {name}")
    db.close()
    return home / "state.db"


@pytest.fixture
def holder(store: Path) -> Iterator[int]:
    """Another program that has the store open."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"open\n"
    yield process.pid
    process.communicate()


def change(store: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(store)) as conn:
        conn.execute(sql)
        conn.commit()


def snapshots(program: Program) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(
        program.run("sessions", "snapshot", "list", "--json").out
    )
    return found


# ------------------------------------------------------------------------------------------ health


def test_a_healthy_store(program: Program, store: Path) -> None:
    before = dump(store)

    done = program.run("sessions", "health")

    assert done.code == 0, done.err
    assert "Integrity: ok" in done.out
    assert "Search index: complete" in done.out
    assert done.out.endswith("No problems found.\n")
    (only,) = json.loads(program.run("sessions", "health", "--full", "--json").out)
    assert (only["healthy"], only["sessions"], only["messages"]) == (True, 2, 2)
    assert (only["schema_version"], only["holders"], only["integrity"]) == (22, [], [])
    assert dump(store) == before


def test_who_has_it_open(program: Program, holder: int) -> None:
    (only,) = json.loads(program.run("sessions", "health", "--json").out)

    assert [each["pid"] for each in only["holders"]] == [holder]
    assert f"process {holder}" in program.run("sessions", "health").out


def test_a_hole_in_the_index_is_found_and_mended_when_asked(program: Program, store: Path) -> None:
    change(store, "DELETE FROM messages_fts WHERE rowid = 1")

    found = program.run("sessions", "health")

    assert found.code == 1
    assert "not complete" in found.out
    assert "--repair" in found.err
    assert program.run("sessions", "health", "--repair").code == 5
    assert at_terminal(program, "sessions", "health", "--repair", typed=b"n\n").code == 5
    assert program.run("sessions", "health").code == 1

    mended = program.run("sessions", "health", "--repair", "--yes")

    assert mended.code == 0, mended.err
    assert program.run("sessions", "health").code == 0
    assert [each["reason"] for each in snapshots(program)] == ["repair"]
    nothing = program.run("sessions", "health", "--repair", "--yes")
    assert (nothing.code, nothing.err) == (0, "There is nothing to repair.\n")


def test_repair_is_refused_while_others_use_the_store(
    program: Program, store: Path, holder: int
) -> None:
    change(store, "DELETE FROM messages_fts WHERE rowid = 1")

    done = program.run("sessions", "health", "--repair", "--yes")

    assert done.code == 5
    assert str(holder) in done.err


# ---------------------------------------------------------------------------------------- optimize


def test_optimize_gives_space_back(program: Program, store: Path) -> None:
    db = SessionDB(store)
    db.create_session("large", "cli")
    for _ in range(50):
        db.append_message("large", "assistant", "many words " * 1_000)
    db.delete_sessions(["large"])
    db.close()
    size = store.stat().st_size
    shown = program.run("sessions", "optimize", "--dry-run")
    assert "freed, after a snapshot" in shown.out
    assert store.stat().st_size == size

    done = program.run("sessions", "optimize")

    assert done.code == 0, done.err
    assert done.out.startswith("Optimized 2 search indexes.\nSize: ")
    assert store.stat().st_size < size / 2
    assert [each["reason"] for each in snapshots(program)] == ["optimize"]


def test_optimize_beside_others_keeps_to_the_index(program: Program, holder: int) -> None:
    assert "would not be freed" in program.run("sessions", "optimize", "--dry-run").out

    (only,) = json.loads(program.run("sessions", "optimize", "--json").out)

    assert only["space_given_back"] is False
    assert [each["pid"] for each in only["holders"]] == [holder]
    assert snapshots(program) == []
    assert f"process {holder}" in program.run("sessions", "optimize").out


# --------------------------------------------------------------------------- snapshots and restores


def test_a_snapshot_comes_back(program: Program, store: Path) -> None:
    before = dump(store)
    taken = program.run("sessions", "snapshot", "take")
    assert taken.code == 0, taken.err
    name = str(snapshots(program)[0]["name"])
    assert taken.out.startswith(f"Snapshot {name}: 2 sessions, 2 messages, ")
    (line,) = program.run("sessions", "snapshot", "list").out.splitlines()
    assert line.split("\t")[0] == name
    change(store, "UPDATE sessions SET title = 'Changed' WHERE id = 's1'")
    changed = dump(store)

    assert program.run("sessions", "restore", name).code == 5
    assert at_terminal(program, "sessions", "restore", name, typed=b"n\n").code == 5
    shown = program.run("sessions", "restore", name, "--dry-run")
    assert "Replaces: 2 sessions, 2 messages" in shown.out
    assert dump(store) == changed
    done = program.run("sessions", "restore", name, "--yes")

    assert done.code == 0, done.err
    assert done.out == f"Restored snapshot {name}.\n"
    assert dump(store) == before
    back = str(snapshots(program)[0]["name"])
    assert f"kept in the snapshot {back}" in done.err
    assert program.run("sessions", "restore", "latest", "--yes", "--json").code == 0
    assert dump(store) == changed


def test_a_lost_store_comes_back(program: Program, store: Path) -> None:
    assert program.run("sessions", "snapshot", "take").code == 0
    before = dump(store)
    for end in ("", "-wal", "-shm"):
        Path(f"{store}{end}").unlink(missing_ok=True)

    done = at_terminal(program, "sessions", "restore", "latest", typed=b"y\n")

    assert done.code == 0, done.out
    assert "There is no store yet." in done.out
    assert dump(store) == before


DAMAGES = {
    "garbage": lambda data: b"no database" * 1_000,
    "cut off": lambda data: data[: len(data) // 2],
    "another program's": lambda data: None,
    "empty": lambda data: b"",
    "hole": lambda data: data[:8_192] + b"\xff" * 40_000 + data[48_192:],
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_store_is_set_aside_for_a_snapshot(
    program: Program, store: Path, how: str
) -> None:
    before = dump(store)
    assert program.run("sessions", "snapshot", "take").code == 0
    damaged = DAMAGES[how](store.read_bytes())
    if damaged is None:
        store.unlink()
        change(store, "CREATE TABLE notes (text)")
        damaged = store.read_bytes()
    store.write_bytes(damaged)

    shown = program.run("sessions", "restore", "latest", "--dry-run")
    assert shown.code == 0
    assert store.read_bytes() == damaged
    done = program.run("sessions", "restore", "latest", "--yes")

    assert (done.code, done.out.startswith("Restored snapshot")) == (0, True)
    assert dump(store) == before
    kept = [each for each in store.parent.glob("state.db.damaged-*") if each.name[-4] != "-"]
    if how == "empty":
        assert kept == []
    elif kept:
        assert kept[0].read_bytes() == damaged
        assert str(kept[0]) in done.err
        assert "set aside" in shown.out
    else:
        assert "kept in the snapshot" in done.err


def test_a_damaged_snapshot_changes_nothing(program: Program, store: Path, home: Path) -> None:
    assert program.run("sessions", "snapshot", "take").code == 0
    (copy,) = (home / "desktop" / "snapshots").glob("*/state.db")
    data = copy.read_bytes()
    before = dump(store)
    for bad in (data[: len(data) // 2], data[:20_480] + b"\xff" * 40_960 + data[61_440:], b"no"):
        copy.write_bytes(bad)
        done = program.run("sessions", "restore", "latest", "--yes")
        assert done.code == 1
        assert "is damaged" in done.err
        assert "snapshot list" in done.err
        assert dump(store) == before


def test_restore_is_refused_while_others_use_the_store(
    program: Program, store: Path, holder: int
) -> None:
    assert program.run("sessions", "snapshot", "take").code == 0
    before = dump(store)

    done = program.run("sessions", "restore", "latest", "--yes")

    assert done.code == 5
    assert str(holder) in done.err
    assert dump(store) == before


def test_snapshots_that_are_not_there(program: Program, store: Path, home: Path) -> None:
    assert program.run("sessions", "snapshot", "list").out == "No snapshots.\n"
    for name in ("latest", "20200101_000000-person", "../.."):
        assert program.run("sessions", "restore", name, "--yes").code == 3
    store.unlink()
    assert program.run("sessions", "snapshot", "take").code == 1
    assert not (home / "desktop").exists()


def test_only_the_latest_few_are_kept(program: Program, store: Path) -> None:
    for _ in range(5):
        assert program.run("sessions", "snapshot", "take").code == 0
    oldest = snapshots(program)[-1]["name"]

    done = program.run("sessions", "snapshot", "take")

    assert str(oldest) in done.err
    assert len(snapshots(program)) == 5


@pytest.fixture
def large(store: Path) -> Path:
    change(store, "INSERT INTO state_meta (key, value) VALUES ('x', hex(zeroblob(60000000)))")
    return store


def test_how_far_it_is_stands_on_a_terminal_only(program: Program, large: Path) -> None:
    person = at_terminal(program, "sessions", "snapshot", "take")
    pipe = program.run("sessions", "snapshot", "take")

    assert (person.code, pipe.code) == (0, 0)
    assert "\rCopying the store … " in person.out
    assert pipe.err == ""


def test_ctrl_c_ends_a_snapshot_and_leaves_nothing(
    program: Program, large: Path, home: Path
) -> None:
    folder = home / "desktop" / "snapshots"
    done = 0
    for _ in range(20):
        process = program.start("sessions", "snapshot", "take")
        while process.poll() is None and not list(folder.glob(".part-*/state.db")):
            pass
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        if process.returncode != 0:
            break
        done += 1  # on a busy machine the copy may be complete before the signal arrives

    assert process.returncode == 5, err
    assert b"Traceback" not in err
    assert len(list(folder.iterdir())) == min(done, 5)
    assert list(folder.glob(".part-*")) == []
