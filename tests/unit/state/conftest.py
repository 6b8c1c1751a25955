from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.connection import Patience

IMPATIENT = Patience(attempts=2, wait_s=0.01, pause_s=(0.0, 0.001))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "state.db"


@pytest.fixture
def db(path: Path) -> Iterator[SessionDB]:
    store = SessionDB(path, patience=IMPATIENT)
    yield store
    store.close()
