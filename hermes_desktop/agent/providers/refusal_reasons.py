"""Classification of an endpoint's refusal by status, code and text, for several servers."""

import re

_TOO_LONG_CODES = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"}
)
_TOO_LONG_WORDS = re.compile(
    r"context[ _](length|window|size)|maximum (context|prompt|input)|too many (input )?tokens"
    r"|(prompt|input|request|conversation|message)s? (is|are) too (long|large)"
    r"|reduce the length|input length .{0,60}exceed|exceeds? .{0,40}context"
    r"|input token count.{0,60}exceed|prompt contains .{0,40}tokens|prompt too long"
    r"|longer than the maximum model length|max_new_tokens. must be <=",
    re.IGNORECASE,
)
_MONEY_CODES = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_error", "billing_not_active"}
)
_MONEY_WORDS = re.compile(
    r"credit balance is too low|insufficient (balance|credits|funds)|out of credits"
    r"|exceeded your current quota.{0,40}billing",
    re.IGNORECASE | re.DOTALL,
)
_KEY_CODES = frozenset({"invalid_api_key", "authentication_error", "API_KEY_INVALID"})
_KEY_WORDS = re.compile(
    r"api key (is )?(not valid|invalid|expired)|(incorrect|invalid|missing) api[ _-]?key"
    r"|no auth credentials",
    re.IGNORECASE,
)
_MODEL_CODES = frozenset({"model_not_found", "model_not_exist", "DeploymentNotFound"})
_MODEL_WORDS = re.compile(
    r"\bmodels?\b.{0,120}?\b(not found|does not exist|not exist|not supported|not available"
    r"|is not a valid|unknown)|(not a valid|invalid|unknown|no such) model|try pulling it first",
    re.IGNORECASE | re.DOTALL,
)
_POLICY_CODES = frozenset(
    {"content_filter", "content_policy_violation", "moderation_error", "moderation_blocked"}
)
_POLICY_WORDS = re.compile(
    r"content[ _]?(filter|management policy|policy)|was flagged|requires moderation"
    r"|violat\w+ .{0,40}(usage )?polic",
    re.IGNORECASE | re.DOTALL,
)
_LIMIT_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"})
_LOAD_CODES = frozenset({"overloaded_error", "UNAVAILABLE", "engine_overloaded"})
_LOADED = frozenset({503, 529})


def is_too_long(status: int | None, said: str, codes: frozenset[str]) -> bool:
    """Return whether the conversation does not fit into the model's context."""
    if codes & _TOO_LONG_CODES or status == 413:  # noqa: PLR2004
        return True
    # Some servers report this as an internal error.
    return status in {None, 400, 422, 500} and _TOO_LONG_WORDS.search(said) is not None


def reason_of(status: int | None, said: str, codes: frozenset[str]) -> str:
    """Return the value for :attr:`ProviderError.reason`; "" where it is unknown.

    Args:
        status: HTTP status; None inside a stream.
        said: The endpoint's message.
        codes: Every code and type it named.
    """
    if status is not None and 300 <= status < 400:  # noqa: PLR2004
        return "address"
    for reason, own, words in (
        ("billing", _MONEY_CODES, _MONEY_WORDS),
        ("policy", _POLICY_CODES, _POLICY_WORDS),
        ("model_missing", _MODEL_CODES, _MODEL_WORDS),
        ("auth", _KEY_CODES, _KEY_WORDS),
    ):
        named = codes & own
        if named or (_tells(status) and words.search(said)):
            return reason
    return _by_number(status, codes)


def _tells(status: int | None) -> bool:
    """Return whether the message of a response may be more specific than this status."""
    return status in {None, 400, 403, 404, 422}


def _by_number(status: int | None, codes: frozenset[str]) -> str:
    if status == 402:  # noqa: PLR2004
        return "billing"
    if status in {401, 403}:
        return "auth"
    if status == 404:  # noqa: PLR2004
        return "model_missing"
    if status == 429 or (status is None and codes & _LIMIT_CODES):  # noqa: PLR2004
        return "rate_limit"
    if status in _LOADED or codes & _LOAD_CODES:
        return "overload"
    return ""
