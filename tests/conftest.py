"""What every test needs: nothing that an earlier one left in the context."""

from collections.abc import Iterator

import pytest

from hermes_desktop.core.session_context import reset_session_vars


@pytest.fixture(autouse=True)
def _context_of_its_own() -> Iterator[None]:
    """Forget which session an earlier test said it ran for."""
    reset_session_vars()
    yield
    reset_session_vars()
