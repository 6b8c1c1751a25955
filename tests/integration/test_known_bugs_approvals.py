"""A question of a tool that waits in a chat, and the plain word that answers it."""

import threading
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import AgentResult
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.user_requests import UserAnswer
from hermes_desktop.gateway.runner.chat_requests import ChatApprovals
from tests.fakes.gateway import running_gateway
from tests.fakes.user_requests import approval_request
from tests.support.waiting import until

KEY = "agent:main:telegram:dm:c1"


class AskingAgent(AIAgent):
    """An agent that asks its person before it answers."""

    queue: ClassVar[RequestQueue]
    answers: ClassVar[list[UserAnswer]]

    def run_conversation(self, *args: Any, **kwargs: Any) -> AgentResult:
        now = time.time()
        request = approval_request(
            "1", KEY, "s", "u1", "telegram", "terminal", "rm -rf x", "/home/otto",
            ("It deletes.",), ("once", "deny"), now, now + 60,
        )  # fmt: skip
        self.answers.append(self.queue.ask(request, threading.Event(), 60))
        return super().run_conversation(*args, **kwargs)


@pytest.mark.asyncio
@pytest.mark.parametrize(("word", "choice"), [("yes", "once"), ("No.", "deny")])
async def test_a_plain_word_answers_what_waits(tmp_path: Path, word: str, choice: str) -> None:
    """#46866: “yes” waited behind the turn that waited for it."""
    AskingAgent.queue, AskingAgent.answers = RequestQueue(SystemClock()), []
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        gateway.factory.kind = AskingAgent
        gateway.runner.state.approvals = asks = ChatApprovals(gateway.runner, AskingAgent.queue)
        asks.open()
        running = gateway.telegram.receive("clean up")
        await until(lambda: any("May I do this?" in text for _, text in gateway.telegram.sent))
        await gateway.telegram.receive(word)
        assert await running == "reply 1"
        assert [each.text for each in AskingAgent.answers] == [choice]
        assert len(gateway.model.requests) == 1
        asks.close()
