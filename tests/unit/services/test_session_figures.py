"""How full a session is about, before its first turn here: with the prompt that will be sent."""

import asyncio
from pathlib import Path

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.core.text.stored_text import estimate_text
from hermes_desktop.services.agents.agent_builder import AgentBuilder
from hermes_desktop.services.agents.session_figures import SessionStatistics
from hermes_desktop.state import SessionDB


def test_it_counts_the_prompt_that_is_sent(tmp_path: Path) -> None:
    db = SessionDB(tmp_path / "state.db")
    paths = HermesPaths(tmp_path, tmp_path)
    builder = AgentBuilder(paths, db, SecretRedactor(), {}, offline=True, clock=SystemClock())
    figures = SessionStatistics(db, builder)

    def tokens(session_id: str) -> int:
        found = asyncio.run(figures.context(session_id))
        assert found is not None
        return found.used_tokens

    theirs, ours = "their words " * 300, "our words " * 30
    for name, prompt in (("none", None), ("theirs", theirs), ("ours", theirs)):
        db.create_session(name, "cli", system_prompt=prompt)
        db.append_message(name, "user", "Hello")
    builder.prompts.settle("ours", lambda _stored: ours)
    try:
        bare = tokens("none")
        assert tokens("theirs") == bare + estimate_text(theirs)
        assert tokens("ours") == bare + estimate_text(ours)
        assert asyncio.run(figures.context("unknown")) is None
    finally:
        figures.close()
        builder.prompts.close()
        db.close()
