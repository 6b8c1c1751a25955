"""A home with a gateway identity and its events, and other gateways that are mere processes."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.identity.identity_supervisor import GatewayIdentity
from hermes_desktop.gateway.runtime_files import process_facts
from hermes_desktop.gateway.runtime_files.identity_events import Claimed, IdentityEvent
from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord, read_json
from tests.support.waiting import wait_until

T = TypeVar("T")
WAIT_S = 60.0


@dataclass
class IdentityStage:
    """One home, its identity, and the events."""

    paths: HermesPaths
    identity: GatewayIdentity
    events: "queue.SimpleQueue[IdentityEvent]" = field(default_factory=queue.SimpleQueue)

    @property
    def home(self) -> Path:
        return self.paths.home

    def hold(self) -> GatewayRecord:
        answer = self.identity.claim()
        assert isinstance(answer, Claimed), answer
        return answer.record

    def expect(self, kind: type[T], *, seconds: float = WAIT_S) -> T:
        """Return the next event of this kind; others before it are dropped."""
        until = time.monotonic() + seconds
        while True:
            event = self.events.get(timeout=max(0.01, until - time.monotonic()))
            if isinstance(event, kind):
                return event

    def file(self, name: str) -> Any:
        return read_json(self.home / name)

    def snapshot(self) -> dict[str, tuple[int, bytes]]:
        """Return inode and bytes of the identity's files."""
        found = {}
        for path in self.home.glob("*gateway*"):
            found[path.name] = (path.stat().st_ino, path.read_bytes())
        return found


@contextlib.contextmanager
def identity_stage(
    home: Path,
    *,
    clock: Clock | None = None,
    checks: HostingChecks | None = None,
    profile: str = "default",
) -> Iterator[IdentityStage]:
    """Run an identity on a home as the program does; it is released and closed afterwards."""
    events: queue.SimpleQueue[IdentityEvent] = queue.SimpleQueue()
    paths = HermesPaths(home, home, profile)
    identity = GatewayIdentity(
        paths,
        events=events.put,
        clock=clock,
        checks=checks or HostingChecks(Path("/"), ()),
    )
    identity.start()
    try:
        yield IdentityStage(paths, identity, events)
    finally:
        identity.close()


@contextlib.contextmanager
def gateway_lookalike(*words: str) -> Iterator[GatewayRecord]:
    """Run a process that does nothing and has these words in its command line."""
    argv = words or ("hermes", "gateway", "run")
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()", *argv],
        stdin=subprocess.PIPE,
    )
    try:
        pid = process.pid
        wait_until(lambda: argv[-1] in (process_facts.command_line(pid) or ""))
        yield GatewayRecord(pid, argv, process_facts.start_time(pid))
    finally:
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()


def write_record(path: Path, record: GatewayRecord, **fields: Any) -> None:
    """Write a record as hermes-agent 0.19 does: without the home."""
    data = {k: v for k, v in record.as_json().items() if k != "hermes_home"}
    path.write_text(json.dumps({**data, **fields}), encoding="utf-8")


def is_gone(pid: int) -> bool:
    """Return whether no process has this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return not process_facts.is_alive(pid)
