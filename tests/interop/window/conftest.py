"""The window beside the real hermes-agent: the loop and the checks are those of the ui tests."""

from tests.ui.conftest import (  # noqa: F401 - fixtures and the hook are found by their names
    _nothing_left_behind,
    pytest_asyncio_loop_factories,
    qapp_args,
    theme,
)
