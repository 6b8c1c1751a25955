"""What the second message of a chat passes. Run ``pytest tests/benchmarks --benchmark-only -s``.

Budget of the architecture: at most 90 of our modules.
"""

import asyncio
from pathlib import Path

from pytest_benchmark.fixture import BenchmarkFixture

from tests.benchmarks.message_path import MessagePath, telegram_path, window_path

MOST_MODULES = 90


def report(benchmark: BenchmarkFixture, path: MessagePath) -> None:
    """Put the counts beside the figure; the time is that of the whole stage and says nothing."""
    benchmark.extra_info["modules"] = len(path.modules)
    benchmark.extra_info["share_of_budget"] = round(len(path.modules) / MOST_MODULES, 3)
    benchmark.extra_info["calls"] = path.calls.total()
    benchmark.extra_info["opened_files"] = path.files
    benchmark.extra_info["sql_statements"] = path.statements
    print(f"\n{benchmark.name}: {path.report()}")


def test_a_second_message_on_telegram(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    report(benchmark, benchmark.pedantic(lambda: asyncio.run(telegram_path(tmp_path)), rounds=1))


def test_a_second_message_in_the_window(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    report(benchmark, benchmark.pedantic(lambda: asyncio.run(window_path(tmp_path)), rounds=1))
