"""The same settings lead both programs to the same model, address and key."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import model_server as fake
from tests.fakes.model_server import ModelServer

ROOT = Path(__file__).parents[2]
PLACEHOLDER = "Bearer no-key-required"
"""What hermes sends where there is no key."""

CASES = {
    "a mapping": "model: {name: m, provider: custom, base_url: '%A', api_key: key-of-the-mapping}",
    "a string, the rest beside it": "model: m\nprovider: custom\nbase_url: '%A'",
    "auto with an address": "model: {model: m, provider: auto, base_url: '%A', api: key-by-api}",
    "a key from .env": "model: {default: m, base_url: '%A', api_key: '${BOX_KEY}'}",
    "a named entry": """
model: {default: m, provider: 'custom:box'}
custom_providers: [{name: box, base_url: '%A', key_env: BOX_KEY}]
""",
    "an entry by name": """
model: {default: m, provider: box}
providers: {box: {api: '%A', key_env: BOX_KEY}}
""",
    "no key for a stranger": "model: {default: m, provider: custom, base_url: '%A'}",
    "one that stands by": """
model: {default: other, provider: custom, base_url: '%B', api_key: key-that-is-refused}
fallback_providers: [{provider: box, model: m}]
custom_providers: [{name: box, base_url: '%A', api_key: key-of-the-entry}]
""",
    "one that stands by, as it was written before": """
model: {default: other, provider: custom, base_url: '%B', api_key: key-that-is-refused}
fallback_model: {provider: custom, model: m, base_url: '%A', api_key: key-of-the-fallback}
""",
}
MORE = "\ncompression: {enabled: false}\nauxiliary: {title_generation: {enabled: false}}\n"
VARIABLES = "BOX_KEY=key-of-the-box\nOPENAI_API_KEY=key-of-openai\n"


@pytest.fixture
def answering() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def refusing() -> Iterator[ModelServer]:
    refusal = fake.error(401, "Incorrect API key", code="invalid_api_key")
    with ModelServer(responder=lambda _: refusal) as server:
        yield server


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", CASES)
def test_who_is_asked(
    case: str,
    hermes_python: Path,
    tmp_path: Path,
    answering: ModelServer,
    refusing: ModelServer,
) -> None:
    config = CASES[case].replace("%A", answering.base_url).replace("%B", refusing.base_url)
    theirs = [str(hermes_python.parent / "hermes"), "-z", "Hello", "-t", "todo"]
    ours = [sys.executable, "-m", "hermes_desktop", "chat", "-q", "Hello"]
    asked = []
    for name, command in (("theirs", theirs), ("ours", ours)):
        home = tmp_path / name
        home.mkdir()
        (home / "config.yaml").write_text(config + MORE, encoding="utf-8")
        (home / ".env").write_text(VARIABLES, encoding="utf-8")
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "HERMES_HOME": str(home)}
        if command is ours:
            environ["PYTHONPATH"] = str(ROOT)
        done = subprocess.run(
            command,
            env=environ,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=80,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "You said: Hello" in done.stdout
        # It also asks servers on this machine about themselves.
        last = [each for each in answering.requests if each.path.endswith("/completions")][-1]
        key = last.headers.get("Authorization")
        asked.append((last.json["model"], None if key == PLACEHOLDER else key))
        answering.requests.clear()
    assert asked[0] == asked[1]
    assert asked[1][0] == "m"
