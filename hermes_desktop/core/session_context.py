"""The session that the current code runs for, as context variables.

Tools and hooks call :func:`get_session_env`; a turn sets the values on its own thread. The process
environment is only read, never written: two turns run side by side.
"""

import os
from contextvars import ContextVar, Token

_UNSET = object()

NAMES = (
    "HERMES_SESSION_PLATFORM",
    "HERMES_SESSION_SOURCE",
    "HERMES_SESSION_CHAT_ID",
    "HERMES_SESSION_CHAT_NAME",
    "HERMES_SESSION_THREAD_ID",
    "HERMES_SESSION_USER_ID",
    "HERMES_SESSION_USER_NAME",
    "HERMES_SESSION_KEY",
    "HERMES_SESSION_ID",
    "HERMES_SESSION_MESSAGE_ID",
    "HERMES_SESSION_PROFILE",
    "HERMES_UI_SESSION_ID",
)
_VARIABLES: dict[str, ContextVar[object]] = {
    name: ContextVar(name, default=_UNSET) for name in NAMES
}

SessionTokens = dict[str, Token[object]]


def get_session_env(name: str, default: str = "") -> str:
    """Read a value: from this context, even if it is ""; else the environment; else the default."""
    variable = _VARIABLES.get(name)
    value = variable.get() if variable is not None else _UNSET
    if isinstance(value, str):
        return value
    return os.environ.get(name, default)


def set_session_vars(**values: str) -> SessionTokens:
    """Set values for the rest of this context.

    Args:
        values: Full variable names and their values, e.g. ``HERMES_SESSION_ID="…"``.

    Raises:
        KeyError: A name is not one of :data:`NAMES`.
    """
    return {name: _VARIABLES[name].set(value) for name, value in values.items()}


def clear_session_vars(tokens: SessionTokens) -> None:
    """Set the values of a :func:`set_session_vars` call to ""; the environment stays hidden."""
    for name in tokens:
        _VARIABLES[name].set("")


def reset_session_vars() -> None:
    """Unset all values: a new task inherits the values of its parent and calls this first."""
    for variable in _VARIABLES.values():
        variable.set(_UNSET)


def set_current_session_id(session_id: str) -> None:
    """Set the session that this context runs for from now on (after a rotation, too)."""
    _VARIABLES["HERMES_SESSION_ID"].set(session_id)
