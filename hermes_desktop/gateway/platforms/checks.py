"""Whether a platform takes our settings, asked before they are kept or used."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hermes_desktop.core.concurrency.bounded_calls import BoundedCalls
from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.config.gateway_config import PlatformConfig
from hermes_desktop.gateway.platforms.not_taken import not_taken

if TYPE_CHECKING:
    from hermes_desktop.gateway.platforms.base import PlatformAdapter
    from hermes_desktop.gateway.platforms.registry import AdapterContext

log = logging.getLogger(__name__)

CheckKind = Literal["ok", "refused", "unreachable", "missing_package", "misconfigured"]

_LEAVE_S = 3.0


@dataclass(frozen=True, slots=True)
class CheckAnswer:
    """What a platform says to our settings.

    Attributes:
        kind: ``ok``; ``refused``: it knows us and says no, or does not know the token;
            ``unreachable``: nobody could be asked, so nothing is known; ``missing_package``: a
            part of the program that is not installed; ``misconfigured``: what it needs is missing
            or makes no sense.
        name: Who we are there, e.g. "@mybot"; "" where that is not known.
        words: The platform's own words, or what is wrong, as a sentence. Never a secret.
        hint: What to do about it, as an order.
    """

    kind: CheckKind
    name: str = ""
    words: str = ""
    hint: str = ""


PlatformCheck = Callable[[PlatformConfig, "AdapterContext"], Awaitable[CheckAnswer]]
"""Asks a platform, without receiving or sending anything there.

Runs on the loop, beside an adapter that may be connected with the same token, which it must not
disturb. What it raises counts as ``unreachable`` (``OSError``, ``TimeoutError``),
``missing_package`` (``ImportError``) or ``misconfigured`` (``HermesError``). Whoever calls it
bounds it in time, and cancels it.
"""


async def connect_once(adapter: "PlatformAdapter", within_s: float) -> CheckAnswer:
    """Connect a new adapter and leave again, where a platform has no check of its own.

    Messages that come meanwhile are not taken, so that the server brings them again.

    Args:
        adapter: One that nobody uses; its token must not be in use elsewhere.
        within_s: How long connecting may take.

    Raises:
        Exception: Whatever connecting raises; see :func:`answered`.
    """
    bounded = BoundedCalls()
    adapter.set_message_handler(not_taken)
    try:
        # As a reconnection: at the first one some drop what waits at the server.
        connecting = adapter.connect(is_reconnect=True)
        connected = await bounded.within(within_s, connecting, doing="Checking a platform")
    finally:
        await _leave(adapter, bounded)
    failure = adapter.fatal_error
    if failure is not None:
        kind: CheckKind = "unreachable" if failure.retryable else "refused"
        return CheckAnswer(kind, words=failure.message)
    if not connected:
        return CheckAnswer("unreachable", words="It could not be connected.")
    return CheckAnswer("ok")


async def answered(asking: Awaitable[CheckAnswer]) -> CheckAnswer:
    """Await a check; what it raises becomes an answer."""
    try:
        return await asking
    except ImportError as error:
        words = f"It needs {error.name or 'a package'}, which is not installed."
        return CheckAnswer("missing_package", words=words)
    except TimeoutError:
        return CheckAnswer("unreachable", words="It did not answer in time.")
    except OSError as error:
        return CheckAnswer("unreachable", words=error.strerror or type(error).__name__)
    except HermesError as error:
        words = " ".join(part for part in (error.title, error.detail) if part)
        return CheckAnswer("misconfigured", words=words, hint=error.hint)
    except Exception:
        log.exception("Checking a platform failed")
        return CheckAnswer("misconfigured", words="Checking it failed; the log says how.")


async def _leave(adapter: "PlatformAdapter", bounded: BoundedCalls) -> None:
    try:
        await bounded.within(_LEAVE_S, adapter.disconnect(), doing="Leaving a checked platform")
    except Exception:  # the answer is known, and there is nothing that could be done about it
        log.warning("A platform that was checked was not left in order", exc_info=True)
