"""Requests to the user, made by hand."""

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
    return UserRequest(
        id=request_id,
        session_key=session_key,
        session_id=session_id,
        user_id=user_id,
        platform=platform,
        kind="approval",
        text=what,
        choices=choices,
        asked_at=asked_at,
        expires_at=expires_at,
        tool=tool,
        where=where,
        why=why,
    )


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
    return UserRequest(
        id=request_id,
        session_key=session_key,
        session_id=session_id,
        user_id=user_id,
        platform=platform,
        kind="question",
        text=text,
        choices=choices,
        asked_at=asked_at,
        expires_at=expires_at,
    )
