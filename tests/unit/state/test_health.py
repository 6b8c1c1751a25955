"""The state of the shared file told, and its index mended."""

import contextlib
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hermes_desktop.core.errors import (
    CancelledError,
    RefusedError,
    StateUnavailableError,
)
from hermes_desktop.state import SessionDB
from hermes_desktop.state.database.file_systems import FileSystem, file_system_of
from hermes_desktop.state.database.holders import Holders, other_holders
from hermes_desktop.state.maintenance.health import HealthReport, has_wal_defect, health_report
from hermes_desktop.state.maintenance.repair import plan_repair, repair_index
from hermes_desktop.state.maintenance.restore import StoreInUseError
from tests.fakes import state_files


def nobody(_: Path) -> Holders:
    return Holders(())


def local(_: Path) -> FileSystem:
    return FileSystem("ext4", "/")


def report(db: SessionDB, **choices) -> HealthReport:
    return health_report(db.db_path, **{"holders": nobody, "file_system": local, **choices})


def kinds(found: HealthReport) -> set[str]:
    return {finding.kind for finding in found.findings} - {"sqlite-defect", "disk-nearly-full"}


@pytest.fixture
def filled(db: SessionDB) -> SessionDB:
    db.create_session("a", "cli")
    for number in range(20):
        db.append_message("a", "user", f"text {number}")
    db.create_session("b", "cli")
    return db


