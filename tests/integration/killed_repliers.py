"""A gateway that is killed before each of its writes in turn; what must be true after the next run.

    python -m tests.integration.killed_repliers FOLDER [KILLS]

A chat service in a process of its own brings one message per round. The first gateway of a round
is killed (SIGKILL) before its n-th write, to either database or to the socket; the second one runs
until nothing is left to do (with KILLS 2 the second is killed somewhere, too, and a third one
finishes). Then the chat must hold exactly one reply, or one that says that it
may be a duplicate besides; the message must be acknowledged and nothing be owed. Rounds go on
until a gateway gets through without meeting its n-th write. Prints ``N rounds, …`` at the end.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from hermes_desktop.gateway.config.gateway_config import PlatformConfig
from hermes_desktop.gateway.delivery.delivery import MAYBE_TWICE
from hermes_desktop.gateway.platforms.base import PlatformAdapter, SendResult
from hermes_desktop.gateway.platforms.registry import AdapterContext
from hermes_desktop.state import SessionDB
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from tests.fakes.socket_gateway import socket_gateway
from tests.fakes.socket_platform import ChatProcess, SocketPlatform, chat_process

T = TypeVar("T")


class Steps:
    """Counts writes, and kills this very process before one of them."""

    def __init__(self, last: int | None) -> None:
        self.count = 0
        self._last = last

    def next(self) -> None:
        self.count += 1
        if self.count == self._last:
            os.kill(os.getpid(), signal.SIGKILL)


class KilledDB(SessionDB):
    """A conversation store whose writes are steps."""

    steps = Steps(None)

    def _execute_write(self, fn: Callable[[Any], T]) -> T:
        self.steps.next()
        return super()._execute_write(fn)


class KilledStore(DesktopDatabase):
    """Our own store whose writes are steps."""

    steps = Steps(None)

    def write(self, fn: Callable[[Any], T]) -> T:
        self.steps.next()
        return super().write(fn)


class KilledPlatform(SocketPlatform):
    """A platform whose sends are steps, before and after, as is each acknowledgement."""

    steps = Steps(None)

    async def send(self, chat_id: str, text: str, **more: Any) -> SendResult:
        self.steps.next()
        result = await super().send(chat_id, text, **more)
        self.steps.next()
        return result

    def _say(self, **message: Any) -> None:
        if message["type"] == "ack":
            self.steps.next()
        super()._say(**message)


def make(config: PlatformConfig, context: AdapterContext) -> PlatformAdapter:
    return KilledPlatform(config, context.platform, clock=context.clock)


async def gateway(folder: Path, chat: ChatProcess) -> None:
    """Run a whole gateway until the service waits for nothing, and nothing is left to be done."""
    quiet = 0
    async with (
        socket_gateway(
            folder, chat.port, make=make, db_kind=KilledDB, own_kind=KilledStore
        ) as running,
        asyncio.timeout(60),
    ):
        while quiet < 5:
            await asyncio.sleep(0.01)
            resumed = not running.runner.state.session_store.pending_chats()
            settled = running.is_idle and resumed and not chat.call("look")["pending"]
            quiet = quiet + 1 if settled else 0


def run_in_child(folder: Path, chat: ChatProcess, last: int | None) -> int | None:
    """Run a gateway in a child; None when it was killed, else how many steps it took."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            steps = Steps(last)
            for kind in (KilledDB, KilledStore, KilledPlatform):
                kind.steps = steps
            asyncio.run(gateway(folder, ChatProcess(chat.process, chat.port)))
            os.write(writing, str(steps.count).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return None
    assert os.WEXITSTATUS(status) == 0, "the gateway failed by itself"
    return int(said)


def check(folder: Path, chat: ChatProcess, name: str, kills: int) -> str:
    """What must be true after the second run; how it went."""
    texts = chat.texts(name)
    plain = [text for text in texts if not text.startswith(MAYBE_TWICE)]
    honest = [text for text in texts if text.startswith(MAYBE_TWICE)]
    assert texts, "a reply was lost"
    assert len(plain) <= 1, f"a reply arrived twice: {texts}"
    assert len(honest) <= kills, texts
    assert not chat.call("look")["pending"]
    with contextlib.closing(SessionDB(folder / "state.db")) as db:
        found = db.read(
            lambda conn: conn.execute("SELECT content FROM messages WHERE role = 'user'").fetchall()
        )
    prompts = [row[0] for row in found]
    assert prompts.count(f"hello from {name}") == 1, prompts
    return "perhaps twice" if honest else "once"


def main() -> None:
    folder, kills = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    outcomes: list[str] = []
    with chat_process() as chat:
        for number in range(1, 1000):
            home = folder / f"round {number}"
            home.mkdir()
            name = f"c{number}"
            chat.call("say", f"hello from {name}", chat=name, id=f"m{number}")
            steps = run_in_child(home, chat, number)
            if steps is None and kills > 1:
                run_in_child(home, chat, 1 + number * 7 % 13)
            if steps is None:
                run_in_child(home, chat, None)
            try:
                outcomes.append(check(home, chat, name, kills))
            except AssertionError as error:
                raise AssertionError(f"round {number}: {error}") from error
            if steps is not None:
                break
    once = outcomes.count("once")
    print(f"{len(outcomes)} rounds, {once} once, {len(outcomes) - once} perhaps twice")


if __name__ == "__main__":
    main()
