"""Sessions that both programs take turns in: each is sent with that program's own prompt."""

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer, Recorded
from tests.interop.conftest import RealHermes, choose_model

pytestmark = [pytest.mark.slow, pytest.mark.two_processes, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
THEIRS = "You are Hermes Agent"
OURS = "You are Hermes, a personal assistant"


def ours(hermes: RealHermes, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hermes_desktop", "chat", *words],
        env={**hermes.environment(), "PYTHONPATH": str(ROOT)},
        cwd=hermes.home.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def row(hermes: RealHermes) -> tuple[str, str | None]:
    """The only session: its id and the prompt in its row."""
    with contextlib.closing(sqlite3.connect(hermes.state_db)) as conn:
        ((session_id, prompt),) = conn.execute("SELECT id, system_prompt FROM sessions").fetchall()
    return session_id, prompt


def system(request: Recorded) -> str:
    return str(request.messages[0]["content"])


def turns(server: ModelServer) -> list[Recorded]:
    """The requests of turns; some releases also ask what a model can be told."""
    return [each for each in server.requests if each.path.endswith("/chat/completions")]


def tools(request: Recorded) -> set[str]:
    return {each["function"]["name"] for each in request.json["tools"]}


def test_one_that_began_here(hermes: RealHermes, server: ModelServer) -> None:
    choose_model(hermes.home, server)
    ours(hermes, "-q", "Hello from here")
    session_id, prompt = row(hermes)
    assert prompt is None
    for number in range(2):
        hermes.command("chat", "--resume", session_id, "-q", f"Hello from there {number}")
        ours(hermes, "--resume", session_id, "-q", f"Again from here {number}")
    first, theirs, second, again, third = turns(server)
    assert system(first).startswith(OURS)
    assert system(first) == system(second) == system(third)
    assert second.messages[: len(first.messages)] == first.messages
    assert third.messages[: len(second.messages)] == second.messages
    # Theirs is its own, with its skills, and none of ours is in it.
    assert system(theirs).startswith(THEIRS)
    assert "skill_view" in system(theirs)
    assert OURS not in system(theirs)
    assert system(theirs) == system(again) == row(hermes)[1]
    said = [each["content"] for each in theirs.messages if each["role"] == "user"]
    assert said == ["Hello from here", "Hello from there 0"]


def test_one_that_began_there(hermes: RealHermes, server: ModelServer) -> None:
    choose_model(hermes.home, server)
    hermes.command("chat", "-q", "Hello from there")
    session_id, prompt = row(hermes)
    assert prompt is not None
    ours(hermes, "--resume", session_id, "-q", "Hello from here")
    hermes.command("chat", "--resume", session_id, "-q", "Again from there")
    ours(hermes, "--resume", session_id, "-q", "Again from here")
    theirs, first, again, second = turns(server)
    assert system(theirs) == system(again) == prompt == row(hermes)[1]
    assert system(first) == system(second)
    assert system(first).startswith(prompt)
    added = system(first).removeprefix(prompt)
    lacking = tools(theirs) - tools(first)
    named = {name for name in lacking if name in prompt}
    assert named >= {"cronjob", "skill_view", "skill_manage"}
    assert all(name in added for name in named)
    assert not any(name in added for name in tools(first))


def test_older_releases_build_their_own(old_hermes: RealHermes, server: ModelServer) -> None:
    choose_model(old_hermes.home, server)
    ours(old_hermes, "-q", "Hello from here")
    session_id, prompt = row(old_hermes)
    assert prompt is None
    old_hermes.command("chat", "--resume", session_id, "-q", "Hello from there")
    ours(old_hermes, "--resume", session_id, "-q", "Again from here")
    first, theirs, second = turns(server)
    assert system(theirs).startswith(THEIRS)
    assert OURS not in system(theirs)
    assert system(first) == system(second)
    assert second.messages[: len(first.messages)] == first.messages
    said = [each["content"] for each in theirs.messages if each["role"] == "user"]
    assert said == ["Hello from here", "Hello from there"]
