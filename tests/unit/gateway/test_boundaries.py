"""Telling plugins and event hooks of boundaries: in order, bounded, whatever they do."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from hermes_desktop.core.concurrency.bounded_calls import BoundedCalls
from hermes_desktop.gateway.runner.hooks import HookCalls
from hermes_desktop.gateway.runner.state import RunnerState
from tests.fakes.plugins import EventHooks, listening, registered
from tests.support.waiting import until


@pytest.fixture
def boundaries() -> Iterator[HookCalls]:
    made = HookCalls(RunnerState(), limit_s=0.05)
    yield made
    made.close()


@pytest.mark.asyncio
async def test_calls_come_one_after_the_other_off_the_loop(boundaries: HookCalls) -> None:
    threads: set[str] = set()

    def note(**_: Any) -> None:
        threads.add(threading.current_thread().name)

    with listening() as heard, registered("on_session_reset", note):
        await boundaries.finalize("old", "telegram", "idle")
        await boundaries.reset("new", "telegram", "idle")
    assert heard.calls == [
        ("on_session_finalize", {"session_id": "old", "platform": "telegram"}, "idle"),
        ("on_session_reset", {"session_id": "new", "platform": "telegram"}, "idle"),
    ]
    assert threads == {"plugin-hook"}


@pytest.mark.asyncio
async def test_a_hanging_plugin_is_named_and_not_waited_for(
    boundaries: HookCalls, caplog: pytest.LogCaptureFixture
) -> None:
    release = threading.Event()

    def hang(**_: Any) -> None:
        release.wait(60)

    with registered("on_session_finalize", hang), listening("on_session_reset") as heard:
        await boundaries.finalize("old", "telegram", "idle")
        await boundaries.reset("new", "telegram", "idle")
        release.set()
    assert heard.brief() == [("on_session_reset", "new")]
    assert "on_session_finalize is not awaited any longer" in caplog.text


@pytest.mark.asyncio
async def test_answers_come_back_and_closing_is_no_reason_to_fail(boundaries: HookCalls) -> None:
    with registered("pre_gateway_dispatch", lambda **_: {"action": "skip"}):
        assert await boundaries.invoke("pre_gateway_dispatch") == [{"action": "skip"}]
    boundaries.close()
    assert await boundaries.invoke("pre_gateway_dispatch") == []
    await until(lambda: not any(t.name.startswith("gateway-hooks") for t in threading.enumerate()))


class BrokenHooks:
    """They raise, and when they are slow they do not even hear that they are cancelled."""

    wake = asyncio.Event()

    async def emit(self, event_type: str, context: dict[str, Any]) -> None:
        if event_type == "slow":
            while not self.wake.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await self.wake.wait()
        raise OSError("no such hook")


@pytest.mark.asyncio
async def test_event_hooks_may_fail_or_hang(caplog: pytest.LogCaptureFixture) -> None:
    hooks, calls = EventHooks(), BoundedCalls(grace_s=0.01)
    state = RunnerState(hooks=hooks, bounded=calls, event_hooks_s=1)
    hook_calls = HookCalls(state)
    await hook_calls.emit("session:end", None, session_key="k")
    nobody = {"platform": "", "user_id": None}
    assert hooks.heard == [("session:end", {**nobody, "session_key": "k"})]
    state.hooks = None
    await hook_calls.emit("session:end", None)
    state.hooks = BrokenHooks()
    await hook_calls.emit("session:end", None)
    state.event_hooks_s = 0.01
    await hook_calls.emit("slow", None)
    assert len(calls) == 1
    BrokenHooks.wake.set()
    await until(lambda: len(calls) == 0)
    assert "The hooks of session:end failed" in caplog.text
    assert "The hooks of slow took too long" in caplog.text
