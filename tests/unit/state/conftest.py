from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.database.connection import Patience
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase

IMPATIENT = Patience(attempts=2, wait_s=0.01, pause_s=(0.0, 0.001))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "state.db"


@pytest.fixture
def db(path: Path) -> Iterator[SessionDB]:
    store = SessionDB(path, patience=IMPATIENT)
    yield store
    store.close()


@pytest.fixture
def own(path: Path) -> Iterator[DesktopDatabase]:
    store = DesktopDatabase(path.parent / "desktop" / "desktop.db", patience=IMPATIENT)
    yield store
    store.close()


@pytest.fixture
def relatives(db: SessionDB) -> SessionDB:
    """A compressed conversation, root and tip, with a subagent and a branch, and a stranger."""
    db.create_session("root", "cli", cwd="/x")
    db.set_session_title("root", "Trip")
    db.append_message("root", "user", [{"type": "text", "text": "旅行"}])
    db.append_message("root", "assistant", None, tool_calls=[{"id": "1"}], reasoning="r")
    db.update_token_counts("root", 5, 6, model="m", billing_provider="p", estimated_cost_usd=0.5)
    db.end_session("root", "compression")
    db.create_session("tip", "cli", parent_session_id="root")
    db.append_message("tip", "user", "go on")
    helper = {"_delegate_from": "tip"}
    db.create_session("helper", "subagent", parent_session_id="tip", model_config=helper)
    db.append_message("helper", "user", "sub")
    branch = {"_branched_from": "tip"}
    db.create_session("branch", "cli", parent_session_id="tip", model_config=branch)
    db.append_message("branch", "user", "elsewhere")
    db.create_session("other", "cli")
    db.append_message("other", "user", "mine")
    return db
