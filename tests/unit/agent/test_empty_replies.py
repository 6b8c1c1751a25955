"""A turn without text is never without words, unless silence is right."""

import pytest

from hermes_desktop.agent.turns.turn_results import normalize_empty_agent_response


def words(history_len: int = 0, **result: object) -> str:
    return normalize_empty_agent_response(result, "", history_len=history_len)


def test_a_reply_is_left_as_it_is() -> None:
    assert normalize_empty_agent_response({"failed": True, "error": "x"}, "Hello") == "Hello"


@pytest.mark.parametrize(
    "error", ["context length", "max TOKENs", "too large", "too long", "exceeds", "payload"]
)
def test_what_does_not_fit_is_named(error: str) -> None:
    text = words(failed=True, error=f"400: {error}")
    assert all(part in text for part in ("context window", "/compact", "/reset"))


def test_a_bare_400_means_too_long_only_in_a_long_conversation() -> None:
    assert "context window" in words(51, failed=True, error="400 Bad Request")
    assert "context window" not in words(50, failed=True, error="400 Bad Request")


def test_other_failures_are_quoted() -> None:
    text = words(failed=True, error="boom" + "x" * 400)
    assert "boom" in text
    assert "/reset" in text
    assert len(text) < 400
    assert "/reset" in words(failed=True)


def test_interruptions() -> None:
    assert "send it again" in words(interrupted=True, api_calls=0)
    assert words(interrupted=True, api_calls=2) == ""


def test_ends_without_text() -> None:
    assert "stopped in the tool" in words(api_calls=1, partial=True, error="stopped in the tool")
    assert words(api_calls=1, partial=True, error="it remained incomplete after 3 tries") == ""
    assert "try again" in words(api_calls=1)
    assert "send it again" in words()
