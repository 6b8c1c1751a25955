"""The JSON-RPC server in the test's own process, with a scripted model under real agents."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import AgentRequest, ModelChoice
from hermes_desktop.commands.added_commands import AddedCommand
from hermes_desktop.commands.context import ProgramFacts
from hermes_desktop.core.errors import HermesError, StateError
from hermes_desktop.services.sessions.session_catalog import find_session_id
from hermes_desktop.state import SessionDB
from hermes_desktop.tui_gateway import server
from hermes_desktop.tui_gateway.program import RpcProgram
from hermes_desktop.tui_gateway.protocol import Frame
from hermes_desktop.tui_gateway.serving_state import Session, current_peer
from tests.fakes.agents import CHOICE, ScriptedModel
from tests.fakes.clock import MovableClock
from tests.fakes.prompts import prompts_beside

PATIENCE_S = 60.0


class Peer:
    """A peer that records its frames."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.alive = True
        self._changed = threading.Condition()

    def write(self, frame: Frame) -> bool:
        with self._changed:
            self.frames.append(frame)
            self._changed.notify_all()
        return self.alive

    def kinds(self) -> list[str]:
        return [each["params"]["type"] for each in self.frames]

    def payloads(self, kind: str) -> list[Any]:
        return [
            each["params"].get("payload") for each in self.frames if each["params"]["type"] == kind
        ]

    def wait_for(self, kind: str, count: int = 1) -> Any:
        """Wait for an event of a kind, counted from 1, and return its payload."""
        with self._changed:
            came = self._changed.wait_for(lambda: self.kinds().count(kind) >= count, PATIENCE_S)
        assert came, self.frames
        return self.payloads(kind)[count - 1]


class FailingDB(SessionDB):
    """A database whose methods named in ``failing`` raise an error."""

    failing: frozenset[str] = frozenset()

    def __getattribute__(self, name: str) -> Any:
        if name in object.__getattribute__(self, "failing"):
            raise StateError(f"{name} failed.")
        return super().__getattribute__(name)


@dataclass
class Settings:
    """Settings that a test can change."""

    mode: str = "interrupt"
    limit: int | None = None
    fingerprint: str = "1"

    def document(self) -> Mapping[str, Any]:
        return {"model": "scripted"}

    def mtime(self) -> float:
        return 1.0

    def providers(self) -> Sequence[Mapping[str, Any]]:
        return [{"slug": "test", "name": "Test", "models": []}]

    def busy_mode(self) -> str:
        return self.mode

    def most_sessions(self) -> int | None:
        return self.limit


@dataclass
class Places:
    """Session leases in a dictionary, which a test can change."""

    taken: dict[str, str] = field(default_factory=dict)

    def take(self, session_id: str, limit: int) -> str | None:
        if len(self.taken) >= limit:
            return None
        lease = f"lease {len(self.taken)}"
        self.taken[lease] = session_id
        return lease

    def give_back(self, lease: str) -> None:
        self.taken.pop(lease, None)

    def move(self, lease: str, session_id: str) -> None:
        self.taken[lease] = session_id


@dataclass
class ServerStage:
    """The server, set up for one test."""

    db: FailingDB
    home: Path
    model: ScriptedModel = field(default_factory=ScriptedModel)
    settings: Settings = field(default_factory=Settings)
    places: Places = field(default_factory=Places)
    clock: MovableClock = field(default_factory=MovableClock)
    peer: Peer = field(default_factory=Peer)
    trouble: HermesError | None = None
    make_agent: Callable[[AgentRequest], Any] | None = None
    own_commands: Sequence[AddedCommand] = ()

    def build(self, request: AgentRequest) -> Any:
        if self.trouble is not None:
            raise self.trouble
        if self.make_agent is not None:
            return self.make_agent(request)
        return self.plain_agent(request)

    def plain_agent(self, request: AgentRequest) -> AIAgent:
        return AIAgent(
            provider=self.model,
            store=self.db,
            prompts=prompts_beside(self.db),
            session_id=request.session_id,
            source=request.source,
            clock=self.clock,
            session_fields=request.session_fields,
        )

    def choose_model(self, chosen: Mapping[str, str]) -> ModelChoice:
        if self.trouble is not None:
            raise self.trouble
        return CHOICE

    def fingerprint(self) -> str:
        return self.settings.fingerprint

    def plan(self, session_id: str) -> Any:
        return SimpleNamespace(segments=[session_id], subagents=[])

    def delete(self, plan: Any) -> None:
        self.db.delete_sessions([plan.segments[0]])

    def program(self) -> RpcProgram:
        return RpcProgram(
            db=lambda: self.db,
            agents=self,
            settings=self.settings,
            places=self.places,
            trash=self,
            find=find_session_id,
            is_platform=lambda source: source == "telegram",
            facts=ProgramFacts(version="9", home=self.home),
            home=self.home,
            saved_dir=self.home / "saved",
            clock=self.clock,
            own_commands=lambda: self.own_commands,
        )

    # Requests of tests

    def request(self, method: str, peer: Peer | None = None, **params: Any) -> Frame:
        token = current_peer.set(peer or self.peer)
        try:
            return server.handle_request({"id": 1, "method": method, "params": params})
        finally:
            current_peer.reset(token)

    def call(self, method: str, peer: Peer | None = None, **params: Any) -> Any:
        answer = self.request(method, peer, **params)
        assert "error" not in answer, answer
        return answer["result"]

    def code(self, method: str, **params: Any) -> int:
        return int(self.request(method, **params)["error"]["code"])

    def begin(self, **params: Any) -> tuple[str, Session]:
        sid = self.call("session.create", **params)["session_id"]
        return sid, server._sessions[sid]

    def say(self, sid: str, text: str, **params: Any) -> Any:
        """Submit a prompt and wait until the session is free again."""
        count = self.peer.kinds().count("message.complete") + 1
        self.call("prompt.submit", session_id=sid, text=text, **params)
        complete = self.peer.wait_for("message.complete", count)
        over = server._sessions[sid]["_turn_over"]
        assert over.wait(PATIENCE_S)
        return complete


@contextmanager
def served(home: Path) -> Iterator[ServerStage]:
    """Configure the server's module, and reset it afterwards."""
    stage = ServerStage(FailingDB(home / "state.db"), home)
    server.configure(stage.program())
    try:
        yield stage
    finally:
        stage.model.hold.set()
        stage.db.failing = frozenset()
        for sid in tuple(server._sessions):
            stage.call("session.close", session_id=sid)
        server.configure(None)
        stage.db.close()
