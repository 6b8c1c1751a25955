"""An agent with real tools on a real store; model and user are scripted."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_desktop.agent.sandbox.grants import Access, Level, SandboxStatus
from hermes_desktop.agent.sandbox.session_grants import SessionGrants
from hermes_desktop.agent.tools.asking.approval_memory import ApprovalStore
from hermes_desktop.agent.tools.asking.request_queue import Attendant, RequestQueue
from hermes_desktop.agent.tools.executor import ToolBox
from hermes_desktop.agent.tools.processes.process_table import ProcessTable
from hermes_desktop.agent.tools.tool_assembly import ToolParts, build_tools
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import ToolCall
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.user_requests import ApprovalChoice, UserRequest
from hermes_desktop.state import SessionDB
from tests.fakes.agents import ScriptedModel
from tests.fakes.prompts import prompts_beside

SID = "20260304_120000_abcdef"
KEY = "agent:main:desktop:dm:1"


def call(name: str, call_id: str = "c1", **arguments: Any) -> ToolCall:
    """Return a tool call as a model makes it."""
    return ToolCall(call_id, name, json.dumps(arguments))


class ToolStage:
    """Everything between a scripted model and real files below one folder.

    Args:
        folder: The folder.
        level: The sandbox that is really used, as by default; None: it is switched off.
        config: The configuration.
    """

    def __init__(self, folder: Path, *, level: Level | None = None, **config: Any) -> None:
        self.user_home = folder / "user"
        self.home = self.user_home / ".hermes"
        self.cwd = self.user_home / "work"
        self.cwd.mkdir(parents=True)
        self.home.mkdir()
        self.config = config
        self.level = level
        self.platform = "desktop"
        self.clock = SystemClock()
        self.db = SessionDB(self.home / "state.db")
        self.model = ScriptedModel()
        self.redactor = SecretRedactor()
        self.queue = RequestQueue(self.clock)
        self.questions = self.queue
        self.memory = ApprovalStore(self.home / "desktop" / "approvals")
        self.environ = {"PATH": "/usr/bin:/bin", "HOME": str(self.user_home), "LANG": "C.UTF-8"}
        self.processes = ProcessTable(self.clock, self.home / "desktop" / "processes")
        self.grants = SessionGrants(self.db.get_compression_lineage)
        self.queue.on_session_end(self.grants.end)
        self.keep_grant: Callable[[Access], object] | None = None
        self.asked: list[UserRequest] = []

    def close(self) -> None:
        self.processes.close()
        self.db.close()

    def tools(self, platform: str = "") -> ToolBox:
        parts = ToolParts(
            home=self.home,
            user_home=self.user_home,
            store=self.db,
            clock=self.clock,
            environ=self.environ,
            clean=self.redactor.clean,
            queue=self.queue,
            memory=self.memory,
            processes=self.processes,
            sandbox_status=lambda: SandboxStatus(self.level or Level.NONE),
            grants=self.grants,
            keep_grant=self.keep_grant,
        )
        config = dict(self.config)
        if self.level is None:
            config["approvals"] = {"sandboxed_commands": "off"} | config.get("approvals", {})
        box = build_tools(
            parts, config, platform=platform or self.platform, session_key=KEY, cwd=self.cwd
        )
        assert box is not None
        return box

    def agent(self, *, session_id: str = SID, **options: Any) -> AIAgent:
        return AIAgent(
            provider=self.model,
            store=self.db,
            prompts=prompts_beside(self.db),
            session_id=session_id,
            source="desktop",
            clock=self.clock,
            tools=self.tools(),
            **options,
        )

    def person(self, choose: Callable[[UserRequest], ApprovalChoice | None]) -> Callable[[], None]:
        """Answer approval prompts by a function; None leaves a prompt unanswered."""

        def asked(request: UserRequest) -> None:
            self.asked.append(request)
            choice = choose(request)
            if choice is not None:
                threading.Thread(target=self.queue.answer, args=(request.id, choice)).start()

        return self.queue.attend(Attendant(lambda request: request.kind == "approval", asked))

    def answers(self, say: Callable[[UserRequest], str | None]) -> Callable[[], None]:
        """Answer questions of the assistant by a function; None leaves a question unanswered."""

        def asked(question: UserRequest) -> None:
            words = say(question)
            if words is not None:
                threading.Thread(target=self.queue.answer, args=(question.id, words)).start()

        return self.queue.attend(Attendant(lambda request: request.kind == "question", asked))

    def result(
        self, *calls: ToolCall, session_id: str = SID, **options: Any
    ) -> list[dict[str, Any]]:
        """Return the tool results that a model receives for these calls in one answer."""
        self.model.calls.append(calls)
        self.agent(session_id=session_id, **options).run_conversation("Do it")
        told = [each for each in self.db.get_messages(session_id) if each["role"] == "tool"]
        return [json.loads(each["content"]) for each in told[-len(calls) :]]
