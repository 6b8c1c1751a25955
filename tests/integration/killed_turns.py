"""Turns in which a conversation is shortened, each killed before another statement. A program.

    python killed_turns.py TEMPLATE FOLDER URL MODE STEP...

For each STEP a child works on a copy of TEMPLATE, FOLDER/STEP.db, and is killed with SIGKILL before
its so-many-th statement. Prints a line ``STEP SIGNAL STATEMENTS`` for each; the last figure is how
many there were, 0 when it was killed.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

from hermes_desktop.agent.compression.compression_settings import CompressionSettings
from hermes_desktop.agent.compression.compression_turn import ContextLimiter
from hermes_desktop.agent.compression.context_compression import Compactor
from hermes_desktop.agent.context_length import ContextWindows
from hermes_desktop.agent.providers.base import Retries
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.state import SessionDB
from tests.fakes.prompts import prompts_beside

SID = "20260304_120000_abcdef"
TEXT = "And now?"


def agent_on(db: SessionDB, session_id: str, base_url: str, *, in_place: bool) -> AIAgent:
    """An agent whose model takes 10,000 tokens."""
    choice = ModelChoice("narrow", base_url, None, "custom", "a test", "openai", 10_000)
    care = Compactor(
        store=db,
        prompts=prompts_beside(db),
        provider=OpenAICompatibleProvider(choice, retries=Retries(0)),
        windows=ContextWindows(),
        settings=CompressionSettings(in_place=in_place),
        clock=SystemClock(),
    )
    return AIAgent(
        provider=OpenAICompatibleProvider(choice, retries=Retries(0)),
        store=db,
        prompts=prompts_beside(db),
        session_id=session_id,
        source="desktop",
        clock=SystemClock(),
        room=ContextLimiter(care, db),
    )


def work(path: Path, base_url: str, mode: str, step: int) -> int:
    """One turn, killed before a statement; how many there were."""
    db = SessionDB(path)
    seen = 0

    def traced(_statement: str) -> None:
        nonlocal seen
        seen += 1
        if seen == step:
            os.kill(os.getpid(), signal.SIGKILL)

    db._conn.set_trace_callback(traced)
    agent = agent_on(db, SID, base_url, in_place=mode == "in_place")
    agent.bind(SID, db.get_messages_as_conversation(SID))
    agent.run_conversation(TEXT)
    agent.close()
    db.close()
    return seen


def killed(path: Path, base_url: str, mode: str, step: int) -> tuple[int, int]:
    """The same in a child: the signal that ended it, and the statements."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        seen = -1
        try:
            seen = work(path, base_url, mode, step)
            os.write(writing, str(seen).encode())
        finally:
            os._exit(0 if seen > 0 else 1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, int(said or 0)


def main() -> None:
    template, folder, base_url, mode = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:5]
    for step in map(int, sys.argv[5:]):
        path = folder / f"{step}.db"
        shutil.copy(template, path)
        ended, seen = killed(path, base_url, mode, step)
        print(step, ended, seen, flush=True)


if __name__ == "__main__":
    main()
