"""``hermes-desktop gateway run`` with the socket platform, and a census of its parts on request.

    python -m tests.fakes.soak_program HOME LATER

LATER seconds are added to the time of day, so that chats expire between two runs. On SIGUSR1 it
writes ``census.json`` next to the home: tasks, threads, objects.
"""

import asyncio
import gc
import json
import os
import signal
import sys
import threading
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from hermes_desktop.cli import output
from hermes_desktop.cli.gateway.gateway_program import GatewayProgram
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.log_setup import SecretRedactor, set_up_logging
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.core.processes.exit_deadline import ExitDeadline
from hermes_desktop.services.assembly.assembly import build_gateway
from tests.fakes.socket_platform import socket_registry
from tests.fakes.tracked_objects import tracked_kinds

DRAIN_S = 10.0


class LaterClock(SystemClock):
    """The system clock, put forward."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def time(self) -> float:
        return super().time() + self._seconds

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self._seconds)


def write_census(path: Path) -> None:
    """Write the current tasks, threads and objects."""
    gc.collect()
    kinds: Counter[str] = Counter()
    for kind, count in tracked_kinds().items():
        kinds[kind.__name__] += count
    census = {
        "tasks": sorted(task.get_name() for task in asyncio.all_tasks()),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "objects": sum(kinds.values()),
        "kinds": dict(kinds.most_common(40)),
    }
    half = path.with_suffix(".half")
    half.write_text(json.dumps(census), encoding="utf-8")
    half.replace(path)


async def run(program: GatewayProgram, census: Path) -> int:
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, write_census, census)
    return await program.run()


def main(home: Path, later_s: float) -> int:
    paths = HermesPaths(home, home)
    redactor = SecretRedactor()
    set_up_logging(redactor, log_file=paths.log_file)
    services = build_gateway(
        paths, redactor=redactor, clock=LaterClock(later_s), registry=socket_registry()
    )
    deadline = ExitDeadline(tell=output.say)
    program = GatewayProgram(services, insist=True, drain_s=DRAIN_S, deadline=deadline)
    return asyncio.run(run(program, home.parent / "census.json"))


if __name__ == "__main__":
    code = main(Path(sys.argv[1]), float(sys.argv[2]))
    sys.stderr.flush()
    os._exit(code) if code else sys.exit(0)
