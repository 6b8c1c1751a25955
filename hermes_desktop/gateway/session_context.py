"""Which session the current code runs for, under the name that callers of the gateway know."""

from hermes_desktop.core.session_context import (
    clear_session_vars,
    get_session_env,
    reset_session_vars,
    set_current_session_id,
    set_session_vars,
)

__all__ = [
    "clear_session_vars",
    "get_session_env",
    "reset_session_vars",
    "set_current_session_id",
    "set_session_vars",
]
