"""Everyday commands, run with and without the sandbox in a small project."""

import json
import os
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

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


_HOME = {
    ".gitconfig": "[user]\n\tname = Ada\n\temail = ada@example.org\n",
    ".config/git/ignore": "*.tmp\n",
}
_TOOLS = (
    *(".pyenv/versions/3.99/bin/python3", ".pyenv/shims/tool-of-pyenv"),
    *(".cargo/bin/tool-of-cargo", ".nvm/versions/node/v99/bin/tool-of-nvm"),
    ".local/share/uv/tools/x/bin/tool-of-uv",
)
Result = Literal["works", "asks", "fails", "is missing here", "fails here anyway"]
_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Tried:
    """One command.

    Attributes:
        result: What became of it inside; the last two were not tried.
        said: What it said, or asked for.
    """

    line: str
    result: Result
    said: str = ""


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


def _make_home(home: Path) -> None:
    """Make a home with settings of git and with tools that are installed there."""
    for name in (*_HOME, *_TOOLS):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_HOME.get(name, '#!/bin/sh\nexec /usr/bin/python3 "$@" < /dev/null\n'))
        path.chmod(0o755)
    link = home / ".local/bin/tool-of-uv"
    link.parent.mkdir(parents=True)
    link.symlink_to(home / _TOOLS[-1])


def tried(folder: Path, level: Level, every: int = 1) -> Iterator[Tried]:
    """Run every n-th command without a sandbox and at a level, each in a project of its own."""
    for number, line in enumerate(everyday_lines()[::every]):
        stage = ToolStage(folder / str(number), level=level)
        stage.queue.set_free(KEY, free=True)
        plain, home = folder / f"{number}-plain", folder / f"{number}-home"
        try:
            stage.environ["PATH"] = os.environ["PATH"]
            for each in (plain, home):
                each.mkdir()
            _make(stage.cwd)
            _make(plain)
            _make_home(stage.user_home)
            _make_home(home)
            why_not = _without_a_sandbox(line, plain, {**stage.environ, "HOME": str(home)})
            yield Tried(line, why_not) if why_not else _inside(line, stage)
        finally:
            stage.close()


def _without_a_sandbox(line: str, cwd: Path, environ: dict[str, str]) -> Result | None:
    """Return why a command need not be tried inside; None if it works."""
    try:
        ended = subprocess.run(
            ["bash", "-c", line],
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return "fails here anyway"
    if ended.returncode == 0:
        return None
    missing = ended.returncode == 127 or b"command not found" in ended.stderr
    return "is missing here" if missing else "fails here anyway"


def _inside(line: str, stage: ToolStage) -> Tried:
    turn = ToolTurn(SID, "t", threading.Event())
    [result] = stage.tools().run([call("terminal", command=line, timeout=_TIMEOUT_S)], turn)
    answer: dict[str, Any] = json.loads(result.content)
    if answer.get("exit_code") == 0 and not answer.get("error"):
        return Tried(line, "works")
    if wanted := answer.get("not_granted"):
        return Tried(line, "asks", ", ".join(wanted))
    return Tried(line, "fails", str(answer.get("error") or answer.get("output"))[-300:])


def table(found: Sequence[Tried], title: str) -> str:
    """Return a table for people, with the commands that do not simply work."""
    count = Counter(each.result for each in found)
    really = count["works"] + count["asks"] + count["fails"]
    share = 100 * (count["works"] + count["asks"]) / max(1, really)
    head = f"{title}: {len(found)} commands, {really} tried: {count['works']} work, "
    head += f"{count['asks']} ask, {count['fails']} fail: {share:.1f} % work or ask"
    lines = [head]
    for result in ("asks", "fails"):
        named = [each for each in found if each.result == result]
        lines += [f"  {result}: {each.line}\n    {each.said[-200:]!r}" for each in named]
    for result in ("is missing here", "fails here anyway"):
        listed = [each.line for each in found if each.result == result]
        lines.append(f"  not tried, {result}: {len(listed)}: {' | '.join(listed)}")
    return "\n".join(lines)
