"""The locks of bot tokens as the loop sees them: taken before a platform is connected."""

import logging
import os
from collections.abc import Callable
from typing import Protocol

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.gateway.identity.token_locks import TokenLocks, TokenOwner
from hermes_desktop.gateway.platforms.base import TokenIdentity
from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord

log = logging.getLogger(__name__)


class TokenGate(Protocol):
    """Says whether a token may be used."""

    async def acquire(self, token: TokenIdentity, platform: str) -> TokenOwner | None:
        """Take a token's lock; None when it is ours now, else who has it."""
        ...

    async def release(self, token: TokenIdentity) -> None:
        """Give it back."""
        ...


class LockedTokens:
    """The locks of this machine, in the name of the identity process.

    Args:
        locks: The locks, used on ``worker`` alone.
        worker: One thread.
        record: The identity process that holds the home now.
    """

    def __init__(
        self, locks: TokenLocks, worker: WorkerThreads, record: Callable[[], GatewayRecord]
    ) -> None:
        self._locks = locks
        self._worker = worker
        self._record = record

    async def acquire(self, token: TokenIdentity, platform: str) -> TokenOwner | None:
        """Take a token's lock; None when it is ours now, else who has it.

        A lock that names this very process is ours. A folder that does not let us keep locks
        costs the protection, not the platform.
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
        """Give it back."""
        try:
            await self._worker.run(self._locks.release, token.scope, token.secret)
        except OSError as error:
            log.warning("The lock of a token cannot be given back: %s", error)


def in_use_words(owner: TokenOwner) -> str:
    """Who uses a token, as a sentence."""
    if owner.record.pid <= 0:
        return "Another program uses its token."
    who = "Another Hermes Desktop" if owner.record.is_hermes_desktop else "Another gateway"
    return f"{who} (process {owner.record.pid}) uses its token."
