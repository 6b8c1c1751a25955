"""A server for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.rpc_server import ServerStage, served


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ServerStage]:
    with served(tmp_path) as found:
        yield found
