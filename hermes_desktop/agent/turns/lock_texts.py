"""Texts about conversations that another of our programs has locked."""

import os

from hermes_desktop.core.errors import BusyError
from hermes_desktop.core.files.shared_lock import LockOwner


def waiting_words(owner: LockOwner | None) -> str:
    """Return the text that says what a message waits for."""
    if owner is not None and owner.pid == os.getpid():
        return "Waiting for another reply in this session."
    return f"Waiting for {owner or 'another program'}, which is answering in this session."


def busy_elsewhere(owner: LockOwner | None) -> BusyError:
    """Return the error for a conversation in which another program's turn runs."""
    return BusyError(
        "A reply is being written in this session.",
        f"{owner or 'Another program'} is answering in it.",
        "Wait until it is finished.",
    )


def problem_words(problem: str) -> tuple[str, str, str]:
    """Return title, detail and hint for a home where conversation locks do not work."""
    return (
        "Sessions cannot be locked in this home.",
        f"{problem}. If two windows or commands answer in one session, their turns may mix.",
        "Use one at a time, or keep the home on a local disk.",
    )
