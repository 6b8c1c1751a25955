"""What the runner hands to whoever holds the identity; what is read of others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.gateway import status
from hermes_desktop.gateway.runtime_files.identity_files import PID_FILE, STATE_FILE
from tests.fakes.identity import gateway_lookalike, write_record


class Holder:
    def __init__(self) -> None:
        self.fields: list[Mapping[str, Any]] = []
        self.released = 0

    def update(self, fields: Mapping[str, Any]) -> None:
        self.fields.append(fields)

    def release(self) -> bool:
        self.released += 1
        return True


def test_a_private_runner_says_nothing() -> None:
    status.write_runtime_status(None, gateway_state="running")
    status.remove_pid_file(None)


def test_only_what_changed_is_handed_over() -> None:
    holder = Holder()

    status.write_runtime_status(holder)
    status.write_runtime_status(holder, gateway_state="running", active_agents=-1)
    status.write_runtime_status(holder, platforms={"irc": {"state": "connected"}})
    status.remove_pid_file(holder)

    assert holder.fields == [
        {"gateway_state": "running", "active_agents": 0},
        {"platforms": {"irc": {"state": "connected"}}},
    ]
    assert holder.released == 1


def test_a_state_file_of_somebody_else_is_not_believed(tmp_path: Path) -> None:
    with gateway_lookalike() as record:
        write_record(tmp_path / PID_FILE, record)
        write_record(tmp_path / STATE_FILE, record._replace(pid=1), gateway_state="running")
        found = status.read_foreign_gateway(tmp_path)
        assert found is not None
        assert found.state == ""

        write_record(
            tmp_path / STATE_FILE, record, gateway_state="running", platforms=[], active_agents="x"
        )
        found = status.read_foreign_gateway(tmp_path)
        assert found is not None
        assert (found.state, found.platforms, found.active_agents) == ("running", {}, 0)
    assert status.read_foreign_gateway(tmp_path) is None


def test_a_drain_request_is_a_file(tmp_path: Path) -> None:
    assert not status.drain_requested(tmp_path)
    tmp_path.joinpath(status.DRAIN_REQUEST).write_text("1")
    assert status.drain_requested(tmp_path)
