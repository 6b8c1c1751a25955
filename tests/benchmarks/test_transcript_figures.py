"""How long the window's thread is held up by a transcript.

Run with ``pytest tests/benchmarks/test_transcript_figures.py --benchmark-only -s``. Budgets of the
architecture: no block over 30 ms while a 60 KB reply streams, the end of a session of 15,000
messages painted within 100 ms. Nothing here fails on a slow machine; the figures are printed.
"""

import asyncio
import gc
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication
from pytest_benchmark.fixture import BenchmarkFixture

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.events import TurnFinished
from hermes_desktop.services.sessions.transcript import TranscriptPage, TranscriptReader
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import Message, SessionSummary
from hermes_desktop.ui.start.application import DesktopLoop
from hermes_desktop.ui.transcript.transcript_view import TranscriptView
from hermes_desktop.ui.widgets.theme import Theme

REPLY_CHARACTERS = 60_000
DELTAS_A_SECOND = 200
MESSAGES = 15_000
BLOCK_BUDGET_MS = 30
PAINT_BUDGET_MS = 100
_NOW = 1_795_867_200.0


class Heartbeat(QObject):
    """Ticks a thousand times a second and notes how late it was at worst.

    The longest processor time between two ticks is noted as well: on a busy machine, other
    programs delay a tick, too.
    """

    def __init__(self) -> None:
        super().__init__()
        self.longest_ms = 0.0
        self.longest_cpu_ms = 0.0
        self.over_16_ms = 0
        self._last = time.perf_counter()
        self._last_cpu = time.thread_time()
        self._timer = QTimer(self, interval=1, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)

    def __enter__(self) -> Self:
        self._last, self._last_cpu = time.perf_counter(), time.thread_time()
        self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._tick()
        self._timer.stop()

    def _tick(self) -> None:
        now, cpu = time.perf_counter(), time.thread_time()
        late = (now - self._last) * 1000 - 1
        self.longest_cpu_ms = max(self.longest_cpu_ms, (cpu - self._last_cpu) * 1000)
        self._last, self._last_cpu = now, cpu
        self.longest_ms = max(self.longest_ms, late)
        self.over_16_ms += late > 16


@dataclass
class Stage:
    loop: DesktopLoop
    view: TranscriptView
    workers: WorkerThreads

    def run(self, scene: Callable[[], Awaitable[None]]) -> None:
        self.loop.run_until_complete(scene())


@pytest.fixture
def stage(qapp: QApplication) -> Iterator[Stage]:
    qapp.setQuitOnLastWindowClosed(False)
    theme = Theme(qapp, "light")
    workers = WorkerThreads("ui-parse")
    loop = DesktopLoop(qapp)
    asyncio.set_event_loop(loop)
    view = TranscriptView(theme, workers)
    view.resize(900, 700)
    view.show()
    gc.freeze()  # as the program does once its window stands
    yield Stage(loop, view, workers)
    gc.unfreeze()
    view.hide()
    view.deleteLater()
    theme.deleteLater()
    workers.close()
    loop.run_until_complete(asyncio.sleep(0.05))
    loop.close()
    asyncio.set_event_loop(None)


def reply_of(characters: int) -> str:
    """Mixed Markdown, always the same: prose, lists, tables, quotes, short and long code."""
    rng = random.Random(7)
    words = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dogs", "while", "rain"]

    def prose(count: int) -> str:
        picked = [rng.choice(words) for _ in range(count)]
        for position in range(5, count, 11):
            picked[position] = rng.choice([f"**{picked[position]}**", f"`{picked[position]}`"])
        return " ".join(picked)

    parts: list[str] = []
    while sum(map(len, parts)) < characters:
        parts.append(f"## {prose(4)}\n\n{prose(60)}\n\n{prose(40)}\n\n")
        parts.append("".join(f"{n}. {prose(9)}\n" for n in range(1, 8)) + "\n")
        rows = "".join(f"| {prose(2)} | {n} | {prose(3)} |\n" for n in range(6))
        parts.append(f"| a | b | c |\n|---|--:|---|\n{rows}\n")
        code = "".join(f"    total += weigh({n}, {prose(3)!r})  # {prose(4)}\n" for n in range(25))
        parts.append(f"```python\ndef run(total: int) -> int:\n{code}    return total\n```\n\n")
        parts.append(f"> {prose(25)}\n\n")
    return "".join(parts)[:characters]


