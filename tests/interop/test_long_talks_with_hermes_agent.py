"""Two thousand turns, shortened again and again: one row there and here, and they go on."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.compression.compression_settings import CompressionSettings
from hermes_desktop.agent.compression.compression_turn import ContextLimiter
from hermes_desktop.agent.compression.context_compression import Compactor
from hermes_desktop.agent.context_length import ContextWindows
from hermes_desktop.agent.providers.base import Retries
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.text.stored_text import SUMMARY_MARK
from hermes_desktop.state import SessionDB
from tests.fakes.model_server import ModelServer, Recorded, Reply, text
from tests.fakes.narrow_model import NarrowModel
from tests.fakes.prompts import prompts_beside
from tests.interop.conftest import RealHermes

TURNS = 2_000
ROOT = Path(__file__).parents[2]


def talk(db: SessionDB, session_id: str, title: str, *, in_place: bool) -> str:
    """Have a conversation; the session that it ends in."""
    db.create_session(session_id, "cli", model="narrow", system_prompt="You help.")
    db.set_session_title(session_id, title)
    with NarrowModel().serve() as server:
        choice = ModelChoice("narrow", server.base_url, None, "custom", "a test", "openai", 10_000)
        providers = [
            OpenAICompatibleProvider(choice, retries=Retries(0), redactor=SecretRedactor())
            for _ in range(2)
        ]
        care = Compactor(
            store=db,
            prompts=prompts_beside(db),
            provider=providers[0],
            windows=ContextWindows(),
            settings=CompressionSettings(in_place=in_place),
            clock=SystemClock(),
        )
        agent = AIAgent(
            provider=providers[1],
            store=db,
            prompts=prompts_beside(db),
            session_id=session_id,
            source="cli",
            clock=SystemClock(),
            room=ContextLimiter(care, db),
        )
        for number in range(TURNS):
            assert agent.run_conversation(f"This is number {number} of many.")["completed"]
        agent.close()
        return str(agent.session_id)


def ours(hermes: RealHermes, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hermes_desktop", *words],
        env={**hermes.environment(), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def settings(server: ModelServer) -> str:
    model = {
        "default": "narrow",
        "provider": "custom",
        "base_url": server.base_url,
        "api_key": "k",
        "context_length": 200_000,
    }
    return json.dumps({"model": model, "auxiliary": {"title_generation": {"enabled": False}}})


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_each_is_one_row_there_and_here_and_goes_on_by_either_program(hermes: Any) -> None:
    first = {"rotated": "20260304_120000_aaaaaa", "compact": "20260304_120000_bbbbbb"}
    db = SessionDB(hermes.state_db)
    last = {
        name: talk(db, session_id, f"Talk {name}", in_place=name == "compact")
        for name, session_id in first.items()
    }
    chain = db.get_compression_lineage(first["rotated"])
    assert len(chain) > 5
    assert (chain[-1], last["compact"]) == (last["rotated"], first["compact"])
    listed = hermes.command("sessions", "list", "--limit", "100")
    assert len(re.findall(r"\d{8}_\d{6}_[0-9a-f]{6}", listed)) == 2, listed
    assert listed.count("Talk rotated") == listed.count("Talk compact") == 1, listed
    assert last["rotated"] in listed
    assert last["compact"] in listed
    here = json.loads(ours(hermes, "sessions", "list", "--json"))
    assert sorted(each["id"] for each in here) == sorted(last.values())

    asked: list[list[dict[str, Any]]] = []

    def answer(request: Recorded) -> Reply:
        asked.append(request.messages)
        return text("Gladly.")

    with ModelServer(responder=answer) as server:
        (hermes.home / "config.yaml").write_text(settings(server))
        for name, session_id in first.items():
            hermes.command("chat", "-Q", "-q", "And there?", "--resume", session_id)
            ours(hermes, "chat", "-q", "And here?", "--resume", session_id)
            for told in (asked[-2], asked[-1]):
                words = [str(each["content"]) for each in told if each["role"] != "system"]
                assert words[0].startswith("This is number 0 of many.")
                assert sum(SUMMARY_MARK in each for each in words) == 1
                assert sum("This is number 1999 of many." in each for each in words) == 1
            said = [row["content"] for row in db.get_messages(last[name]) if row["role"] == "user"]
            assert said[-2:] == ["And there?", "And here?"]
    assert db.get_compression_lineage(first["rotated"]) == chain
    db.close()
