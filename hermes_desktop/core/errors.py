"""The failures a person can act on.

    HermesError                 title, detail, hint; shown once, by one presenter
    ├── UsageError              what was asked for makes no sense
    ├── NotFoundError           no such session
    ├── AmbiguousError          more than one session fits
    ├── RefusedError            we will not do that, and say why
    │   └── CancelledError      the person stopped it
    ├── BusyError               somebody else holds it; later works
    │   └── StillBusyError          it was waited for in vain
    ├── StateError              state.db cannot do it
    │   ├── StateUnavailableError   it cannot be opened at all
    │   └── StateReadOnlyError      it may be looked at, not written
    ├── ConfigError             config.yaml or .env cannot be understood
    └── ProviderError           the model did not answer
        ├── NotConfiguredError      no model is set
        ├── CannotReachError        nobody answers there
        ├── ModelRefusedError       the endpoint said no
        ├── TooLongError            the conversation does not fit
        └── BrokenStreamError       it began to answer and stopped

Everything else that is raised is a bug and is treated as one. This module imports nothing.
"""

from typing import ClassVar


class HermesError(Exception):
    """A failure with words for a person.

    Args:
        title: What happened, one sentence without a code, ending with a full stop.
        detail: Why, as far as we know: path, answer of the server, name of the holder.
        hint: What to do about it, an imperative sentence.

    Attributes:
        exit_code: What the command line returns for it.
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
    """The request itself makes no sense (a bad option, an empty id)."""

    exit_code = 2


class NotFoundError(HermesError):
    """There is no session of that id or title."""

    exit_code = 3


class AmbiguousError(HermesError):
    """More than one session fits what was typed."""

    exit_code = 4


class RefusedError(HermesError):
    """We will not do that, and the text says why."""

    exit_code = 5


class CancelledError(RefusedError):
    """The person stopped it."""


class BusyError(HermesError):
    """Another process or turn holds what is needed; trying later works."""

    exit_code = 6


class StillBusyError(BusyError):
    """Another program's turn was waited for, and did not end in time."""

    exit_code = 7


class StateError(HermesError):
    """state.db cannot do what was asked."""


class StateUnavailableError(StateError):
    """state.db cannot be opened: unreadable, foreign, damaged, on a missing path."""


class StateReadOnlyError(StateError):
    """state.db may be looked at but not written: other version, rights, read-only disk."""


class ConfigError(HermesError):
    """config.yaml, .env or gateway.json cannot be understood."""


class ProviderError(HermesError):
    """The model did not answer; one of the subclasses says in which way.

    Attributes:
        kind: A stable word for logs, results and tests.
        status: HTTP status when there was one, else None.
        reason: Why it said no, where that is known: ``auth``, ``billing``, ``rate_limit``,
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
    """No model is set, so nobody can be asked."""

    kind = "not_configured"


class CannotReachError(ProviderError):
    """Nobody answers at the endpoint: refused, no such host, time-out, broken TLS."""

    kind = "cannot_reach"


class ModelRefusedError(ProviderError):
    """The endpoint answered, and the answer was no (401, 403, 404, 429, 5xx, not JSON)."""

    kind = "refused"


class TooLongError(ProviderError):
    """The conversation does not fit into the model's context."""

    kind = "too_long"


class BrokenStreamError(ProviderError):
    """The endpoint began to answer and then stopped or sent nonsense."""

    kind = "broken_stream"
