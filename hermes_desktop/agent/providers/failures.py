"""Errors of a call: their cause, their messages for the user, and whether a retry makes sense."""

import re
from dataclasses import dataclass

from hermes_desktop.agent.providers.tolerances import error_message
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.errors import (
    BrokenStreamError,
    CannotReachError,
    ModelRefusedError,
    ProviderError,
    TooLongError,
)
from hermes_desktop.core.log_setup import SecretRedactor

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


SHOWN = 300
"""How many characters of a foreign text are shown."""

_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_AGAIN_REASONS = frozenset({"rate_limit", "overload"})
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")
_KEY_LENGTH = 4

_NO_KEY = (
    "Store the key with `hermes-desktop secrets set NAME`, and add api_key: ${NAME} under "
    "model in config.yaml. A provider chosen by name (Settings, Assistant) finds its own key."
)
_BAD_KEY = (
    "{name} rejected the key.",
    (
        "Enter a valid key that allows this model, in the window (Settings, Privacy) or with "
        "`hermes-desktop secrets set`. `hermes-desktop secrets list` shows where the old one "
        "is."
    ),
)
_OTHER_REFUSAL = (
    "{name} refused the request.",
    "It may not support a setting of this model; see its answer.",
)
_PROXY_WANTS_A_NAME = 407
_NAME_FOR_PROXY = "Add the user name and password to its address in HTTP_PROXY or HTTPS_PROXY."
_UNREADABLE = re.compile(r"does not match the expected|failed to parse", re.IGNORECASE)
_REFUSALS = {
    "auth": _BAD_KEY,
    "billing": (
        "The account at {name} has no credit left.",
        "Add credit there, or choose another model.",
    ),
    "model_missing": (
        "“{model}” was not found.",
        "Check the model's name and its address, model.base_url (it usually ends in /v1).",
    ),
    "policy": (
        "{name} refused to answer this.",
        "Its filter blocked something in the conversation. Rephrase it, or use another model.",
    ),
    "overload": ("{name} is overloaded.", "Try again later."),
    "own_problem": ("{name} has an internal problem.", "Try again later."),
    "unreadable": (
        "{name} could not read the output of its model.",
        "Rephrase the message, or use a larger model: small ones write invalid tool calls.",
    ),
}


class CallFailedError(Exception):
    """One attempt failed. Internal to the provider, which decides how to continue.

    Attributes:
        error: The error that is finally shown to the user.
        again: Whether another attempt may succeed.
        wait_s: How long the endpoint asked us to wait, in seconds; None when it did not.
        said: The endpoint's raw message: to be parsed, never shown.
    """

    def __init__(
        self,
        error: ProviderError,
        *,
        again: bool = False,
        wait_s: float | None = None,
        said: str = "",
    ) -> None:
        super().__init__(error.title)
        self.error = error
        self.again = again
        self.wait_s = wait_s
        self.said = said


@dataclass(frozen=True, slots=True)
class Refusal:
    """A response that is not a reply.

    Attributes:
        status: HTTP status, None for an error inside a stream.
        body: Its first bytes.
        content_type: As sent, "" when missing.
        wait_s: From ``Retry-After``, seconds.
        location: From ``Location``, for redirects.
    """

    status: int | None
    body: bytes
    content_type: str = ""
    wait_s: float | None = None
    location: str = ""

    @property
    def is_web_page(self) -> bool:
        """Whether it is meant for a browser."""
        start = self.body.lstrip()[:15].lower()
        return "text/html" in self.content_type.lower() or start.startswith(
            (b"<!doctype", b"<html")
        )


