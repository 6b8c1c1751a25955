"""Which model answers, and who stands by, as the agents of a program are made."""

from pathlib import Path

import pytest

from hermes_desktop.agent.providers.fallback import FallbackProvider
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.types import AgentRequest
from hermes_desktop.core.errors import NotConfiguredError
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.agents.agent_builder import (
    AgentBuilder,
    AgentSettings,
    read_agent_settings,
)
from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock

OWN = "http://127.0.0.1:9/v1"


def _read(
    home: Path, config: str, chosen: dict[str, str] | None = None, **environ: str
) -> AgentSettings:
    (home / "config.yaml").write_text(config, encoding="utf-8")
    redactor = SecretRedactor()
    found = read_agent_settings(HermesPaths(home, home), environ, redactor, chosen or {})
    for each in (found.choice, *found.fallbacks):
        if each.api_key:
            assert each.api_key not in redactor.clean(f"key {each.api_key}")
    return found


ALONE = f"""
model: {{default: m, base_url: '{OWN}'}}
"""
BOTH = f"""{ALONE}
fallback_providers:
  - {{provider: groq, model: llama}}
  - {{model: m, base_url: '{OWN}'}}
"""


def test_who_stands_by_and_not_the_same_twice(tmp_path: Path) -> None:
    found = _read(tmp_path, BOTH, GROQ_API_KEY="gsk-0123456789")
    assert found.choice.model == "m"
    assert [each.model for each in found.fallbacks] == ["llama"]
    assert found.instead_of == ""
    other = _read(tmp_path, BOTH, GROQ_API_KEY="gsk-9876543210")
    assert other.fingerprint() != found.fingerprint()


def test_the_model_may_be_called_as_often_as_the_variable_says(tmp_path: Path) -> None:
    assert _read(tmp_path, ALONE, HERMES_MAX_ITERATIONS="7").config.max_turns == 7


def test_one_stands_by_for_a_model_without_a_key(tmp_path: Path) -> None:
    config = """
model: {default: claude, provider: anthropic}
fallback_model: {provider: groq, model: llama}
"""
    found = _read(tmp_path, config, GROQ_API_KEY="gsk-0123456789")
    assert (found.choice.model, found.instead_of) == ("llama", "There is no key for anthropic.")
    with pytest.raises(NotConfiguredError, match="anthropic"):
        _read(tmp_path, config)
    # Who chose a model for a conversation hears that it cannot be asked.
    with pytest.raises(NotConfiguredError, match="mistral"):
        _read(
            tmp_path, config, {"model": "x", "provider": "mistral"}, GROQ_API_KEY="gsk-0123456789"
        )


@pytest.mark.parametrize(
    ("config", "kind"), [(BOTH, FallbackProvider), (ALONE, OpenAICompatibleProvider)]
)
def test_agents_are_made_so(tmp_path: Path, config: str, kind: type) -> None:
    (tmp_path / "config.yaml").write_text(config, encoding="utf-8")
    db = SessionDB(tmp_path / "state.db")
    builder = AgentBuilder(
        HermesPaths(tmp_path, tmp_path),
        db,
        SecretRedactor(),
        {"GROQ_API_KEY": "gsk-0123456789"},
        offline=False,
        clock=MovableClock(),
    )
    agent = builder.build(AgentRequest("s", "desktop", "key"))
    assert type(agent._provider._provider) is kind
    assert agent.model == "m"
    agent.close()
    db.close()
