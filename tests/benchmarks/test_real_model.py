"""A whole conversation with a real model, through the window: a tool, a question, an answer.

    HERMES_REAL_MODEL=1 python -m pytest tests/benchmarks/test_real_model.py --benchmark-only -s

Fetches 1.0 GB once; ``HERMES_PICTURES`` names a folder for pictures of the window, and
``HERMES_REAL_MODEL_THREADS`` how many threads the model gets (2; on a busy machine 1 is faster).
``-o faulthandler_timeout=0`` keeps pytest from printing stacks meanwhile.
The model is small: what it says is its own, so that only what the program does is asserted. Its
instructions are short, and it gets one tool, because it reads a hundred tokens a second at best.
"""

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import ToolFinished, TurnDelta, TurnStarted
from hermes_desktop.core.user_requests import RequestPending
from hermes_desktop.ui.shell.asking import Asking
from hermes_desktop.ui.start.application import DesktopLoop, LoopWatchdog, run_on_loop
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.real_model import KEY, NAME, real_model
from tests.fakes.window_stage import WindowStage

PATIENCE_S = 1500.0
THREADS = int(os.environ.get("HERMES_REAL_MODEL_THREADS", "2"))

PROJECT = (
    "git init -q . && git config user.name Ada && git config user.email ada@example.com",
    "echo 'def double(n): return n + n' > double.py",
    "echo 'from double import double; assert double(21) == 42' > test_double.py",
    "python3 test_double.py && git add . && git commit -q -m double",
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(5400)]


@dataclass
class Turn:
    """One turn as the person saw it, in seconds from its beginning."""

    said: str
    began: float = 0.0
    first: float = 0.0
    asked: float = 0.0
    whole: float = 0.0
    pieces: int = 0
    reply: str = ""


@dataclass
class Figures:
    turns: list[Turn] = field(default_factory=list)
    blocks: list[float] = field(default_factory=list)

    def print(self) -> None:
        print(f"\n{NAME}, {THREADS} thread(s), load {os.getloadavg()[0]:.1f}")
        for turn in self.turns:
            asked = f", asked after {turn.asked:.1f} s" if turn.asked else ""
            print(f"  “{turn.said}”{asked}")
            print(
                f"    first piece after {turn.first:.1f} s, all after {turn.whole:.1f} s, "
                f"{turn.pieces} pieces: {turn.reply[:100]!r}"
            )
        longest = max(self.blocks, default=0.0) * 1000
        print(f"  main thread held over 50 ms {len(self.blocks)} times, longest {longest:.0f} ms")