class CallErrors:
    """A factory of errors for one endpoint; none of their texts contains the key.

    Args:
        choice: The endpoint.
        redactor: Removes secrets with known patterns and registered ones.

    Attributes:
        way: Details of the route for when the endpoint cannot be reached.
    """

    def __init__(self, choice: ModelChoice, redactor: SecretRedactor) -> None:
        self._choice = choice
        self._redactor = redactor
        self.host = choice.host
        self.way = ""

    def clean(self, text: str) -> str:
        """Return foreign text, fit to be shown: no secrets, one line, not long."""
        key = self._choice.api_key
        if key and len(key) >= _KEY_LENGTH:
            text = text.replace(key, "[secret]")
        text = " ".join(_CONTROL.sub(" ", self._redactor.clean(text)).split())
        return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"

    def unreachable(self, reason: str, hint: str = "", *, again: bool = True) -> CallFailedError:
        """Build the error for an endpoint that cannot be reached."""
        return CallFailedError(
            CannotReachError(
                "The model cannot be reached.",
                f"{self.host}: {self.clean(reason)}. {self.way}".rstrip(),
                hint
                or "Check that the server runs, the network, and the address (model.base_url).",
            ),
            again=again,
        )

    def distrusted(self, reason: str, hint: str) -> CallFailedError:
        """Build the error for a server that cannot prove its identity."""
        if self._choice.wants_no_check:
            hint += (
                " ssl_verify: false is ignored here: otherwise, someone in between could read "
                "the key and all messages."
            )
        return self.unreachable(f"its certificate is not trusted ({reason})", hint, again=False)

    def broken(self, reason: str, *, again: bool = True) -> CallFailedError:
        """Build the error for a response that is not a complete reply."""
        return CallFailedError(
            BrokenStreamError(
                "The reply was interrupted.",
                f"{self.host}: {self.clean(reason)}.",
                "Send the message again. If it happens often, check the log of the server.",
            ),
            again=again,
        )

    def ended_by_server(self, reason: str) -> CallFailedError:
        """Build the error for an endpoint that reports it could not finish the answer."""
        return self.broken(f"the server ended it with “{reason}”")

    def empty(self, *, thought: bool) -> CallFailedError:
        """Build the error for an answer that ended regularly without text."""
        what = "it sent only thinking and no text" if thought else "it sent no text"
        error = BrokenStreamError(
            "The model did not answer.",
            f"{self.host}: {what}.",
            "Send the message again, or use another model.",
            reason="empty",
        )
        return CallFailedError(error, again=True)

    def filtered(self) -> CallFailedError:
        """Build the error for an answer of which the provider's filter left nothing."""
        title, hint = _REFUSALS["policy"]
        title = title.format(name=self._choice.who)
        detail = f"{self.host} ended the answer with “content_filter” before it started."
        return CallFailedError(ModelRefusedError(title, detail, hint, reason="policy"))

    def refused(self, refusal: Refusal) -> CallFailedError:
        """Build the error for a response that is not a reply."""
        said, codes = error_message(refusal.body)
        status = refusal.status
        if is_too_long(status, said, codes):
            return CallFailedError(self._too_long(said, status), said=said)
        if refusal.is_web_page and (status is None or status < 500):  # noqa: PLR2004
            return CallFailedError(self._web_page(status))
        error = self._refusal(refusal, said, codes)
        again = status in _AGAIN or (status is None and error.reason in _AGAIN_REASONS)
        again = again and error.reason != "billing"
        return CallFailedError(error, again=again, wait_s=refusal.wait_s, said=said)

    def nonsense(self, reason: str, body: bytes, content_type: str) -> CallFailedError:
        """Build the error for a success status with unusable content."""
        refusal = Refusal(None, body, content_type)
        if refusal.is_web_page:
            return CallFailedError(self._web_page(None))
        return self.broken(f"it sent something that is not a reply: {reason}", again=False)

    def _refusal(self, refusal: Refusal, said: str, codes: frozenset[str]) -> ModelRefusedError:
        status = refusal.status
        answer = "a web page" if refusal.is_web_page else self.clean(said)
        detail = _answered(self.host, status, answer)
        reason = reason_of(status, said, codes)
        title, hint = self._words(reason, said, refusal)
        return ModelRefusedError(title, detail, hint, status=status, reason=reason)

    def _words(self, reason: str, said: str, refusal: Refusal) -> tuple[str, str]:
        name, status = self._choice.who, refusal.status
        if reason == "address":
            return "The address of the model has moved.", self._moved(refusal.location)
        if reason == "rate_limit":
            return f"{name} does not accept requests right now.", _later(refusal.wait_s)
        if status == _PROXY_WANTS_A_NAME:
            return "The proxy requires a user name and password.", _NAME_FOR_PROXY
        if reason == "auth" and self._choice.api_key is None:
            return f"{name} requires a key.", _NO_KEY
        if not reason and status is not None and status >= 500:  # noqa: PLR2004
            reason = "unreadable" if _UNREADABLE.search(said) else "own_problem"
        title, hint = _REFUSALS.get(reason, _OTHER_REFUSAL)
        return title.format(name=name, model=self._choice.model), hint

    def _moved(self, location: str) -> str:
        where = self.clean(location) or "another address"
        return (
            f"It redirects to {where}. If you trust that address, set it as model.base_url "
            "(`hermes-desktop config set`, or Settings, Assistant). Your key is never sent "
            "there automatically."
        )

    def _too_long(self, said: str, status: int | None) -> TooLongError:
        return TooLongError(
            "The session is too long for this model.",
            _answered(self.host, status, self.clean(said)),
            "Start a new session, or choose a model with a larger context.",
            status=status,
        )

    def _web_page(self, status: int | None) -> ModelRefusedError:
        return ModelRefusedError(
            "This address returns a web page.",
            _answered(self.host, status, "It sent HTML instead of a reply from a model"),
            "Correct the address (model.base_url); it usually ends in /v1.",
            status=status,
            reason="address",
        )


def _answered(host: str, status: int | None, said: str) -> str:
    code = f" (status {status})" if status is not None else ""
    return f"{host} answered{code}: {said.rstrip('.') or 'nothing'}."


def _later(wait_s: float | None) -> str:
    if wait_s is None or wait_s < 1:
        return "Wait a moment and send the message again."
    return f"Wait {round(wait_s)} seconds and send the message again."