def code_of(characters: int) -> str:
    """One open fence for the whole reply."""
    line = "    result = [weigh(item) for item in items if item.ready]  # twice\n"
    return "```python\n" + line * (characters // len(line)) + "```\n"


def messages_of(count: int, content: str = "") -> list[Message]:
    text = content or reply_of(1_500)
    return [
        Message(
            id=number,
            session_id="s",
            role="assistant" if number % 2 else "user",
            content=text if number % 2 else f"Question {number}: {text[:90]}",
            timestamp=_NOW + number * 60,
        )
        for number in range(1, count + 1)
    ]


def page_of(messages: list[Message]) -> TranscriptPage:
    session = SessionSummary("s", "s", "cli", "Long", "", _NOW, _NOW, message_count=len(messages))
    return TranscriptPage(session, tuple(messages), has_older=False)


async def settle(view: TranscriptView) -> None:
    """Wait until nothing is left to build."""
    shown = view.window_of_entries.shown
    while len(view.area.column.items) < len(shown):
        await asyncio.sleep(0.01)


def report(benchmark: BenchmarkFixture, beat: Heartbeat, budget_ms: float, **more: float) -> None:
    benchmark.extra_info.update(longest_block_ms=round(beat.longest_ms, 1), **more)
    extra = "".join(f", {name} {value:,.1f}" for name, value in more.items())
    print(
        f"\n{benchmark.name}: longest block {beat.longest_ms:.1f} ms (budget {budget_ms} ms),"
        f" {beat.longest_cpu_ms:.1f} ms of processor time,"
        f" {beat.over_16_ms} blocks over 16 ms{extra}"
    )


@pytest.mark.parametrize("kind", ["mixed", "one fence"])
def test_a_60_kb_reply_at_200_pieces_a_second(
    benchmark: BenchmarkFixture, stage: Stage, kind: str
) -> None:
    reply = reply_of(REPLY_CHARACTERS) if kind == "mixed" else code_of(REPLY_CHARACTERS)
    size = 60
    beat = Heartbeat()

    async def scene() -> None:
        stage.view.set_page(page_of(messages_of(40)))
        await settle(stage.view)
        await asyncio.sleep(0.3)
        stage.view.begin_turn("t", "Tell me everything.")
        with beat:
            for start in range(0, len(reply), size):
                stage.view.add_delta("t", reply[start : start + size])
                await asyncio.sleep(1 / DELTAS_A_SECOND)
            await asyncio.sleep(0.1)
            stage.view.finish_turn(TurnFinished("t", "k", "s", 1, "done", reply))
            await asyncio.sleep(0.5)

    benchmark.pedantic(stage.run, args=(scene,), rounds=1)
    report(benchmark, beat, BLOCK_BUDGET_MS)


def test_opening_a_session_of_15000_messages(
    benchmark: BenchmarkFixture, stage: Stage, tmp_path: Path
) -> None:
    db = SessionDB(tmp_path / "state.db")
    db.create_session("s", "cli")
    db.replace_messages(
        "s",
        [
            {"role": message.role, "content": message.content, "timestamp": message.timestamp}
            for message in messages_of(MESSAGES)
        ],
    )
    readers = WorkerThreads("state-read")
    beat = Heartbeat()
    painted: list[float] = []
    whole: list[float] = []

    async def scene() -> None:
        await asyncio.sleep(0.2)
        with beat:
            begin = time.perf_counter()
            stage.view.first_painted.connect(lambda: painted.append(time.perf_counter() - begin))
            stage.view.set_page(await TranscriptReader(db, readers).open("s"))
            await settle(stage.view)
            whole.append(time.perf_counter() - begin)
            await asyncio.sleep(0.3)

    benchmark.pedantic(stage.run, args=(scene,), rounds=1)
    readers.close()
    db.close()
    figures = {"first_paint_ms": painted[0] * 1000, "sixty_messages_ms": whole[0] * 1000}
    report(benchmark, beat, BLOCK_BUDGET_MS, **figures)


def test_three_hundred_widgets_alive(benchmark: BenchmarkFixture, stage: Stage) -> None:
    """The most that stands at once: built in slices, then the window is made narrower."""
    beat = Heartbeat()

    async def scene() -> None:
        await asyncio.sleep(0.2)
        with beat:
            stage.view.set_page(page_of(messages_of(300)))
            await settle(stage.view)
            stage.view.resize(620, 700)
            await asyncio.sleep(1.0)

    benchmark.pedantic(stage.run, args=(scene,), rounds=1)
    report(benchmark, beat, BLOCK_BUDGET_MS)


def test_a_message_of_one_megabyte_on_one_line(benchmark: BenchmarkFixture, stage: Stage) -> None:
    beat = Heartbeat()

    async def scene() -> None:
        await asyncio.sleep(0.2)
        with beat:
            stage.view.set_page(page_of(messages_of(1, "x" * 1_000_000)))
            await settle(stage.view)
            await asyncio.sleep(0.3)

    benchmark.pedantic(stage.run, args=(scene,), rounds=1)
    report(benchmark, beat, BLOCK_BUDGET_MS)


_WORDS = " ".join(["the quick brown fox jumps over lazy dogs while it rains"] * 10)
HARDEST = {
    "table of 1,000 rows": "| a | b | c | d |\n|---|--:|---|---|\n"
    + "".join(f"| the fox {n} | {n} | **brown** | `code {n}` |\n" for n in range(1_000)),
    "table of 40 columns": ("|" + " a |" * 40 + "\n|" + "---|" * 40 + "\n")
    + ("|" + " cell text |" * 40 + "\n") * 60,
    "lines of 10,000 characters": "\n\n".join(
        f"{word * (10_000 // len(word))}" for word in ("x", "word ", "**bold** `code` ", "旅行計画")
    ),
    "code of 10,000 characters a line": "```python\n"
    + ("x = '" + "y" * 10_000 + "'\n") * 8
    + "```",
    "lists ten deep": "".join(f"{'  ' * (n % 10)}- {n} {_WORDS[:40]}\n" for n in range(1_500)),
    "quotes ten deep": "".join(f"{'>' * (n % 10 + 1)} {n} {_WORDS[:40]}\n\n" for n in range(800)),
}


@pytest.mark.parametrize("kind", HARDEST)
def test_the_hardest_markdown(benchmark: BenchmarkFixture, stage: Stage, kind: str) -> None:
    """Opened, then scrolled from top to bottom."""
    opening, scrolling = Heartbeat(), Heartbeat()

    async def scene() -> None:
        await asyncio.sleep(0.2)
        with opening:
            stage.view.set_page(page_of(messages_of(1, HARDEST[kind])))
            await settle(stage.view)
            await asyncio.sleep(0.3)
        bar = stage.view.area.verticalScrollBar()
        with scrolling:
            for step in range(61):
                bar.setValue(bar.maximum() * step // 60)
                await asyncio.sleep(0.02)

    benchmark.pedantic(stage.run, args=(scene,), rounds=1)
    more = {"scrolling_ms": scrolling.longest_ms, "scrolling_cpu_ms": scrolling.longest_cpu_ms}
    report(benchmark, opening, BLOCK_BUDGET_MS, **more)
