"""Requests to the user, made by hand."""

from dataclasses import replace

from hermes_desktop.core.user_requests import UserRequest


def approval_request(  # noqa: PLR0917 - what a request carries
    request_id: str,
    session_key: str,
    session_id: str,
    user_id: str,
    platform: str,
    tool: str,
    what: str,
    where: str,
    why: tuple[str, ...],
    choices: tuple[str, ...],
    asked_at: float,
    expires_at: float,
) -> UserRequest:
    """Return a request for an approval."""
    made = question_request(
        request_id, session_key, session_id, user_id, platform, what, choices, asked_at, expires_at
    )
    return replace(made, kind="approval", tool=tool, where=where, why=why)


def question_request(  # noqa: PLR0917 - what a request carries
    request_id: str,
    session_key: str,
    session_id: str,
    user_id: str,
    platform: str,
    text: str,
    choices: tuple[str, ...],
    asked_at: float,
    expires_at: float,
) -> UserRequest:
    """Return a question of the assistant."""
    before = (request_id, session_key, session_id, user_id, platform)
    return UserRequest(*before, "question", text, choices, asked_at, expires_at)
