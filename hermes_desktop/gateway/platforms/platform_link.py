"""The life cycle of one platform connection: connect, watch, disconnect, reconnect."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from hermes_desktop.core.concurrency.bounded_calls import BoundedCalls
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import (
    LastHeard,
    PlatformAdapter,
    TokenIdentity,
)
from hermes_desktop.gateway.platforms.link_record import (
    LinkRecord,
    LinkState,
    LinkTools,
    is_silent,
    until_silent,
)
from hermes_desktop.gateway.platforms.machine_watch import SuspendedTime
from hermes_desktop.gateway.platforms.messages import not_taken
from hermes_desktop.gateway.platforms.token_gate import TokenLockClient, in_use_text

__all__ = ["LinkTools", "PlatformLink"]

log = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_WORD_S = 0.5
"""Poll interval for the first message of a server that accepted the connection."""


class _SupersededError(Exception):
    """The current step was superseded by a new request."""


class _FailedError(Exception):
    """A connection attempt failed."""

    def __init__(self, code: str, words: str, *, retryable: bool = True) -> None:
        super().__init__(words)
        self.code, self.words, self.retryable = code, words, retryable


class PlatformLink(LinkRecord):
    """Connection manager of one platform; :meth:`run` does the work, other methods request it.

    Everything runs on one event loop.
    """

    def __init__(self, platform: Platform, tools: LinkTools) -> None:
        super().__init__(platform, tools)
        self._bounded = BoundedCalls()
        self._token: TokenIdentity | None = None
        self._freeing: tuple[TokenIdentity, asyncio.Task[None]] | None = None

    # Life cycle

    async def run(self) -> None:
        """Connect, watch and reconnect until cancelled; then disconnect."""
        try:
            while True:
                try:
                    await self._next_step()
                except Exception:  # a bug here must not end a platform's connection permanently
                    log.exception("Maintaining the connection of %s failed", self.platform.value)
                    await self._failed(_FailedError("error", "An internal error occurred."))
        finally:
            await self._let_go()
            await self._free_token()
            await self._cancel_deferred_release()

    async def _next_step(self) -> None:
        self._kick.clear()
        self._anew = False
        if self._paused:
            await self._rest("paused")
        elif self._state == "fatal":
            await self._rest("fatal")
        elif (left := self._backoff.next_try - self._clock.monotonic()) > 0:
            await self._wait(left)
        else:
            await self._connect_and_watch()

    async def _rest(self, state: LinkState) -> None:
        await self._let_go()
        await self._free_token()
        self._enter(state)
        self._settle()
        while not self._anew:
            self._kick.clear()
            await self._kick.wait()
        self._enter("connecting")

    async def _connect_and_watch(self) -> None:
        self._enter("connecting")
        try:
            await self._unless_called_away(self._connect())
        except _SupersededError:  # the request that superseded this step settles the link
            await self._let_go()
            return
        except _FailedError as failure:
            await self._failed(failure)
            self._settle()
            return
        self._settle()
        await self._watch()
        self._lost_at = self._lost_at or self._last_heard_at or self._clock.time()
        if self._anew or self._paused:
            return
        self._backoff.broke(self._clock.monotonic())
        if self._state != "fatal":
            self._enter("retrying")

    def _settle(self) -> None:
        if not self._anew:
            self.settled.set()

    async def _failed(self, failure: _FailedError) -> None:
        log.warning("%s is not connected: %s", self.platform.value, failure.words)
        self._note(failure.code, failure.words)
        await self._let_go()
        if self._anew:  # another attempt has been requested
            return
        self._backoff.failed(self._clock.monotonic())
        self._enter("retrying" if failure.retryable else "fatal")

    async def _connect(self) -> None:
        adapter = self._adapter = self._make()
        await self._take_token(adapter)
        adapter.set_fatal_error_handler(self._fatal_error)
        self._tools.install(adapter)
        try:
            connected = await self._bounded.within(
                self._timing.connect_s,
                adapter.connect(is_reconnect=self._was_connected),
                doing=f"Connecting {self.platform.value}",
            )
        except TimeoutError:
            raise _FailedError(
                "timeout", f"It did not respond within {self._timing.connect_s:g} s."
            ) from None
        except OSError as error:
            raise _FailedError("cannot_connect", _words(error)) from error
        except Exception as error:
            log.exception("Connecting %s failed", self.platform.value)
            raise _FailedError("error", _words(error)) from error
        if adapter.fatal_error is not None:
            found = adapter.fatal_error
            raise _FailedError(found.code, found.message, retryable=found.retryable)
        if not connected:
            raise _FailedError("not_connected", "It could not be connected.")

    def _make(self) -> PlatformAdapter:
        try:
            return self._tools.make()
        except Exception as error:
            log.exception("An adapter for %s cannot be created", self.platform.value)
            raise _FailedError("error", _words(error)) from error

    async def _take_token(self, adapter: PlatformAdapter) -> None:
        tokens = self._tools.tokens
        if self._token != adapter.token:
            await self._free_token()
        if tokens is None or adapter.token is None:
            return
        await self._cancel_deferred_release(adapter.token)
        owner = await tokens.acquire(adapter.token, self.platform.value)
        if owner is not None:
            raise _FailedError("token_in_use", in_use_text(owner))
        self._token = adapter.token

    async def _free_token(self) -> None:
        """Release the token; if an abandoned adapter still uses it, only after that."""
        token, self._token = self._token, None
        if token is None or self._tools.tokens is None:
            return
        if len(self._bounded):
            log.warning("The token of %s stays locked: its connection hangs", self.platform.value)
            freeing = self._free_later(token, self._tools.tokens)
            task = asyncio.get_running_loop().create_task(freeing, name="token, later")
            self._freeing = token, task
        else:
            await self._tools.tokens.release(token)

    async def _free_later(self, token: TokenIdentity, tokens: TokenLockClient) -> None:
        await self._bounded.ended()
        await tokens.release(token)

    async def _cancel_deferred_release(self, wanted: TokenIdentity | None = None) -> None:
        """Cancel the deferred release of a token that is used again or released with all others.

        Args:
            wanted: The token to use again; None at the end.
        """
        if self._freeing is None or wanted not in {None, self._freeing[0]}:
            return
        (_, freeing), self._freeing = self._freeing, None
        freeing.cancel()
        await asyncio.wait({freeing})

    async def _watch(self) -> None:
        """Watch the connection; return when it is no longer usable."""
        self._begin_watching()
        while not self._paused and not self._anew:
            self._kick.clear()
            adapter, connected = self._adapter, self._connected
            if adapter is None or connected is None or self._has_failed(adapter):
                break
            if self._probe_wanted or is_silent(adapter, connected, self._clock):
                self._tools.changed()
                try:
                    alive = await self._unless_called_away(self._answers(adapter))
                except _SupersededError:
                    break
                if not alive:
                    self._note("silent", "Its server did not respond.")
                    break
                self._tools.changed()
            else:
                await self._listen(adapter, until_silent(adapter, connected, self._clock))
        await self._let_go()

    async def _listen(self, adapter: PlatformAdapter, seconds: float | None) -> None:
        """Wait until the next check is due; report the first sign of the server."""
        unheard = seconds is not None and adapter.last_heard is None
        await self._wait(min(seconds or 0.0, _FIRST_WORD_S) if unheard else seconds)
        if unheard and adapter.last_heard is not None:
            self._tools.changed()

    def _begin_watching(self) -> None:
        now = LastHeard(self._clock.monotonic(), self._clock.time())
        self._connected = now
        self._probe_wanted = False
        self._backoff.connected()
        self._note("", "")
        self._enter("up")
        lost_at, self._lost_at = self._lost_at, None
        if self._adapter is not None and lost_at is not None:
            gap = SuspendedTime(lost_at, now.wall)
            if gap.seconds >= self._timing.outage_told_s:
                self._tools.outage(self._adapter, gap)
        self._was_connected = True
        self._tools.connected(self.platform)

    def _has_failed(self, adapter: PlatformAdapter) -> bool:
        failure = adapter.fatal_error
        if failure is None:
            return False
        self._note(failure.code, failure.message)
        log.warning("%s failed: %s", self.platform.value, failure.message)
        if not failure.retryable:
            self._enter("fatal")
        return True

    async def _answers(self, adapter: PlatformAdapter) -> bool:
        """Return whether the server responds to a probe."""
        self._probe_wanted = False
        try:
            alive = await self._bounded.within(
                self._timing.probe_s, adapter.probe(), doing=f"Probing {self.platform.value}"
            )
        except TimeoutError:
            return False
        except Exception:
            log.exception("Probing %s failed", self.platform.value)
            return False
        if alive:
            adapter.heard()
        return alive

    async def _let_go(self) -> None:
        """Drop the current adapter, even if it misbehaves."""
        self._remember_heard()
        adapter, self._adapter, self._connected = self._adapter, None, None
        if adapter is None:
            return
        adapter.set_message_handler(not_taken)
        try:
            await self._bounded.within(
                self._timing.disconnect_s,
                adapter.disconnect(),
                doing=f"Leaving {self.platform.value}",
            )
        except TimeoutError as error:
            log.warning("%s", error)
        except Exception:  # this failure cannot be handled
            log.exception("Leaving %s failed", self.platform.value)
        finally:
            self._tools.remove(adapter)

    # Helpers

    def _fatal_error(self, adapter: PlatformAdapter) -> None:
        if adapter is self._adapter:
            self._kick.set()

    async def _wait(self, seconds: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._kick.wait()

    async def _unless_called_away(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Await a coroutine unless a request supersedes it.

        Raises:
            _SupersededError: The coroutine was cancelled.
        """
        work = asyncio.get_running_loop().create_task(coroutine)
        try:
            while not work.done():
                if self._paused or self._anew:
                    raise _SupersededError
                called = asyncio.ensure_future(self._kick.wait())
                try:
                    await asyncio.wait({work, called}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    called.cancel()
                self._kick.clear()
            return work.result()
        finally:
            if not work.done():
                work.cancel()
                await asyncio.wait({work})


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
