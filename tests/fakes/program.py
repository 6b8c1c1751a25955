"""The real program as a process with an environment of its own, and queries of its home."""

import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_desktop.state import SessionDB
from tests.fakes.warm_start import DEADLINE_S, WarmProgram

CHECKOUT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-m", "hermes_desktop")

Converse = Callable[..., str]
"""The fixture that stores a session: ``converse("id", "said", "answered", …, title=…)``."""

_INHERITED = ("PATH", "SYSTEMROOT", "TMPDIR", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")


@dataclass(frozen=True)
class Outcome:
    """The result of a run."""

    code: int
    out: str
    err: str


@dataclass
class Program:
    """Starts ``hermes-desktop`` for one home."""

    home: Path
    environ: dict[str, str] = field(default_factory=dict)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        own = {
            "HOME": str(self.home.parent),
            "HERMES_HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(CHECKOUT),
            "PYTHONWARNINGS": "error",
            "TZ": "UTC",
        }
        return {**kept, **own, **self.environ, **(extra or {})}

    def run(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> Outcome:
        environ, folder = self.environment(env), self.home.parent
        warm = _warm_program().run(arguments, environ, folder, stdin)
        if warm is not None:
            code, out, err = warm
        else:
            done = subprocess.run(
                [*PROGRAM, *arguments],
                input=stdin,
                capture_output=True,
                env=environ,
                cwd=folder,
                timeout=DEADLINE_S,
                check=False,
            )
            code, out, err = done.returncode, done.stdout, done.stderr
        return Outcome(code, out.decode(errors="replace"), err.decode())

    def start_arguments(self, *arguments: str) -> list[str]:
        return [*PROGRAM, *arguments]

    def start(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [*PROGRAM, *arguments],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment(),
            cwd=self.home.parent,
        )


@functools.cache
def _warm_program() -> WarmProgram:
    """The process of this test process from which short commands are forked."""
    return WarmProgram(Program(Path("/")).environment())


def files_of(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, with its bytes."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def names(lines: Sequence[str]) -> list[str]:
    """Return the first field of each line of ``sessions list`` in a pipe."""
    return [line.split("\t")[0] for line in lines]


def rows(home: Path, **wanted: Any) -> list[dict[str, Any]]:
    """Return all sessions, the latest activity first."""
    database = SessionDB(home / "state.db")
    try:
        return database.search_sessions(**wanted)
    finally:
        database.close()


def said(home: Path, session_id: str) -> list[tuple[str, str]]:
    database = SessionDB(home / "state.db")
    try:
        return [(row["role"], row["content"]) for row in database.get_messages(session_id)]
    finally:
        database.close()


def old(
    db: SessionDB, session_id: str, text: str, *, source: str = "cli", age_s: float = 9e5
) -> str:
    """Store a session whose only message is old."""
    db.create_session(session_id, source)
    db.append_message(session_id, "user", text, timestamp=time.time() - age_s)
    return session_id
