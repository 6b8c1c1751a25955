"""The session store: access to state.db, the database shared with the ``hermes`` command."""

from typing import TYPE_CHECKING, Any

from hermes_desktop.state.database.schema import SCHEMA_VERSION
from hermes_desktop.state.facade.session_db import SessionDB
from hermes_desktop.state.records.sqlite_errors import MissingSessionError
from hermes_desktop.state.sessions.titles import TitleError

__all__ = ["SCHEMA_VERSION", "AsyncSessionDB", "MissingSessionError", "SessionDB", "TitleError"]

if TYPE_CHECKING:
    from hermes_desktop.state.facade.async_session_db import AsyncSessionDB
else:  # hidden from type checkers, which would otherwise accept any name imported from here

    def __getattr__(name: str) -> Any:
        """Import AsyncSessionDB, and with it asyncio, on first use."""
        if name == "AsyncSessionDB":
            from hermes_desktop.state.facade.async_session_db import AsyncSessionDB  # noqa: PLC0415

            return AsyncSessionDB
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
