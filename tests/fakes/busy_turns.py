"""Turns of a real agent in every state in which they can be stopped."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import SplitResult

from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.tools.web import web_fetch
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import AgentResult
from tests.fakes import model_server as fake
from tests.fakes.agents import CHOICE
from tests.fakes.model_server import ModelServer
from tests.fakes.prompts import prompts_beside
from tests.fakes.tool_stage import SID, ToolStage, call
from tests.support.waiting import wait_until

_PATIENCE_S = 60.0


@dataclass
class Busy:
    """A turn that has reached its state.

    Attributes:
        stopped_after_s: Time from the stop to the end of the turn; set by :meth:`stop`.
    """

    stage: ToolStage
    agent: AIAgent
    result: AgentResult | None = None
    stopped_after_s: float = 0.0

    def stop(self) -> AgentResult:
        """Stop the turn and wait for its end."""
        began = time.monotonic()
        self.agent.interrupt()
        self._thread.join(_PATIENCE_S)
        self.stopped_after_s = time.monotonic() - began
        assert self.result is not None, "the turn goes on"
        return self.result

    def begin(self, is_there: Callable[[], bool]) -> None:
        """Start the turn and wait until it has reached its state."""

        def run() -> None:
            self.result = self.agent.run_conversation("Do it")

        self._thread = threading.Thread(target=run)
        self._thread.start()
        wait_until(is_there)


@contextmanager
def _asking(stage: ToolStage, reply: fake.Reply, count: int = 1) -> Iterator[Busy]:
    with ModelServer() as server:
        server.script(reply)
        choice = replace(CHOICE, base_url=server.base_url)
        provider = OpenAICompatibleProvider(choice)
        agent = AIAgent(
            provider=provider,
            store=stage.db,
            prompts=prompts_beside(stage.db),
            session_id=SID,
            source="desktop",
            clock=stage.clock,
            tools=stage.tools(),
        )
        busy = Busy(stage, agent)
        busy.begin(lambda: len(server.requests) >= count)
        yield busy
        agent.close()


@contextmanager
def _running(stage: ToolStage, command: str, **more: object) -> Iterator[Busy]:
    begun = stage.cwd / "begun"
    stage.config["approvals"] = {"mode": "off"}
    stage.model.calls = [(call("terminal", command=f"echo x > begun; {command}", **more),)]
    busy = Busy(stage, stage.agent())
    busy.begin(begun.exists)
    yield busy


@contextmanager
def _waiting_for_a_process(stage: ToolStage) -> Iterator[Busy]:
    first = stage.result(call("terminal", "a", command="sleep 60", background=True))[0]
    begun = threading.Event()
    stage.model.on_ask = lambda _request: begun.set()
    stage.model.calls = [(call("process", action="wait", session_id=first["session_id"]),)]
    busy = Busy(stage, stage.agent())
    busy.begin(begun.is_set)
    yield busy


@contextmanager
def _fetching(stage: ToolStage, *, name_is_found: bool) -> Iterator[Busy]:
    """Fetch a page of a server that does not respond, or whose name lookup does not end."""
    never, asked = threading.Event(), threading.Event()

    def here(_parts: SplitResult) -> str:
        asked.set()
        if not name_is_found:
            never.wait(_PATIENCE_S)
        return "127.0.0.1"

    usual, web_fetch.public_address = web_fetch.public_address, here
    try:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            stage.model.calls = [(call("web_fetch", url=f"http://example.test:{port}/"),)]
            busy = Busy(stage, stage.agent())
            busy.begin(asked.is_set)
            if name_is_found:
                connection, _ = silent.accept()
                with contextlib.closing(connection):
                    connection.recv(65536)
                    yield busy
            else:
                yield busy
    finally:
        never.set()
        web_fetch.public_address = usual


@contextmanager
def _asking_for_leave(stage: ToolStage) -> Iterator[Busy]:
    leave = stage.person(lambda _request: None)
    stage.model.calls = [(call("terminal", command="rm -rf build"),)]
    busy = Busy(stage, stage.agent())
    busy.begin(lambda: bool(stage.queue.pending()))
    yield busy
    leave()


@contextmanager
def _asking_a_question(stage: ToolStage) -> Iterator[Busy]:
    leave = stage.answers(lambda _question: None)
    stage.model.calls = [(call("clarify", question="Which?"),)]
    busy = Busy(stage, stage.agent())
    busy.begin(lambda: bool(stage.questions.pending()))
    yield busy
    leave()


STATES: dict[str, Callable[[ToolStage], contextlib.AbstractContextManager[Busy]]] = {
    "no first byte": lambda stage: _asking(stage, fake.hang()),
    "a silent stream": lambda stage: _asking(stage, fake.hang("x")),
    "only signs of life": lambda stage: _asking(stage, fake.raw([b": alive\n\n", fake.HANG])),
    "a pause before the next attempt": lambda stage: _asking(
        stage, fake.error(429, headers={"Retry-After": "60"})
    ),
    "a command": lambda stage: _running(stage, "sleep 60"),
    "a command that hears no signal": lambda stage: _running(
        stage, "trap '' TERM INT HUP; while true; do sleep 60; done"
    ),
    "a command that floods": lambda stage: _running(stage, "yes"),
    "a command with many children": lambda stage: _running(
        stage, "for i in 1 2 3 4 5 6 7 8 9; do (setsid sleep 60 &) ; done; sleep 60"
    ),
    "a process that is waited for": _waiting_for_a_process,
    "a silent page": lambda stage: _fetching(stage, name_is_found=True),
    "a name that is looked up": lambda stage: _fetching(stage, name_is_found=False),
    "an open approval": _asking_for_leave,
    "an open question": _asking_a_question,
}


@contextmanager
def busy_turn(state: str, folder: Path) -> Iterator[Busy]:
    """Yield a turn in one of the states."""
    stage = ToolStage(folder)
    try:
        with STATES[state](stage) as busy:
            yield busy
    finally:
        stage.close()
