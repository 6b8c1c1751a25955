"""Everything that touches state.db, the database shared with the ``hermes`` command."""

from typing import TYPE_CHECKING, Any

from hermes_desktop.state.schema import SCHEMA_VERSION
from hermes_desktop.state.session_db import SessionDB
from hermes_desktop.state.sqlite_errors import MissingSessionError
from hermes_desktop.state.titles import TitleError

if TYPE_CHECKING:
    from hermes_desktop.state.async_session_db import AsyncSessionDB

__all__ = ["SCHEMA_VERSION", "AsyncSessionDB", "MissingSessionError", "SessionDB", "TitleError"]


def __getattr__(name: str) -> Any:
    """Load AsyncSessionDB, and asyncio with it, only for those who use it."""
    if name == "AsyncSessionDB":
        from hermes_desktop.state.async_session_db import AsyncSessionDB  # noqa: PLC0415

        return AsyncSessionDB
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
