"""Event hooks: who hears of what, in which order, and whatever they do."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from hermes_desktop.gateway.runner.hooks import EventHookSet, verdict_on_command
from hermes_desktop.plugins.hooks import HookRegistry
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio


@pytest.fixture
def hooks() -> Iterator[EventHookSet]:
    made = EventHookSet(HookRegistry(slow_s=0.2, known=None))
    yield made
    made.close()


async def test_exact_ones_come_first_and_each_gets_its_own_context(hooks: EventHookSet) -> None:
    heard: list[tuple[str, Any]] = []

    def general(event_type: str, context: dict[str, Any]) -> str:
        heard.append(("general", context.pop("x")))
        return "general"

    async def exact(event_type: str, context: dict[str, Any]) -> str:
        await asyncio.sleep(0)
        heard.append(("exact", context.pop("x")))
        return "exact"

    hooks.add("one", ("command:*",), general)
    hooks.add("two", ("command:stop",), exact, description="d", path="/p")
    context = {"x": 1}
    assert await hooks.emit_collect("command:stop", context) == ["exact", "general"]
    assert heard == [("exact", 1), ("general", 1)]
    assert context == {"x": 1}
    assert await hooks.emit_collect("session:end", {}) == []
    assert hooks.loaded_hooks[1] == {
        "name": "two",
        "events": ["command:stop"],
        "description": "d",
        "path": "/p",
    }


async def test_handlers_that_raise_block_or_hang_stop_nobody(
    hooks: EventHookSet, caplog: pytest.LogCaptureFixture
) -> None:
    release = threading.Event()

    async def blocks(event_type: str, context: dict[str, Any]) -> None:
        release.wait(60)  # what stops a loop that it runs on

    def leaves(event_type: str, context: dict[str, Any]) -> None:
        raise SystemExit(1)

    async def answers(event_type: str, context: dict[str, Any]) -> str:
        return event_type

    for name, handle in (("blocks", blocks), ("leaves", leaves), ("answers", answers)):
        hooks.add(name, ("agent:end",), handle)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.005)

    ticking = asyncio.ensure_future(tick())
    for _ in range(4):
        assert await hooks.emit_collect("agent:end", {}) == ["agent:end"]
    ticking.cancel()
    assert ticks > 20
    assert "handle of the hook blocks took longer than 0.2 s 3 times and is off" in caplog.text
    release.set()
    await until(lambda: not any(t.name == "plugin-hook" for t in threading.enumerate()))


async def test_an_event_that_is_never_told_is_named(
    hooks: EventHookSet, caplog: pytest.LogCaptureFixture
) -> None:
    hooks.add("steps", ("agent:step", "command:new"), lambda *_: None)
    assert "The hook steps handles agent:step, which does not exist here" in caplog.text
    assert "command:new" not in caplog.text


@pytest.mark.parametrize(
    ("answers", "decision"),
    [
        ([], None),
        ([None, "deny", {"decision": "allow"}], None),
        ([{"decision": "allow"}, {"decision": "deny"}, {"decision": "handled"}], "deny"),
    ],
)
async def test_the_first_decision_counts(answers: list[Any], decision: str | None) -> None:
    assert verdict_on_command(answers).get("decision") == decision
