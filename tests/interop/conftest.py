"""The real hermes-agent, in an environment of its own, working on the same home as we do."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.island import Island, island_with
from tests.fakes.model_server import ModelServer

_ROOT = Path(__file__).parents[2]
_SCRIPTS = Path(__file__).parent / "scripts"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of these need more than the README's test line installs; CI selects them by that."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.needs())


@dataclass(frozen=True)
class RealHermes:
    """The interpreter that has hermes-agent, and the home it works on."""

    python: Path
    home: Path

    @property
    def state_db(self) -> Path:
        return self.home / "state.db"

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        return {**kept, "HOME": str(self.home.parent), "HERMES_HOME": str(self.home)}

    def command(self, *words: str) -> str:
        """Run ``hermes …`` and return what it printed."""
        return self._run([str(self.python.parent / "hermes"), *words])

    def script(self, name: str, *words: str) -> Any:
        """Run one of our scripts with its interpreter; the script prints JSON."""
        return json.loads(self._run(self.script_command(name, *words)))

    def script_command(self, name: str, *words: str) -> list[str]:
        return [str(self.python), str(_SCRIPTS / name), *words]

    def _run(self, command: list[str]) -> str:
        done = subprocess.run(
            command,
            env=self.environment(),
            cwd=self.home.parent,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def hermes_python() -> Path:
    """The interpreter named by HERMES_AGENT_PYTHON, else that of .venv-hermes in the checkout."""
    named = os.environ.get("HERMES_AGENT_PYTHON")
    python = Path(named) if named else _ROOT / ".venv-hermes" / "bin" / "python"
    if not named and not python.exists():
        pytest.skip(
            "hermes-agent is not installed: set HERMES_AGENT_PYTHON, or make .venv-hermes with "
            "`pip install hermes-agent==0.19.0`"
        )
    return python


@pytest.fixture
def hermes(hermes_python: Path, tmp_path: Path) -> RealHermes:
    """The real program on an empty home."""
    home = tmp_path / "user" / ".hermes"
    home.mkdir(parents=True, mode=0o700)
    return RealHermes(hermes_python, home)


OLD_RELEASES = ("0.13.0", "0.16.0", "0.18.2")


@pytest.fixture(params=OLD_RELEASES)
def old_hermes(request: pytest.FixtureRequest, tmp_path: Path) -> RealHermes:
    """An older release on an empty home, from the kept environments.

    ``tests/interop/scripts/make_environments.py`` makes them. Without them the test is skipped.
    """
    version = str(request.param)
    cache = Path(os.environ.get("HERMES_TEST_CACHE") or _ROOT / ".ci" / "out" / "cache")
    place = cache / f"hermes-agent-{version}"
    if not (place / "complete").exists():
        pytest.skip(
            "older releases of hermes-agent are not installed: run "
            f"`python tests/interop/scripts/make_environments.py {cache}`"
        )
    home = tmp_path / "user" / ".hermes"
    home.mkdir(parents=True, mode=0o700)
    return RealHermes(place / "bin" / "python", home)


@pytest.fixture
def island(hermes: RealHermes) -> Iterator[Island]:
    """A process namespace with the real program and us, for one home."""
    with island_with(hermes) as made:
        yield made


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """The model that both programs ask."""
    with ModelServer() as running:
        yield running


def choose_model(home: Path, server: ModelServer, **more: object) -> None:
    """Write a config.yaml with which both programs ask this server, and nobody for titles.

    Commands run as in ``hermes``, without our sandbox.
    """
    settings = {
        "model": {
            "default": "a-model",
            "provider": "custom",
            "base_url": server.base_url,
            "api_key": "k-123456",
            "context_length": 128_000,
        },
        "auxiliary": {"title_generation": {"enabled": False}},
        "approvals": {"sandboxed_commands": "off"},
    }
    (home / "config.yaml").write_text(json.dumps(settings | more))
