"""What one save of a setting costs, as counts; nothing here depends on the machine.

pytest tests/benchmarks/test_settings_figures.py --benchmark-only -s
"""

import asyncio
from pathlib import Path

from pytest_benchmark.fixture import BenchmarkFixture

from hermes_desktop.services.settings.settings_repository import OPTIONS, Change
from tests.fakes.save_costs import Costs, costs_of, countable, settings_of_used_home
from tests.fakes.soak_figures import table


async def measure(home: Path) -> list[tuple[str, Costs]]:
    async with settings_of_used_home(home) as settings:
        (view,) = await settings.look("agent.max_turns")
        first = Change("agent.max_turns", 61, seen=view.seen)
        last = Change("agent.max_turns", 62)
        given = {"OPENROUTER_API_KEY": "sk-or-" + "b" * 20}
        return [
            ("the first number", await costs_of(home, lambda: settings.apply([first]))),
            ("another number", await costs_of(home, lambda: settings.apply([last]))),
            ("a secret", await costs_of(home, lambda: settings.apply([], given))),
            ("looking at all", await costs_of(home, settings.look)),
        ]


def test_one_save(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    rows: list[tuple[str, Costs]] = []

    def run() -> None:
        with countable():
            rows.extend(asyncio.run(measure(tmp_path / "home")))

    benchmark.pedantic(run, rounds=1)
    head = ("saved", "calls", "modules", "reads", "of", "looks", "YAML parses")
    lines = [
        (
            name,
            str(costs.calls),
            str(len(costs.modules)),
            str(sum(costs.reads.values())),
            ", ".join(f"{file} {count}" for file, count in costs.reads.items()),
            str(costs.looks),
            str(costs.parses),
        )
        for name, costs in rows
    ]
    print(f"\n{len(OPTIONS)} settings\n{table(head, lines)}")
