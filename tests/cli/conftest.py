"""Homes of their own for tests of the command line."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.model_server import ModelServer
from tests.fakes.program import Converse, Program


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty Hermes home."""
    folder = tmp_path / "person" / "home"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def program(home: Path) -> Program:
    return Program(home)


@pytest.fixture
def db(home: Path) -> Iterator[SessionDB]:
    """The home's database, open in this process, too."""
    database = SessionDB(home / "state.db")
    yield database
    database.close()


@pytest.fixture
def converse(db: SessionDB) -> Converse:
    """Stores a session: ``converse("id", "said", "answered", …, title=…, source=…)``."""

    def store(session_id: str, *texts: str, title: str | None = None, source: str = "cli") -> str:
        db.create_session(session_id, source, model="a-model")
        for number, text in enumerate(texts):
            db.append_message(session_id, "assistant" if number % 2 else "user", text)
        if title is not None:
            db.set_session_title(session_id, title)
        return session_id

    return store


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def configured(home: Path, server: ModelServer) -> Path:
    """The home, with the scripted model in its settings, and without a sandbox."""
    settings = {
        "model": {"default": "a-model", "base_url": server.base_url, "api_key": "k-123456"},
        "approvals": {"sandboxed_commands": "off"},
    }
    (home / "config.yaml").write_text(json.dumps(settings))
    return home
