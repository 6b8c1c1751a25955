"""Connections share one TLS context."""

from pathlib import Path

from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.providers.shared_tls import RENEWED_S, SharedTls
from hermes_desktop.agent.types import AgentRequest
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.agents.agent_builder import AgentBuilder
from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock


def test_it_is_made_once_and_anew_after_a_day() -> None:
    clock = MovableClock()
    tls = SharedTls(clock)
    first = tls.context()
    clock.advance(RENEWED_S - 1)
    assert tls.context() is first
    clock.advance(2)
    assert tls.context() is not first


def test_agents_share_it(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "model: {default: m, base_url: 'http://127.0.0.1:9/v1'}\n", encoding="utf-8"
    )
    paths = HermesPaths(tmp_path, tmp_path)
    db = SessionDB(tmp_path / "state.db")
    builder = AgentBuilder(
        paths, db, SecretRedactor(), {}, offline=False, clock=MovableClock()
    )  # fmt: skip
    agents = [builder.build(AgentRequest(f"s{n}", "telegram", f"key{n}")) for n in range(2)]
    providers = [agent._provider._provider for agent in agents]
    assert all(isinstance(each, OpenAICompatibleProvider) for each in providers)
    assert providers[0]._endpoint._tls is providers[1]._endpoint._tls  # type: ignore[attr-defined]
    for agent in agents:
        agent.close()
    db.close()
