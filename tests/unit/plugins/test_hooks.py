"""Callbacks of plugins: called in order, kept apart, switched off when they are too slow."""

import threading
from typing import Any

import pytest

from hermes_desktop import plugins
from hermes_desktop.plugins.hooks import MAX_OVERRUNS, HookRegistry, boundary_reason_set
from tests.fakes.clock import MovableClock


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def registry(clock: MovableClock) -> HookRegistry:
    return HookRegistry(clock, slow_s=5.0)


def test_callbacks_are_called_in_order_and_answers_are_kept(registry: HookRegistry) -> None:
    seen: list[Any] = []
    registry.register("on_session_end", lambda **given: seen.append(("a", given)))
    registry.register("on_session_end", lambda **_: {"b": 1})
    take_back = registry.register("on_session_end", lambda **_: "c")
    assert registry.invoke("on_session_end", {"session_id": "s"}) == [{"b": 1}, "c"]
    assert seen == [("a", {"session_id": "s"})]
    take_back()
    take_back()
    assert registry.invoke("on_session_end", {}) == [{"b": 1}]
    assert registry.invoke("pre_llm_call", {}) == []
    assert registry.has("on_session_end")
    assert not registry.has("pre_llm_call")


def test_a_callback_that_raises_is_named_and_hurts_nobody(
    registry: HookRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(**_: Any) -> None:
        raise KeyError("gone")

    registry.register("on_session_reset", broken, plugin="notes")
    registry.register("on_session_reset", lambda **_: "after")
    assert registry.invoke("on_session_reset", {}) == ["after"]
    assert "broken of notes failed in on_session_reset" in caplog.text


def test_a_hook_that_nobody_knows_is_kept(
    registry: HookRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    registry.register("on_full_moon", lambda **_: 1, plugin="notes")
    assert "not a hook of this version" in caplog.text
    assert registry.invoke("on_full_moon", {}) == [1]


def test_a_callback_that_was_slow_three_times_is_off(
    registry: HookRegistry, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    def slow(**_: Any) -> str:
        clock.advance(5.5)
        return "at last"

    registry.register("on_session_finalize", slow, plugin="notes")
    registry.register("on_session_finalize", lambda **_: "quick")
    for _ in range(MAX_OVERRUNS):
        assert registry.invoke("on_session_finalize", {}) == ["at last", "quick"]
    assert registry.invoke("on_session_finalize", {}) == ["quick"]
    assert registry.invoke("on_session_finalize", {}) == ["quick"]
    said = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert len(said) == 1
    assert "slow of notes took longer than 5 s 3 times and is off" in said[0]
    assert registry.has("on_session_finalize")


def test_a_callback_that_never_returns_is_off_after_three_calls(
    registry: HookRegistry, clock: MovableClock
) -> None:
    release, begun = threading.Event(), threading.Semaphore(0)

    def hang(**_: Any) -> None:
        begun.release()
        release.wait(60)

    registry.register("on_session_finalize", hang, plugin="notes")
    threads = []
    for _ in range(MAX_OVERRUNS):
        threads.append(threading.Thread(target=registry.invoke, args=("on_session_finalize", {})))
        threads[-1].start()
        assert begun.acquire(timeout=60)
        assert registry.hanging() == ([] if len(threads) == 1 else registry.hanging())
        clock.advance(6)
    assert [name.split()[-1] for name in registry.hanging()] == ["notes"]
    assert registry.invoke("on_session_finalize", {}) == []
    assert not registry.has("on_session_finalize")
    release.set()
    for thread in threads:
        thread.join(60)
    assert registry.hanging() == []


def test_the_reason_of_a_boundary_stands_beside_the_call() -> None:
    seen: list[str] = []
    take_back = plugins.register_hook(
        "on_session_reset", lambda **_: seen.append(plugins.boundary_reason())
    )
    with boundary_reason_set("idle"):
        plugins.invoke_hook("on_session_reset", session_id="s", platform="telegram")
    plugins.invoke_hook("on_session_reset", session_id="s", platform="telegram")
    take_back()
    assert seen == ["idle", ""]
    assert not plugins.has_callbacks("on_session_reset")
