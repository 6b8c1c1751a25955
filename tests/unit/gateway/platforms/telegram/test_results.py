"""What Telegram's words mean for a text that was to be sent."""

import pytest

from hermes_desktop.gateway.platforms.telegram import results
from hermes_desktop.gateway.platforms.telegram.records import RefusalError


@pytest.mark.parametrize(
    ("code", "words", "kind", "retryable"),
    [
        (400, "Bad Request: message is too long", "too_long", False),
        (413, "Request Entity Too Large", "too_long", False),
        (400, "Bad Request: can't parse entities: unclosed", "bad_format", False),
        (400, "Bad Request: chat not found", "not_found", False),
        (400, "Bad Request: not enough rights to send text messages", "forbidden", False),
        (403, "Forbidden: bot was blocked by the user", "forbidden", False),
        (403, "Forbidden: user is deactivated", "not_found", False),
        (400, "Bad Request: something new", "unknown", False),
        (401, "Unauthorized", "transient", True),
        (429, "Too Many Requests: retry after 7", "rate_limited", True),
    ],
)
def test_kinds(code: int, words: str, kind: str, *, retryable: bool) -> None:
    result = results.of_refusal(RefusalError(code, words, 7.0))
    assert (result.success, result.error_kind, result.retryable) == (False, kind, retryable)
    assert result.error == words
    assert result.retry_after == (7.0 if code == 429 else None)


def test_edits_that_change_nothing_and_messages_that_are_gone() -> None:
    assert results.is_same(RefusalError(400, "Bad Request: message is not modified: specified…"))
    assert results.lacks_message(RefusalError(400, "Bad Request: message to edit not found"))
    assert results.lacks_thread(RefusalError(400, "Bad Request: message thread not found"))
