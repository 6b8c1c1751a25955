"""Run the services of the desktop program on a home and obey lines; each answer is one of JSON.

Run with the project's interpreter and the home; then ``autostart`` and ``service FOLDER`` where
services are looked for. A model and a chat service of this process stand in for the world.
"""

import asyncio
import dataclasses
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import GatewayStatusChanged, TurnFinished
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.runtime_files.identity_files import read_json
from hermes_desktop.services.assembly.desktop_services import DesktopServices, join_parts
from hermes_desktop.services.hosting.gateway_host import HostSetup
from tests.fakes.hosting import write_config
from tests.fakes.model_server import HANG, ModelServer, Reply
from tests.fakes.socket_platform import ChatServer, chat_server, socket_registry

HOME = Path(sys.argv[1])
OPTIONS = sys.argv[2:]


def tell(name: str, **fields: Any) -> None:
    print(json.dumps({"name": name, **fields}, default=str), flush=True)


def shown(status: GatewayStatusChanged) -> dict[str, Any]:
    pid = (read_json(HOME / "gateway.pid") or {}).get("pid")
    return {**dataclasses.asdict(status), "pid": pid}


class Session:
    """What the lines ask for."""

    def __init__(self, services: DesktopServices, chat: ChatServer, model: ModelServer) -> None:
        self._services = services
        self._host = services.gateway
        self._chat = chat
        self._model = model
        self._typed: asyncio.Future[TurnFinished] | None = None
        self._jobs: set[asyncio.Task[None]] = set()
        self.over = asyncio.Event()
        services.bus.subscribe(GatewayStatusChanged, self._changed)
        services.bus.subscribe(TurnFinished, self._finished)

    def _changed(self, status: GatewayStatusChanged) -> None:
        tell("changed", at=time.monotonic(), state=status.state, detail=status.detail)

    def _finished(self, turn: TurnFinished) -> None:
        tell("turn", outcome=turn.outcome, session_id=turn.session_id)

    def take(self, line: str) -> None:
        word, _, rest = line.strip().partition(" ")
        if word == "freeze":
            time.sleep(float(rest))
        elif word == "quit":
            self.over.set()
        else:
            self._start(word, rest)

    def _start(self, word: str, rest: str) -> None:
        job = asyncio.get_running_loop().create_task(self._obey(word, rest))
        self._jobs.add(job)
        job.add_done_callback(self._ended)

    def _ended(self, job: asyncio.Task[None]) -> None:
        self._jobs.discard(job)
        if not job.cancelled() and job.exception() is not None:
            tell("failed", error=repr(job.exception()))

    async def _obey(self, word: str, rest: str) -> None:
        match word:
            case "hang":
                self._model.script(Reply([HANG]))
                tell("hanging")
            case "say":
                self._chat.say(rest, chat="c1", user="u1")
                tell("said")
            case "texts":
                tell("texts", texts=self._chat.texts("c1"))
            case "type":
                sent = await self._services.chat.send(rest)
                tell("typed", session_id=sent.session_id)
            case _:
                await self._host_obeys(word)

    async def _host_obeys(self, word: str) -> None:
        host = self._host
        calls = {
            "start": host.start,
            "insist": lambda: host.start(insist=True),
            "stop": host.stop,
            "restart": host.restart,
            "takeover": host.take_over,
        }
        if word in calls:
            await calls[word]()
        bots = self._chat.look()["bots"]
        tell("status" if word == "status" else "done", bots=bots, **shown(host.status))


def listen(session: Session, loop: asyncio.AbstractEventLoop) -> None:
    for line in sys.stdin:
        loop.call_soon_threadsafe(session.take, line)
    loop.call_soon_threadsafe(session.over.set)


async def main() -> None:
    with ModelServer() as model:
        async with chat_server() as chat:
            write_config(HOME, model, chat.port)
            folders = [Path(OPTIONS[n + 1]) for n, o in enumerate(OPTIONS) if o == "service"]
            setup = HostSetup(
                HermesPaths(HOME, HOME),
                dict(os.environ),
                autostart="autostart" in OPTIONS,
                checks=HostingChecks(Path("/"), tuple(folders)),
            )
            services = join_parts(
                setup,
                redactor=SecretRedactor(),
                offline=False,
                clock=SystemClock(),
                registry=socket_registry(),
                hosts=True,
            )
            session = Session(services, chat, model)
            await services.start()
            reader = threading.Thread(
                target=listen,
                args=(session, asyncio.get_running_loop()),
                name="lines",
                daemon=True,
            )
            reader.start()
            facts = {
                name: Path(f"/proc/self/{name}").read_bytes() for name in ("cmdline", "environ")
            }
            tell("ready", **{name: raw.decode().split("\0") for name, raw in facts.items()})
            await session.over.wait()
            await services.close(drain_s=0.2)
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            tell("left", tasks=[task.get_name() for task in tasks if "socket" not in str(task)])


def what_runs() -> dict[str, list[str]]:
    """Threads and children that are left; workers take a moment to end."""
    until = time.monotonic() + 5
    while True:
        threads = [t.name for t in threading.enumerate() if t.name not in {"MainThread", "lines"}]
        folder = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
        children = folder.read_text().split()
        if not (threads or children) or time.monotonic() > until:
            return {"threads": threads, "children": children}
        time.sleep(0.02)


asyncio.run(main())
tell("closed", **what_runs())
# The thread that reads would else hold its file while the interpreter ends.
os._exit(0)