class RealStage(WindowStage):
    """The window over a home whose model is real, with somebody who can be asked."""

    def __init__(
        self, home: Path, theme: Theme, base_url: str, figures: Figures, *, sandboxed: bool
    ) -> None:
        super().__init__(home, theme)
        self.base_url = base_url
        self.sandboxed = sandboxed
        self.work = home.parent / "work"
        self.figures = figures
        self.tools: list[ToolFinished] = []

    def configure(self) -> None:
        (self.work / "build").mkdir(parents=True)
        (self.work / "build" / "old.o").write_text("x", encoding="utf-8")
        config = {
            "model": {"default": NAME, "base_url": self.base_url, "api_key": KEY},
            "platform_toolsets": {"desktop": ["terminal"]},
            "agent": {"disabled_toolsets": ["process"]},
            "terminal": {"cwd": str(self.work)},
            "approvals": {
                "timeout": 600,
                "sandboxed_commands": "auto" if self.sandboxed else "off",
            },
            "auxiliary": {"title_generation": {"enabled": False}},
        }
        (self.home / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
        soul = "You are Hermes, a helpful assistant on this computer. Answer briefly.\n"
        (self.home / "SOUL.md").write_text(soul, encoding="utf-8")

    async def _show(self) -> None:
        await super()._show()
        self.asking = Asking(
            self.services,
            self.bridge,
            page=self.window.page,
            window=self.window,
            theme=self.theme,
            clock=SystemClock(),
        )
        self.asking.open()
        bus = self.services.bus
        bus.subscribe(TurnStarted, self._began)
        bus.subscribe(TurnDelta, self._piece)
        bus.subscribe(RequestPending, self._asked)
        bus.subscribe(ToolFinished, self.tools.append)

    async def __aexit__(self, *details: object) -> None:
        self.asking.end()
        await super().__aexit__(*details)

    async def say(self, text: str, *, allow: bool = False) -> Turn:
        """Type it, send it, answer the question if one comes, wait for the end."""
        turn = Turn(text)
        self.figures.turns.append(turn)
        before = len(self.finished)
        composer = self.window.page.composer
        await self.until(composer.field.isEnabled)
        composer.field.setFocus()
        QTest.keyClicks(composer.field, text)
        QTest.keyClick(composer.field, Qt.Key.Key_Return)
        sheet = self.asking.presenter.sheet
        if allow:
            await self.until(lambda: sheet.armed or len(self.finished) > before, PATIENCE_S)
            await self.picture("asked")
            sheet.buttons["once"].click()
        await self.until(lambda: len(self.finished) > before, PATIENCE_S)
        turn.whole = time.monotonic() - turn.began
        turn.reply = self.finished[before].reply
        assert self.finished[before].outcome == "done", self.finished[before].error_detail
        return turn

    async def picture(self, name: str) -> None:
        folder = os.environ.get("HERMES_PICTURES")
        if folder:
            await asyncio.sleep(0.3)  # not by a loop within this one: other tasks would never wake
            self.window.grab().save(f"{folder}/real-model-{name}.png")

    def _began(self, _event: TurnStarted) -> None:
        self.figures.turns[-1].began = time.monotonic()

    def _piece(self, event: TurnDelta) -> None:
        turn = self.figures.turns[-1]
        turn.pieces += event.kind == "text"
        turn.first = turn.first or time.monotonic() - turn.began

    def _asked(self, _event: RequestPending) -> None:
        turn = self.figures.turns[-1]
        turn.asked = time.monotonic() - turn.began


Talk = Callable[[RealStage], Awaitable[None]]


def converse(
    talk: Talk, app: QApplication, benchmark: BenchmarkFixture, folder: Path, *, sandboxed: bool
) -> Figures:
    """Talk to the real model in a window, print the figures and return them."""
    home = folder / "person" / "home"
    home.mkdir(parents=True)
    figures = Figures()
    watchdog = LoopWatchdog(report=lambda took, _stack: figures.blocks.append(took))

    async def whole(base_url: str) -> None:
        theme = Theme(app, "light")
        async with RealStage(home, theme, base_url, figures, sandboxed=sandboxed) as stage:
            await talk(stage)

    with real_model(THREADS) as base_url:
        benchmark.pedantic(
            lambda: run_on_loop(lambda: whole(base_url), DesktopLoop(app, watchdog)), rounds=1
        )
    watchdog.close()
    figures.print()
    return figures


def test_a_conversation_in_the_window(
    qapp: QApplication, benchmark: BenchmarkFixture, tmp_path: Path
) -> None:
    async def talk(stage: RealStage) -> None:
        await stage.say("Hello! My name is Ada.")
        await stage.say("Please run the command: rm -rf build", allow=True)
        await stage.say("Which name did I tell you?")
        await stage.until(lambda: "Ada" in stage.shown_text())
        await stage.picture("end")
        assert [tool.name for tool in stage.tools] == ["terminal"]
        assert stage.tools[0].ok
        assert not (stage.work / "build").exists()

    converse(talk, qapp, benchmark, tmp_path, sandboxed=False)


@pytest.mark.needs("sandbox", "git")
def test_a_small_project_in_the_sandbox(
    qapp: QApplication, benchmark: BenchmarkFixture, tmp_path: Path
) -> None:
    """A repository, a module, its test and a commit; nothing is asked, nothing outside changes."""

    async def talk(stage: RealStage) -> None:
        for command in PROJECT:
            await stage.say(f"Please run the command: {command}")
        await stage.picture("project")
        assert all(tool.ok for tool in stage.tools)
        assert (stage.work / "test_double.py").is_file()

    figures = converse(talk, qapp, benchmark, tmp_path, sandboxed=True)
    assert [turn.said for turn in figures.turns if turn.asked] == []
    log = subprocess.run(
        ["git", "log", "--format=%s"],
        cwd=tmp_path / "person" / "work",
        capture_output=True,
        text=True,
        check=True,
    )
    assert log.stdout == "double\n"
