"""The failures that a user can act on.

    HermesError                 title, detail, hint; shown once, by one presenter
    ├── UsageError              the request is invalid
    ├── NotFoundError           no such session
    ├── AmbiguousError          more than one session matches
    ├── RefusedError            refused, with the reason
    │   └── CancelledError      cancelled by the user
    ├── BusyError               held elsewhere; retrying later works
    │   └── StillBusyError          the wait for it timed out
    ├── StateError              state.db cannot do it
    │   ├── StateUnavailableError   it cannot be opened at all
    │   └── StateReadOnlyError      it can be read, not written
    ├── ConfigError             config.yaml or .env cannot be parsed
    └── ProviderError           the model did not answer
        ├── NotConfiguredError      no model is set
        ├── CannotReachError        the endpoint cannot be reached
        ├── ModelRefusedError       the endpoint refused the request
        ├── TooLongError            the conversation does not fit
        └── BrokenStreamError       the response broke off

Every other exception is a bug and is treated as one. This module imports nothing.
"""

from typing import ClassVar


class HermesError(Exception):
    """A failure with a message for the user.

    Args:
        title: What happened, one sentence without a code, ending with a full stop.
        detail: The cause, as far as it is known: path, server response, name of the holder.
        hint: What to do about it, an imperative sentence.

    Attributes:
        exit_code: The exit code of the command line for it.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, title: str, detail: str = "", hint: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        return " ".join(part for part in (self.title, self.detail, self.hint) if part)


class UsageError(HermesError):
    """The request itself is invalid (a bad option, an empty id)."""

    exit_code = 2


class NotFoundError(HermesError):
    """There is no session with that id or title."""

    exit_code = 3


class AmbiguousError(HermesError):
    """More than one session matches the input."""

    exit_code = 4


class RefusedError(HermesError):
    """The operation is refused; the message gives the reason."""

    exit_code = 5


class CancelledError(RefusedError):
    """The user cancelled the operation."""


class BusyError(HermesError):
    """Another process or turn holds what is needed; retrying later works."""

    exit_code = 6


class StillBusyError(BusyError):
    """The wait for another program's turn timed out."""

    exit_code = 7


class StateError(HermesError):
    """state.db cannot do what was requested."""


class StateUnavailableError(StateError):
    """state.db cannot be opened: unreadable, foreign, damaged, or on a missing path."""


class StateReadOnlyError(StateError):
    """state.db can be read but not written: other version, permissions, read-only disk."""


class ConfigError(HermesError):
    """config.yaml, .env or gateway.json cannot be parsed."""


class ProviderError(HermesError):
    """The model did not answer; the subclass tells how it failed.

    Attributes:
        kind: A stable identifier for logs, results and tests.
        status: The HTTP status if there was one, else None.
        reason: The reason for the refusal, if known: ``auth``, ``billing``, ``rate_limit``,
            ``model_missing``, ``overload``, ``policy``, ``address``, ``empty``; else "".
    """

    kind: ClassVar[str] = "provider"

    def __init__(
        self,
        title: str,
        detail: str = "",
        hint: str = "",
        *,
        status: int | None = None,
        reason: str = "",
    ) -> None:
        super().__init__(title, detail, hint)
        self.status = status
        self.reason = reason


class NotConfiguredError(ProviderError):
    """No model is configured."""

    kind = "not_configured"


class CannotReachError(ProviderError):
    """The endpoint cannot be reached: connection refused, no such host, time-out, broken TLS."""

    kind = "cannot_reach"


class ModelRefusedError(ProviderError):
    """The endpoint refused the request (401, 403, 404, 429, 5xx) or did not answer with JSON."""

    kind = "refused"


class TooLongError(ProviderError):
    """The conversation does not fit into the model's context."""

    kind = "too_long"


class BrokenStreamError(ProviderError):
    """The endpoint started to answer and then stopped or sent invalid data."""

    kind = "broken_stream"
