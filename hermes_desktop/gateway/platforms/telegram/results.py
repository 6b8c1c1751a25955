"""Mapping of Telegram's responses to send results."""

import re

from hermes_desktop.gateway.platforms.messages import ErrorKind, SendResult
from hermes_desktop.gateway.platforms.telegram.records import NotSentError, RefusalError

_TOO_MANY, _FORBIDDEN, _TOO_LARGE = 429, 403, 413
_UNKNOWN_TOKEN = frozenset({401, 404})
TRY_AGAIN = _UNKNOWN_TOKEN | {_TOO_MANY}
"""Codes that say nothing about the request itself."""
_KINDS: tuple[tuple[str, ErrorKind], ...] = (
    (r"too long", "too_long"),
    (r"can't parse|entit", "bad_format"),
    (r"chat not found|PEER_ID_INVALID|user is deactivated|chat_id is empty", "not_found"),
    (r"not enough rights|no rights|WRITE_FORBIDDEN|bot was kicked", "forbidden"),
)
_SAME = re.compile(r"message is not modified", re.IGNORECASE)
_NO_THREAD = re.compile(r"thread not found|TOPIC_(?:CLOSED|DELETED)", re.IGNORECASE)
_NO_MESSAGE = re.compile(
    r"message to edit not found|message can't be edited|MESSAGE_ID_INVALID", re.IGNORECASE
)


def is_same(error: RefusalError) -> bool:
    """Return whether a message already shows the requested content."""
    return bool(_SAME.search(error.words))


def lacks_thread(error: RefusalError) -> bool:
    """Return whether the topic does not exist (any more)."""
    return bool(_NO_THREAD.search(error.words))


def lacks_message(error: RefusalError) -> bool:
    """Return whether the message to be edited cannot be."""
    return bool(_NO_MESSAGE.search(error.words))


def of_refusal(error: RefusalError) -> SendResult:
    """Return the result for a text that Telegram refused."""
    if error.code == _TOO_MANY:
        return SendResult(
            success=False,
            error=error.words,
            error_kind="rate_limited",
            retryable=True,
            retry_after=error.retry_after,
        )
    if error.code == _TOO_LARGE:
        return _no(error.words, "too_long")
    if error.code in _UNKNOWN_TOKEN:  # the request was not even processed
        return SendResult(success=False, error=error.words, error_kind="transient", retryable=True)
    kind: ErrorKind = "forbidden" if error.code == _FORBIDDEN else "unknown"
    for pattern, named in _KINDS:
        if re.search(pattern, error.words, re.IGNORECASE):
            return _no(error.words, named)
    return _no(error.words, kind)


def of_unsent(error: NotSentError) -> SendResult:
    """Return the result for a text that was not sent."""
    return SendResult(success=False, error=str(error), error_kind="transient", retryable=True)


def _no(words: str, kind: ErrorKind) -> SendResult:
    return SendResult(success=False, error=words, error_kind=kind)
