"""Token locks shared by Hermes programs: one process per bot token on this machine.

A lock names the identity process, never this program: other programs take a lock whose owner does
not look like a gateway. (``irc`` and ``line`` never refuse in hermes-agent 0.19, so those two are
not protected from it.)
"""

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.files.atomic_files import make_private_folder
from hermes_desktop.gateway.runtime_files import process_facts
from hermes_desktop.gateway.runtime_files.identity_files import (
    GatewayRecord,
    parse_record,
    read_json,
)

_TRIES = 5


def locks_folder(environ: Mapping[str, str]) -> Path:
    """Return the lock folder of this machine and user."""
    if named := environ.get("HERMES_GATEWAY_LOCK_DIR", "").strip():
        return Path(named)
    state = environ.get("XDG_STATE_HOME", "").strip()
    base = Path(state) if state else Path.home() / ".local" / "state"
    return base / "hermes" / "gateway-locks"


@dataclass(frozen=True, slots=True)
class TokenOwner:
    """The process that uses a token on this machine.

    Attributes:
        platform: The platform recorded in the lock; "" when there is none.
    """

    record: GatewayRecord
    platform: str = ""


class TokenLocks:
    """The token locks that this program holds. Blocking; use from one thread at a time.

    Args:
        folder: See :func:`locks_folder`; created (0700) with the first lock.
        clock: The source of the time recorded in a lock.
    """

    def __init__(self, folder: Path, clock: Clock | None = None) -> None:
        self._folder = folder
        self._clock = clock or SystemClock()
        self._held: dict[tuple[str, str], tuple[str, GatewayRecord]] = {}

    def acquire(
        self, scope: str, identity: str, platform: str, record: GatewayRecord
    ) -> TokenOwner | None:
        """Acquire the lock of a token.

        Args:
            scope: E.g. ``telegram-bot-token``.
            identity: The token; only its digest is stored.
            platform: The platform that uses the token.
            record: The identity process that holds the home.

        Returns:
            None when the lock is ours now, else its owner (pid 0 when the owner is unknown).

        Raises:
            OSError: The folder is not accessible.
        """
        path = self.path(scope, identity)
        make_private_folder(self._folder)
        prepared = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        prepared.write_text(self._content(scope, identity, platform, record), encoding="utf-8")
        prepared.chmod(0o600)
        owner: TokenOwner | None = None
        try:
            for _ in range(_TRIES):
                with contextlib.suppress(FileExistsError):
                    os.link(prepared, path)
                    self._held[scope, identity] = (platform, record)
                    return None
                owner = _owner(read_json(path))
                if owner and not owner.record.names(record) and not _is_stale(owner.record):
                    return owner
                _remove_if_unchanged(path, owner)
        finally:
            prepared.unlink(missing_ok=True)
        return owner or TokenOwner(GatewayRecord(0))

    def owner(self, scope: str, identity: str) -> TokenOwner | None:
        """Return the other live process that uses a token; None when there is none."""
        if (scope, identity) in self._held:
            return None
        owner = _owner(read_json(self.path(scope, identity)))
        return None if owner is None or _is_stale(owner.record) else owner

    def release(self, scope: str, identity: str) -> None:
        """Release one lock if it is still ours."""
        held = self._held.pop((scope, identity), None)
        if held is not None:
            path = self.path(scope, identity)
            owner = _owner(read_json(path))
            if owner is not None and owner.record.names(held[1]):
                _remove_if_unchanged(path, owner)

    def release_all(self) -> None:
        """Release all held locks."""
        for scope, identity in list(self._held):
            self.release(scope, identity)

    def rename_all(self, record: GatewayRecord) -> dict[str, TokenOwner]:
        """Transfer every lock to a new identity process.

        Returns:
            Platform → the owner that has taken its token; that platform must close.
        """
        lost: dict[str, TokenOwner] = {}
        for (scope, identity), (platform, _) in list(self._held.items()):
            self.release(scope, identity)
            owner = self.acquire(scope, identity, platform, record)
            if owner is not None:
                lost[platform] = owner
        return lost

    def path(self, scope: str, identity: str) -> Path:
        """Return the path of a lock file."""
        return self._folder / f"{scope}-{_digest(identity)}.lock"

    def _content(self, scope: str, identity: str, platform: str, record: GatewayRecord) -> str:
        written = datetime.fromtimestamp(self._clock.time(), UTC).isoformat()
        return json.dumps(
            {
                **record.as_json(),
                "scope": scope,
                "identity_hash": _digest(identity),
                "metadata": {"platform": platform},
                "updated_at": written,
            }
        )


def _digest(identity: str) -> str:
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def _owner(data: Any) -> TokenOwner | None:
    record = parse_record(data)
    if record is None:
        return None
    metadata = data.get("metadata") if isinstance(data, Mapping) else None
    named = metadata.get("platform") if isinstance(metadata, Mapping) else None
    return TokenOwner(record, str(named or ""))


def _is_stale(record: GatewayRecord) -> bool:
    return not record.is_live() or process_facts.is_frozen(record.pid)


def _remove_if_unchanged(path: Path, expected: TokenOwner | None) -> None:
    """Remove a lock that was read before; restore it if another process has taken it since."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.old")
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
        if _owner(read_json(aside)) != expected:
            with contextlib.suppress(FileExistsError):
                os.link(aside, path)
        aside.unlink(missing_ok=True)
