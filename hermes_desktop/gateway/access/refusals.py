"""Errors for messages that cannot be accepted."""

from hermes_desktop.core.errors import (
    BusyError,
    NotConfiguredError,
    NotFoundError,
    RefusedError,
    StateUnavailableError,
)


def closing() -> RefusedError:
    """Return the error for a message that arrives while the program is closing."""
    return RefusedError(
        "Hermes Desktop is closing.",
        "The message was not sent.",
        "Send it again after the next start.",
    )


def asked_to_drain() -> RefusedError:
    """Return the error for a message that arrives while a tool has requested a drain."""
    return RefusedError(
        "No new messages are taken at the moment.",
        "A tool has asked the gateway to let its work end.",
        "Send it again later.",
    )


def too_many_waiting(waiting: int) -> BusyError:
    """Return the error for a chat whose queue is full."""
    return BusyError(
        "This message was not taken.",
        f"{waiting} messages wait here already.",
        "Wait for some answers, or send /stop to drop what waits.",
    )


def reply_being_written() -> BusyError:
    """Return the error for moving a chat while a turn runs."""
    return BusyError(
        "A reply is being written.",
        "The chat, or the session that it is to go on in, is busy.",
        "Wait for it to end.",
    )


def nothing_to_continue() -> NotFoundError:
    """Return the error for continuing in a session that does not exist."""
    return NotFoundError(
        "The chat goes on where it is.",
        "The session before was deleted, or the chat is not known any more.",
    )


def too_many_conversations(limit: int) -> BusyError:
    """Return the error for reaching the limit of concurrent sessions."""
    return BusyError(
        "This message was not taken.",
        f"{limit} sessions are being answered at once, and no more are allowed "
        "(max_concurrent_sessions).",
        "Send it again in a moment.",
    )


def timed_out(silence_s: float) -> RefusedError:
    """Return the error for a turn that was inactive for too long and was ended."""
    return RefusedError(
        "I stopped, because nothing happened any more.",
        f"The turn was silent for {max(1, round(silence_s / 60))} min (agent.gateway_timeout).",
        "Send the message again, or ask for less at once.",
    )


def gone(session_id: str) -> NotFoundError:
    """Return the error for a session that was deleted while it was in use here."""
    return NotFoundError(
        "This session was deleted.",
        f"Another program removed {session_id}; the message was not sent.",
        "Send it in a new session.",
    )


def no_database() -> StateUnavailableError:
    """Return the error for a gateway without a session database."""
    return StateUnavailableError(
        "There is no session database.",
        "The gateway was started without one.",
        "Start Hermes Desktop again.",
    )


def no_model() -> NotConfiguredError:
    """Return the error for a gateway without a model."""
    return NotConfiguredError(
        "No model is set.",
        "The gateway was started without one.",
        "Say `hermes-desktop config set model.default NAME`, then try again.",
    )
