"""What plugins cost a turn. Run with ``pytest tests/benchmarks --benchmark-only``.

Floor: a turn with a model that answers at once (``test_gateway_figures``), some 10 ms.
"""

import threading
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from hermes_desktop.agent.providers.base import Reply
from hermes_desktop.agent.turns.turn_hooks import TurnHooks
from hermes_desktop.agent.types import AgentResult, ChatRequest, Finished, TextDelta
from tests.fakes.agents import CHOICE
from tests.fakes.plugin_folders import care, enable, plugin, shell_hooks
from tests.fakes.plugins import registered

HISTORY = [
    {"role": role, "content": f"{number} " * 40}
    for number in range(500)
    for role in ("user", "assistant")
]


def one_turn(history: list[dict[str, str]]) -> None:
    """All hooks of one turn."""
    hooks = TurnHooks("s", None, CHOICE, "cli", threading.Event())
    request = ChatRequest("m", tuple(history))
    reply = Reply(Finished("stop"))
    reply.take(TextDelta("Hello"))
    hooks.session_started()
    hooks.context("Hi", history, is_first_turn=True)
    hooks.asking(request)
    hooks.answered(request, reply)
    hooks.over(AgentResult(completed=True, final_response="Hello"), "Hi", history)


def test_hooks_that_nobody_listens_to(benchmark: BenchmarkFixture) -> None:
    benchmark(one_turn, HISTORY)
    print(f"\nno plugin: {benchmark.stats.stats.median * 1e6:.1f} µs a turn")


def test_a_plugin_that_listens_to_three(benchmark: BenchmarkFixture) -> None:
    with (
        registered("on_session_start", lambda **_: None),
        registered("transform_llm_output", lambda **_: None),
        registered("on_session_end", lambda **_: None),
    ):
        benchmark(one_turn, HISTORY)
    print(f"\nthree callbacks: {benchmark.stats.stats.median * 1e6:.0f} µs a turn")


def test_a_plugin_that_is_told_a_conversation_of_a_thousand_messages(
    benchmark: BenchmarkFixture,
) -> None:
    with registered("pre_llm_call", lambda **_: None):
        benchmark(one_turn, HISTORY)
    print(f"\npre_llm_call, 1,000 messages: {benchmark.stats.stats.median * 1e3:.2f} ms a turn")


@pytest.mark.parametrize("furnished", [False, True], ids=["nothing", "ten plugins"])
def test_the_start_of_a_home(
    benchmark: BenchmarkFixture, tmp_path: Path, *, furnished: bool
) -> None:
    if furnished:
        for number in range(10):
            plugin(tmp_path, f"p{number}", "def register(ctx): ...\n" + "# words\n" * 200)
        shell_hooks(tmp_path, on_session_end=[{"command": "true"}])
        enable(tmp_path)

    def start() -> None:
        made, _ = care(tmp_path)
        made.load()
        made.close()

    benchmark(start)
    words = "ten plugins" if furnished else "nothing to load"
    print(f"\n{words}: {benchmark.stats.stats.median * 1e3:.2f} ms a start")
