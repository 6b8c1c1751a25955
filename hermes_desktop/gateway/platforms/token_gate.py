"""Asynchronous access to the locks of bot tokens, taken before a platform is connected."""

import logging
import os
from collections.abc import Callable
from typing import Protocol

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.gateway.identity.token_locks import TokenLocks, TokenOwner
from hermes_desktop.gateway.platforms.base import TokenIdentity
from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord

log = logging.getLogger(__name__)


class TokenLockClient(Protocol):
    """Grants exclusive use of tokens."""

    async def acquire(self, token: TokenIdentity, platform: str) -> TokenOwner | None:
        """Acquire a token's lock; return None when it is ours now, else its owner."""
        ...

    async def release(self, token: TokenIdentity) -> None:
        """Release it."""
        ...


class AsyncTokenLocks:
    """The token locks of this machine, held in the name of the identity process.

    Args:
        locks: The locks, used on ``worker`` alone.
        worker: One thread.
        record: Returns the identity process that holds the home now.
    """

    def __init__(
        self, locks: TokenLocks, worker: WorkerThreads, record: Callable[[], GatewayRecord]
    ) -> None:
        self._locks = locks
        self._worker = worker
        self._record = record

    async def acquire(self, token: TokenIdentity, platform: str) -> TokenOwner | None:
        """Acquire a token's lock; return None when it is ours now, else its owner.

        A lock that names this very process is ours. If the folder does not allow locks, the
        protection is lost, but the platform is served.
        """
        record = self._record()
        try:
            owner = await self._worker.run(
                self._locks.acquire, token.scope, token.secret, platform, record
            )
        except OSError as error:
            log.warning("The lock of the token of %s cannot be taken: %s", platform, error)
            return None
        return None if owner is not None and owner.record.pid == os.getpid() else owner

    async def release(self, token: TokenIdentity) -> None:
        """Release it."""
        try:
            await self._worker.run(self._locks.release, token.scope, token.secret)
        except OSError as error:
            log.warning("The lock of a token cannot be released: %s", error)


def in_use_text(owner: TokenOwner) -> str:
    """Return who uses a token, as a sentence."""
    if owner.record.pid <= 0:
        return "Another program uses its token."
    who = "Another Hermes Desktop" if owner.record.is_hermes_desktop else "Another gateway"
    return f"{who} (process {owner.record.pid}) uses its token."
