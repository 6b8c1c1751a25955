"""What every test needs: nothing that an earlier one left in the context."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.session_context import reset_session_vars


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose marker ``needs`` names a program that is not installed here."""
    needed = {program for mark in item.iter_markers("needs") for program in mark.args}
    if missing := sorted(program for program in needed if shutil.which(program) is None):
        pytest.skip(f"needs {', '.join(missing)}")


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
