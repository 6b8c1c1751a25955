"""The words for messages that cannot be taken."""

from hermes_desktop.core.errors import (
    NotConfiguredError,
    NotFoundError,
    RefusedError,
    StateUnavailableError,
)


def closing() -> RefusedError:
    """The program closes."""
    return RefusedError(
        "Hermes Desktop is closing.",
        "The message was not sent.",
        "Send it again after the next start.",
    )


def gone(session_id: str) -> NotFoundError:
    """The conversation was deleted while it was in use here."""
    return NotFoundError(
        "This conversation was deleted.",
        f"Another program removed {session_id}; the message was not sent.",
        "Send it in a new conversation.",
    )


def no_database() -> StateUnavailableError:
    """There is nowhere to keep conversations."""
    return StateUnavailableError(
        "There is no database for conversations.",
        "The gateway was started without one.",
        "Start Hermes Desktop again.",
    )


def no_model() -> NotConfiguredError:
    """There is nobody to ask."""
    return NotConfiguredError(
        "No model is set.",
        "The gateway was started without one.",
        "Set `model` in config.yaml, then try again.",
    )