def outside(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as conn:
        for statement in statements:
            conn.execute(statement)
        conn.commit()


@pytest.mark.parametrize("check", ["none", "quick", "full"])
def test_a_healthy_store(filled: SessionDB, check: str) -> None:
    steps: list[str] = []
    found = report(filled, check=check, on_progress=lambda p: steps.append(p.step))
    assert kinds(found) == set()
    assert found.is_healthy
    assert (found.sessions, found.messages) == (2, 20)
    assert found.size > 0
    assert found.log_size > 0
    assert found.journal_mode == "wal"
    assert found.condition.schema_version == 22
    assert found.condition.writable
    assert found.integrity == (None if check == "none" else ())
    assert len(found.indexes) == (0 if check == "none" else 2)
    assert all(index.is_complete for index in found.indexes)
    assert bool(steps) is (check != "none")


def test_a_row_missing_from_the_index_and_one_too_many(filled: SessionDB) -> None:
    outside(
        filled.db_path,
        "DELETE FROM messages_fts WHERE rowid = 3",
        "INSERT INTO messages_fts_trigram (rowid, content) VALUES (99, 'ghost')",
        "UPDATE messages_fts SET content = 'other' WHERE rowid = 4",
    )
    found = report(filled, check="full")
    words, trigram = found.indexes
    assert (words.missing, words.surplus, words.stale) == (1, 0, 1)
    assert (trigram.missing, trigram.surplus, trigram.stale) == (0, 1, 0)
    assert kinds(found) == {"index-incomplete"}
    assert not found.is_healthy


def test_a_missing_trigger(filled: SessionDB) -> None:
    outside(filled.db_path, "DROP TRIGGER messages_fts_update")
    found = report(filled)
    assert found.indexes[0].missing_triggers == ("messages_fts_update",)
    assert "trigger-missing" in kinds(found)
    assert plan_repair(found).tables == ()
    assert plan_repair(found).beyond_us


def test_broken_links(filled: SessionDB) -> None:
    outside(filled.db_path, "DELETE FROM sessions WHERE id = 'a'")
    found = report(filled)
    assert found.broken_links == (("messages", 20),)
    assert "foreign-keys" in kinds(found)


def test_damaged_pages(filled: SessionDB) -> None:
    for number in range(300):
        filled.append_message("a", "user", f"text {number} " + "x" * 300)
    path = filled.db_path
    filled.close()
    with path.open("r+b") as file:
        file.seek(4096 * 60)
        file.write(b"\xaa" * 4096 * 4)
    found = health_report(path, holders=nobody, file_system=local)
    assert found.integrity
    assert "damaged" in kinds(found)
    assert plan_repair(found).tables == ()


def test_damaged_index(filled: SessionDB) -> None:
    outside(filled.db_path, "UPDATE messages_fts_data SET block = x'ffffffffff' WHERE id = 10")
    found = report(filled)
    assert "index-damaged" in kinds(found)
    assert plan_repair(found).tables == ("messages_fts",)


def test_where_it_lies_and_who_holds_it(filled: SessionDB) -> None:
    found = report(
        filled,
        holders=lambda _: Holders((), hidden=2),
        file_system=lambda _: FileSystem("nfs4", "/net", network=True),
    )
    assert kinds(found) == {"holders-unseen", "network-file-system"}
    assert "not visible to this program" in " ".join(finding.text for finding in found.findings)


def test_another_process_is_seen_by_inode(filled: SessionDB, tmp_path: Path) -> None:
    link = tmp_path / "other name.db"
    link.hardlink_to(filled.db_path)
    code = "import sys; f = open(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(link)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seen = other_holders(filled.db_path).seen
        process.communicate("")
    assert [holder.pid for holder in seen] == [process.pid]


def test_no_store(path: Path) -> None:
    with pytest.raises(StateUnavailableError):
        health_report(path)
    assert not path.exists()


def test_older_file(path: Path) -> None:
    path.parent.mkdir()
    conn = state_files.make_old_file(path, 14)
    state_files.add_session(conn, "s")
    state_files.add_message(conn, "s")
    conn.close()
    found = health_report(path, holders=nobody, file_system=local, check="full")
    assert found.condition.schema_version == 14
    assert all(index.is_complete for index in found.indexes)


def test_newer_file(path: Path) -> None:
    path.parent.mkdir()
    conn = state_files.make_newer_file(path)
    state_files.add_session(conn, "s")
    state_files.add_message(conn, "s")
    conn.execute("DELETE FROM messages_fts_docsize")
    conn.close()
    found = health_report(path, holders=nobody, file_system=local, check="full")
    assert found.indexes[0].layout == "external"
    assert found.indexes[0].missing == 1
    assert plan_repair(found).tables == ()


def test_cancelled(filled: SessionDB) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(CancelledError):
        report(filled, cancel=cancel)


@pytest.mark.parametrize(
    ("version", "has"),
    [
        ("3.6.23", False),
        ("3.40.1", True),
        ("3.44.6", False),
        ("3.45.0", True),
        ("3.50.7", False),
        ("3.51.2", True),
        ("3.51.3", False),
        ("3.52.0", False),
    ],
)
def test_versions_with_the_defect_of_the_log(version: str, has: bool) -> None:
    assert has_wal_defect(version) is has


TABLE = """\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 21 0:40 / /home/me/with\\040space rw shared:2 - nfs4 server:/x rw
31 21 0:41 / /home rw - btrfs /dev/sdb rw
32 21 0:42 / /mnt/remote rw - fuse.sshfs me@host: rw
33 32 0:43 / /mnt/remote/local rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/etc/x", "ext4", False),
        ("/home/me/state.db", "btrfs", False),
        ("/home/me/with space/state.db", "nfs4", True),
        ("/mnt/remote/state.db", "fuse.sshfs", True),
        ("/mnt/remote/local/state.db", "tmpfs", False),
        ("/mnt/remotely", "ext4", False),
    ],
)
def test_file_system_by_the_table_of_mounts(
    tmp_path: Path, path: str, kind: str, network: bool
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(TABLE, encoding="utf-8")
    found = file_system_of(Path(path), mounts=table)
    assert (found.kind, found.network) == (kind, network)


def test_file_system_here(tmp_path: Path) -> None:
    table = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    mounts = [line.split(" ")[1] for line in table.splitlines()]
    in_view = any(tmp_path.is_relative_to(mount) for mount in mounts)  # not so in a bare chroot
    assert bool(file_system_of(tmp_path).kind) == in_view
    assert not file_system_of(tmp_path).network
    assert file_system_of(tmp_path, mounts=tmp_path / "none").kind == ""


# -------------------------------------------------------------------------------------- mending


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM messages_fts WHERE rowid < 5",
        "UPDATE messages_fts_data SET block = x'ffffffffff' WHERE id = 10",
        "DELETE FROM messages_fts_data WHERE id > 10",
        "UPDATE messages_fts_trigram SET content = 'other'",
    ],
)
def test_index_built_anew(filled: SessionDB, tmp_path: Path, harm: str) -> None:
    outside(filled.db_path, harm)
    assert not report(filled, check="full").is_healthy
    steps: list[tuple[int, int]] = []
    done = repair_index(
        filled,
        tmp_path / "snapshots",
        now=1.0,
        holders=nobody,
        on_progress=lambda p: steps.append((p.done, p.total)),
    )
    assert done.messages == 20
    assert done.before.reason == "repair"
    assert report(filled, check="full").is_healthy
    assert steps[-1] == (40, 40)
    assert len(filled.search_messages("text")) == 20
    filled.append_message("a", "user", "afterwards")
    assert report(filled, check="full").is_healthy


def test_mending_refused_while_others_use_it(filled: SessionDB, tmp_path: Path) -> None:
    with contextlib.closing(SessionDB(filled.db_path)):
        code = (
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
            "c.execute('select 1 from sessions').fetchall(); print('open', flush=True); "
            "sys.stdin.read()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code, str(filled.db_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            with pytest.raises(StoreInUseError) as caught:
                repair_index(filled, tmp_path / "snapshots", now=1.0, unseen_ok=True)
            process.communicate("")
    assert str(process.pid) in caught.value.detail
    assert not (tmp_path / "snapshots").exists()


def test_mending_leaves_other_layouts_alone(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    state_files.make_newer_file(path).close()
    before = state_files.dump(path)
    with contextlib.closing(SessionDB(path)) as db, pytest.raises(RefusedError):
        repair_index(db, tmp_path / "snapshots", now=1.0, holders=nobody)
    assert state_files.dump(path) == before


def test_cancelled_mending_changes_nothing(filled: SessionDB, tmp_path: Path) -> None:
    outside(filled.db_path, "DELETE FROM messages_fts WHERE rowid = 3")
    cancel = threading.Event()

    def stop(progress) -> None:
        if progress.step.startswith("Rebuilding"):
            cancel.set()

    with pytest.raises(CancelledError):
        repair_index(
            filled,
            tmp_path / "snapshots",
            now=1.0,
            holders=nobody,
            on_progress=stop,
            cancel=cancel,
        )
    assert report(filled).indexes[0].missing == 1
    assert report(filled).indexes[1].missing == 0
