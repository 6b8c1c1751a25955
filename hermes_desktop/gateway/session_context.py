"""Re-export of the session context under the module name that callers of the gateway import."""

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
