"""Everyday commands, run with and without the sandbox in a small project."""

import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.agent.sandbox.grants import Level
from hermes_desktop.agent.turns.tool_rounds import ToolTurn
from tests.fakes.tool_stage import KEY, SID, ToolStage, call

_LINES = Path(__file__).with_name("everyday.txt")
_FILES = {
    "notes.txt": "one\nTODO two\nthree\n",
    "table.csv": "a,1\nb,2\n",
    "data.json": '{"a": [1, 2]}\n',
    "src/app.py": '"""App."""\nprint("hello")\n',
    "tests/test_app.py": "import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n",
    "hello.c": '#include <stdio.h>\nint main(void) { puts("hi"); return 0; }\n',
    "Makefile": "all:\n\t@echo built > built.txt\n",
    "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"hello": "echo hi"}}\n',
    "run.sh": "echo run\n",
}
_SET_UP = """
tar czf given.tgz --transform 's,^src,given,' src
git init -q . && git config user.name Ada && git config user.email ada@example.org
git add -A && git commit -qm first && echo more >> notes.txt && git commit -qam second
git checkout -q -b side HEAD~1 && echo s > side.txt && git add -A && git commit -qm side
git checkout -q -
"""


@dataclass(frozen=True, slots=True)
class Tried:
    """One command.

    Attributes:
        works_plain: Whether it works without a sandbox here.
        works_inside: Whether it works inside.
    """

    line: str
    works_plain: bool
    works_inside: bool
    said: str


def everyday_lines() -> list[str]:
    """Return the commands."""
    lines = _LINES.read_text("utf-8").splitlines()
    return [each for each in lines if each and not each.startswith("#")]


def _make(folder: Path) -> None:
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["bash", "-c", _SET_UP], cwd=folder, check=True, capture_output=True)


def tried(folder: Path, level: Level, every: int = 1) -> Iterator[Tried]:
    """Run every n-th command without a sandbox and at a level, each in a project of its own."""
    for number, line in enumerate(everyday_lines()[::every]):
        stage = ToolStage(folder / str(number), level=level)
        stage.queue.set_free(KEY, free=True)
        plain = folder / f"{number}-plain"
        home = folder / f"{number}-home"
        try:
            stage.environ["PATH"] = os.environ["PATH"]
            for each in (plain, home):
                each.mkdir()
            _make(stage.cwd)
            _make(plain)
            usual = subprocess.run(
                ["bash", "-c", line],
                cwd=plain,
                env={**stage.environ, "HOME": str(home)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=120,
            )
            turn = ToolTurn(SID, "t", threading.Event())
            [result] = stage.tools().run([call("terminal", command=line, timeout=120)], turn)
            inside = '"exit_code": 0' in result.content and '"error": null' in result.content
            yield Tried(line, usual.returncode == 0, inside, result.content[:300])
        finally:
            stage.close()


def table(found: list[Tried], title: str) -> str:
    """Return a table for people: the commands that fail inside alone."""
    count = [each for each in found if each.works_plain]
    failed = [each for each in count if not each.works_inside]
    share = 100 * (len(count) - len(failed)) / max(1, len(count))
    head = f"{title}: {len(found)} commands, {len(count)} work here, {share:.1f} % of them inside"
    return "\n".join([head, *(f"  {each.line}\n    {each.said[:160]}" for each in failed)])
