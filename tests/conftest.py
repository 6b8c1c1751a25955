"""What every test needs: nothing that an earlier one left in the context."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.session_context import reset_session_vars


@pytest.fixture(autouse=True)
def _context_of_its_own() -> Iterator[None]:
    """Forget which session an earlier test said it ran for."""
    reset_session_vars()
    yield
    reset_session_vars()


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder for Unix sockets, whose path has at most 107 bytes; ``tmp_path`` may be longer."""
    with tempfile.TemporaryDirectory(prefix="hermes-run-", dir="/tmp") as name:
        yield Path(name)
