"""Checks of a platform's settings, made before they are stored or used."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hermes_desktop.core.concurrency.bounded_calls import BoundedCalls
from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.config.gateway_config import PlatformConfig
from hermes_desktop.gateway.platforms.messages import not_taken

if TYPE_CHECKING:
    from hermes_desktop.gateway.platforms.base import PlatformAdapter
    from hermes_desktop.gateway.platforms.registry import AdapterContext

log = logging.getLogger(__name__)

CheckKind = Literal["ok", "refused", "unreachable", "missing_package", "misconfigured"]

_LEAVE_S = 3.0


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A platform's response to our settings.

    Attributes:
        kind: ``ok``; ``refused``: it denies access or does not know the token; ``unreachable``: it
            could not be reached, so nothing is known; ``missing_package``: a part of the program is
            not installed; ``misconfigured``: required settings are missing or invalid.
        name: Our name there, e.g. "@mybot"; "" where that is not known.
        words: The platform's own message, or what is wrong, as a sentence. Never a secret.
        hint: What to do about it, as an imperative sentence.
    """

    kind: CheckKind
    name: str = ""
    words: str = ""
    hint: str = ""


PlatformCheck = Callable[[PlatformConfig, "AdapterContext"], Awaitable[CheckResult]]
"""Checks the settings on a platform, without receiving or sending messages there.

Runs on the event loop. An adapter may be connected with the same token and must not be
disturbed. Its exceptions count as ``unreachable`` (``OSError``, ``TimeoutError``),
``missing_package`` (``ImportError``) or ``misconfigured`` (``HermesError``). The caller applies a
time-out and cancels it.
"""


async def connect_once(adapter: "PlatformAdapter", within_s: float) -> CheckResult:
    """Connect and disconnect a new adapter, for a platform without a check.

    Messages that arrive during the check are not accepted, so that the server delivers them again.

    Args:
        adapter: An unused adapter; its token must not be in use elsewhere.
        within_s: How long connecting may take.

    Raises:
        Exception: Whatever connecting raises; see :func:`answered`.
    """
    bounded = BoundedCalls()
    adapter.set_message_handler(not_taken)
    try:
        # As a reconnection: at the first connection some drop messages waiting at the server.
        connecting = adapter.connect(is_reconnect=True)
        connected = await bounded.within(within_s, connecting, doing="Checking a platform")
    finally:
        await _leave(adapter, bounded)
    failure = adapter.fatal_error
    if failure is not None:
        kind: CheckKind = "unreachable" if failure.retryable else "refused"
        return CheckResult(kind, words=failure.message)
    if not connected:
        return CheckResult("unreachable", words="It could not be connected.")
    return CheckResult("ok")


async def answered(asking: Awaitable[CheckResult]) -> CheckResult:
    """Await a check; its exceptions become results."""
    try:
        return await asking
    except ImportError as error:
        words = f"It needs {error.name or 'a package'}, which is not installed."
        return CheckResult("missing_package", words=words)
    except TimeoutError:
        return CheckResult("unreachable", words="It did not respond in time.")
    except OSError as error:
        return CheckResult("unreachable", words=error.strerror or type(error).__name__)
    except HermesError as error:
        words = " ".join(part for part in (error.title, error.detail) if part)
        return CheckResult("misconfigured", words=words, hint=error.hint)
    except Exception:
        log.exception("Checking a platform failed")
        return CheckResult("misconfigured", words="The check failed; see the log for details.")


async def _leave(adapter: "PlatformAdapter", bounded: BoundedCalls) -> None:
    try:
        await bounded.within(_LEAVE_S, adapter.disconnect(), doing="Leaving a checked platform")
    except Exception:  # the result is known, and this failure cannot be handled
        log.warning("A platform that was checked was not disconnected properly", exc_info=True)
