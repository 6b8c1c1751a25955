"""Records, markers, and files that are planted whole."""

import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.gateway.runtime_files import identity_files as files
from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord
from tests.fakes.identity import gateway_lookalike, write_record


@pytest.fixture
def own() -> GatewayRecord:
    return GatewayRecord(os.getpid(), ("hermes-gateway",), 7, "/home")


@pytest.mark.parametrize(
    "data", [None, True, 0, -4, "7", [], {}, {"pid": "7"}, {"pid": True}, {"pid": -1}]
)
def test_what_names_nobody(data: Any) -> None:
    assert files.parse_record(data) is None


def test_a_bare_number_and_a_full_record_name_a_process() -> None:
    assert files.parse_record(12) == GatewayRecord(12)
    full = GatewayRecord(12, ("hermes", "gateway", "run"), 99, "/x")
    assert files.parse_record(json.loads(json.dumps(full.as_json()))) == full
    assert not full.is_hermes_desktop
    assert GatewayRecord(12, ("hermes-gateway", "x")).is_hermes_desktop
    assert full.names(GatewayRecord(12))
    assert not full.names(GatewayRecord(12, (), 98))


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({}, True),
        ({"target_start_time": None}, True),
        ({"written_at": "1970-01-01T00:16:30+00:00"}, True),
        ({"written_at": 930}, False),
        ({"written_at": "yesterday"}, True),
        ({"target_start_time": 8}, False),
        ({"target_pid": 1}, False),
    ],
)
def test_a_marker_counts_if_it_is_fresh_and_means_us(
    tmp_path: Path, own: GatewayRecord, fields: dict[str, Any], counts: bool
) -> None:
    marker = {"target_pid": own.pid, "target_start_time": 7, "written_at": 980}
    tmp_path.joinpath(files.STOP_MARKER).write_text(json.dumps({**marker, **fields}))

    found = files.pending_markers(tmp_path, own, now=1000.0)

    assert found == ({tmp_path / files.STOP_MARKER: "stop"} if counts else {})


def test_the_marker_we_leave_is_one(tmp_path: Path, own: GatewayRecord) -> None:
    files.ask_to_stop(tmp_path, own, now=1000.0)

    assert list(files.pending_markers(tmp_path, own, now=1001.0).values()) == ["stop"]
    assert [each.name for each in tmp_path.iterdir()] == [files.STOP_MARKER]


def test_a_planted_lock_is_whole_and_excludes_another(tmp_path: Path, own: GatewayRecord) -> None:
    first = files.GatewayLockFile(tmp_path, own)
    first.plant()
    other = files.GatewayLockFile(tmp_path, GatewayRecord(1))

    with pytest.raises(files.LockTakenError):
        other.plant()

    assert first.is_in_place()
    assert not other.is_in_place()
    assert files.read_record(tmp_path / files.LOCK_FILE) == own
    assert [each.name for each in tmp_path.iterdir()] == [files.LOCK_FILE]


def test_a_free_lock_file_is_replaced_and_stays_locked(tmp_path: Path, own: GatewayRecord) -> None:
    path = tmp_path / files.LOCK_FILE
    path.write_text("left by a crash")
    with path.open("r+") as before:
        lock = files.GatewayLockFile(tmp_path, own)
        lock.plant()

        assert path.stat().st_ino != os.fstat(before.fileno()).st_ino
        with pytest.raises(BlockingIOError):
            files.fcntl.flock(before, files.fcntl.LOCK_EX | files.fcntl.LOCK_NB)
    assert files.read_record(path) == own


@pytest.mark.parametrize("target", ["nowhere/x", files.LOCK_FILE])
def test_a_lock_that_leads_nowhere_is_replaced(
    tmp_path: Path, own: GatewayRecord, target: str
) -> None:
    path = tmp_path / files.LOCK_FILE
    path.symlink_to(tmp_path / target)
    lock = files.GatewayLockFile(tmp_path, own)

    lock.plant()

    assert lock.is_in_place()
    assert not path.is_symlink()
    assert files.read_record(path) == own


def test_a_state_that_does_not_fit_leaves_nothing_half_made(
    tmp_path: Path, own: GatewayRecord
) -> None:
    files.write_state(tmp_path, own, {"gateway_state": "running"})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            files.write_state(tmp_path, own, {"gateway_state": "stopped"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert files.read_json(tmp_path / files.STATE_FILE)["gateway_state"] == "running"
    assert [each.name for each in tmp_path.iterdir()] == [files.STATE_FILE]
    files.remove_state(tmp_path, GatewayRecord(1))
    assert tmp_path.joinpath(files.STATE_FILE).exists()
    files.remove_state(tmp_path, own)
    assert not tmp_path.joinpath(files.STATE_FILE).exists()


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    tmp_path.joinpath("device").symlink_to("/dev/zero")
    tmp_path.joinpath("folder").mkdir()
    with tmp_path.joinpath("huge").open("w") as file:
        file.truncate(1 << 30)

    for name in ("pipe", "device", "folder", "huge", "nothing"):
        assert files.read_json(tmp_path / name) is None
        with pytest.raises(OSError, match=name):
            files.read_plain_file(tmp_path / name)


def test_a_pid_file_of_a_live_gateway_stays(tmp_path: Path, own: GatewayRecord) -> None:
    with gateway_lookalike() as other:
        write_record(tmp_path / files.PID_FILE, other)

        owner = files.create_pid_file(tmp_path, own)
        files.remove_pid_file(tmp_path, own)

        assert owner is not None
        assert files.read_record(tmp_path / files.PID_FILE) == other
    assert files.create_pid_file(tmp_path, own) is None
    assert files.read_record(tmp_path / files.PID_FILE) == own
    files.remove_pid_file(tmp_path, own)
    assert not list(tmp_path.iterdir())


def test_the_state_of_a_live_gateway_stays_unless_it_stopped(
    tmp_path: Path, own: GatewayRecord
) -> None:
    path = tmp_path / files.STATE_FILE
    with gateway_lookalike() as other:
        write_record(path, other, gateway_state="running")
        assert not files.write_state(tmp_path, own, {"gateway_state": "starting"})
        assert files.read_record(path) == other

        write_record(path, other, gateway_state="stopped")
        assert files.write_state(tmp_path, own, {"gateway_state": "starting"})
    assert files.read_record(path) == own


def test_a_live_gateway_is_found_in_any_of_the_files(tmp_path: Path) -> None:
    with gateway_lookalike() as other:
        for name in (files.PID_FILE, files.LOCK_FILE, files.STATE_FILE):
            write_record(tmp_path / name, other, gateway_state="running")
            found = files.live_gateway(tmp_path)
            assert found is not None
            assert found.pid == other.pid
            assert files.live_gateway(tmp_path, but=other.pid) is None
            tmp_path.joinpath(name).unlink()
    assert files.live_gateway(tmp_path) is None
