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
        "Send it again after Hermes Desktop has started.",
    )


def asked_to_drain() -> RefusedError:
    """Return the error for a message that arrives while a tool has requested a drain."""
    return RefusedError(
        "New messages are not accepted at the moment.",
        "A tool asked the gateway to finish its work.",
        "Send it again later.",
    )


def too_many_waiting(waiting: int) -> BusyError:
    """Return the error for a chat whose queue is full."""
    return BusyError(
        "This message was not accepted.",
        f"{waiting} messages are already waiting here.",
        "Wait for some replies, or send /stop to discard the waiting messages.",
    )


def reply_being_written() -> BusyError:
    """Return the error for moving a chat while a turn runs."""
    return BusyError(
        "A reply is being written.",
        "The chat, or the session to continue in, is busy.",
        "Wait until the reply is finished.",
    )


def nothing_to_continue() -> NotFoundError:
    """Return the error for continuing in a session that does not exist."""
    return NotFoundError(
        "The chat stays in its session.",
        "The previous session was deleted, or the chat is no longer known.",
    )


def too_many_conversations(limit: int) -> BusyError:
    """Return the error for reaching the limit of concurrent sessions."""
    return BusyError(
        "This message was not accepted.",
        f"{limit} sessions are active, which is the maximum (max_concurrent_sessions).",
        "Send it again in a moment.",
    )


def timed_out(silence_s: float) -> RefusedError:
    """Return the error for a turn that was inactive for too long and was ended."""
    return RefusedError(
        "I stopped because there was no more progress.",
        f"The turn was inactive for {max(1, round(silence_s / 60))} min (agent.gateway_timeout).",
        "Send the message again, or split the task into smaller ones.",
    )


def gone(session_id: str) -> NotFoundError:
    """Return the error for a session that was deleted while it was in use here."""
    return NotFoundError(
        "This session was deleted.",
        f"Another program deleted {session_id}; the message was not sent.",
        "Send it in a new session.",
    )


def no_database() -> StateUnavailableError:
    """Return the error for a gateway without a session database."""
    return StateUnavailableError(
        "The session database is missing.",
        "The gateway was started without one.",
        "Start Hermes Desktop again.",
    )


def no_model() -> NotConfiguredError:
    """Return the error for a gateway without a model."""
    return NotConfiguredError(
        "No model is set.",
        "The gateway was started without one.",
        "Run `hermes-desktop config set model.default NAME`, then try again.",
    )
