"""Pairing: strangers request access, and the owner of this machine approves or denies it.

A stranger who writes to a bot gets a code and passes it to the owner, or the owner finds the
request in the window. Files, codes and limits are those of the ``hermes`` command: either program
may answer the requests made to the other.
"""

import hashlib
import hmac
import logging
import math
import secrets
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import HermesError, NotFoundError, RefusedError
from hermes_desktop.gateway.access.pairing_files import APPROVED, PENDING, PairingFiles, Records
from hermes_desktop.gateway.config.user_lists import canonical_user, change_user_list

log = logging.getLogger(__name__)

ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
CODE_LENGTH = 8
CODE_LIFETIME_S = 3600.0
MOST_PENDING = 3
"""Maximum number of pending requests per platform."""
ASK_AGAIN_S = 600.0
"""Minimum time between two requests of the same user."""
MOST_WRONG_CODES = 5
LOCKOUT_S = 3600.0
_MOST_NAME_CHARS = 64


@dataclass(frozen=True, slots=True)
class PairingResponse:
    """The response to a pairing request.

    Attributes:
        code: The code, None for none.
        why: ``asked_lately``: the same user got a response within the last ten minutes, so there is
            none now. ``full``: too many requests are pending. ``locked``: too many wrong codes.
    """

    code: str | None
    why: Literal["", "asked_lately", "full", "locked"] = ""


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """A pending pairing request.

    Attributes:
        user_name: The user's name on the platform; chosen by that user.
        created_at: Epoch seconds.
    """

    platform: str
    entry_id: str
    user_id: str
    user_name: str
    created_at: float


@dataclass(frozen=True, slots=True)
class PairedUser:
    """An approved user. ``approved_at`` is in epoch seconds, 0 when it was not recorded."""

    platform: str
    user_id: str
    user_name: str
    approved_at: float


class PairingStore:
    """Requests and approvals of a home. Blocking, not on the event loop; thread- and process-safe.

    Args:
        home: The Hermes home; nothing is created in it before the first request.
        clock: The time source.
    """

    def __init__(self, home: Path, clock: Clock) -> None:
        self._files = PairingFiles(home)
        self._env_file = home / ".env"
        self._clock = clock

    # Called by the gateway

    def request(self, platform: str, user_id: str, user_name: str | None) -> PairingResponse:
        """Record a stranger's pairing request.

        Whatever the response is, the next request of that user within ten minutes gets none.

        Raises:
            HermesError: It cannot be written.
        """
        user_id = canonical_user(platform, user_id)
        with self._files.alone():
            now = self._clock.time()
            limits = self._files.rate_limits()
            if 0 <= now - _number(limits.get(f"{platform}:{user_id}")) < ASK_AGAIN_S:
                return PairingResponse(None, "asked_lately")
            answer = self._answer(platform, user_id, user_name or "", limits)
            self._files.change_rate_limits(
                lambda records: _note_question(records, f"{platform}:{user_id}", now)
            )
            return answer

    def _answer(
        self, platform: str, user_id: str, user_name: str, limits: Records
    ) -> PairingResponse:
        if self._locked_for(platform, limits) > 0:
            return PairingResponse(None, "locked")
        now = self._clock.time()
        others = [request for request in self._valid(platform) if request.user_id != user_id]
        if len(others) >= MOST_PENDING:
            return PairingResponse(None, "full")
        code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
        salt = secrets.token_bytes(16)
        entry = {
            "hash": _hash(salt, code),
            "salt": salt.hex(),
            "user_id": user_id,
            "user_name": _clean_name(user_name),
            "created_at": now,
        }

        def add(records: Records) -> None:
            keep = {request.entry_id for request in others}
            _drop_but(records, keep)
            records[secrets.token_hex(8)] = entry

        self._files.change(platform, PENDING, add)
        return PairingResponse(code)

    def is_approved(self, platform: str, user_id: str) -> bool:
        """Return whether a user was approved."""
        wanted = canonical_user(platform, user_id)
        records = self._files.read(platform, APPROVED)
        return wanted in records or any(canonical_user(platform, key) == wanted for key in records)

    # Called by the owner

    def pending(self) -> list[PairingRequest]:
        """Return the pending requests of all platforms, oldest first. Changes nothing."""
        found = [request for name in self._files.platforms() for request in self._valid(name)]
        return sorted(found, key=lambda request: request.created_at)

    def approved(self) -> list[PairedUser]:
        """Return the approved users by platform, newest first. Changes nothing."""
        found = [
            PairedUser(platform, str(key), _name_in(value), _number(_field(value, "approved_at")))
            for platform in self._files.platforms()
            for key, value in self._files.read(platform, APPROVED).items()
        ]
        return sorted(found, key=lambda user: (user.platform, -user.approved_at))

    def approve_code(self, platform: str, code: str) -> PairedUser:
        """Approve the user who received this code; case and surrounding blanks are ignored.

        Raises:
            RefusedError: Too many wrong codes were tried; a retry is possible in an hour.
            NotFoundError: No request of the platform has this code; the failure is counted.
            HermesError: It cannot be written.
        """
        with self._files.alone():
            locked_s = self._locked_for(platform, self._files.rate_limits())
            if locked_s > 0:
                raise _too_many_codes(platform, locked_s)
            request = self._with_code(platform, code.strip().upper())
            if request is None:
                self._count_wrong_code(platform)
                raise NotFoundError(
                    "This code is not valid.",
                    f"No {platform} request of the last hour has it.",
                    "Compare it with the code that the sender received, or ask them to "
                    "request a new one.",
                )
            return self._let_in(request)

    def approve(self, platform: str, entry_id: str) -> PairedUser:
        """Approve a request.

        Raises:
            NotFoundError: The request is older than an hour, or was answered already.
            HermesError: It cannot be written.
        """
        with self._files.alone():
            return self._let_in(self._find(platform, entry_id))

    def deny(self, platform: str, entry_id: str) -> PairingRequest:
        """Deny a request without notifying the user. Raises the errors of :meth:`approve`."""
        with self._files.alone():
            request = self._find(platform, entry_id)
            self._files.change(platform, PENDING, lambda records: records.pop(entry_id, None))
            return request

    def revoke(self, platform: str, user_id: str) -> bool:
        """Revoke a user's approval; return False when no user of that id was approved.

        Raises:
            HermesError: It cannot be written.
        """
        wanted = canonical_user(platform, user_id)
        found: list[str] = []

        def remove(records: Records) -> None:
            found.extend(key for key in records if canonical_user(platform, key) == wanted)
            for key in found:
                records.pop(key, None)

        with self._files.alone():
            if self.is_approved(platform, wanted):
                self._files.change(platform, APPROVED, remove)
            listed = change_user_list(self._env_file, platform, remove=wanted)
        return bool(found) or listed

    # Called while the lock is held

    def _let_in(self, request: PairingRequest) -> PairedUser:
        user = PairedUser(request.platform, request.user_id, request.user_name, self._clock.time())
        record = {"user_name": user.user_name, "approved_at": user.approved_at}
        self._files.change(
            user.platform, APPROVED, lambda records: records.update({user.user_id: record})
        )
        self._files.change(
            user.platform, PENDING, lambda records: records.pop(request.entry_id, None)
        )
        try:
            change_user_list(self._env_file, user.platform, add=user.user_id)
        except HermesError as error:
            # Still approved: that list is checked after this store.
            log.warning("%s is not in the list of .env: %s", user.user_id, error)
        return user

    def _find(self, platform: str, entry_id: str) -> PairingRequest:
        for request in self._valid(platform):
            if request.entry_id == entry_id:
                return request
        raise NotFoundError(
            "This request no longer exists.",
            "It was already answered, or is older than an hour.",
            "Check the list again.",
        )

    def _with_code(self, platform: str, code: str) -> PairingRequest | None:
        records = self._files.read(platform, PENDING)
        for request in self._valid(platform):
            record = records.get(request.entry_id)
            if _field(record, "hash") is None:  # hermes stored the codes themselves until 0.13
                found = hmac.compare_digest(request.entry_id.encode(), code.encode())
            else:
                found = _is_code_of(record, code)
            if found:
                return request
        return None

    def _valid(self, platform: str) -> Iterator[PairingRequest]:
        """Yield the requests that can still be answered."""
        now = self._clock.time()
        for entry_id, record in self._files.read(platform, PENDING).items():
            created_at = _number(_field(record, "created_at"))
            user_id = _field(record, "user_id")
            if user_id and now - created_at < CODE_LIFETIME_S:
                yield PairingRequest(
                    platform, str(entry_id), str(user_id), _name_in(record), created_at
                )

    def _locked_for(self, platform: str, limits: Records) -> float:
        return _number(limits.get(f"_lockout:{platform}")) - self._clock.time()

    def _count_wrong_code(self, platform: str) -> None:
        until = self._clock.time() + LOCKOUT_S

        def count(records: Records) -> None:
            wrong = int(_number(records.get(f"_failures:{platform}"))) + 1
            if wrong >= MOST_WRONG_CODES:
                log.warning(
                    "Too many wrong pairing codes of %s; none is taken for an hour", platform
                )
                records[f"_lockout:{platform}"] = until
                wrong = 0
            records[f"_failures:{platform}"] = wrong

        self._files.change_rate_limits(count)


def _hash(salt: bytes, code: str) -> str:
    return hashlib.sha256(salt + code.encode()).hexdigest()


def _is_code_of(record: Any, code: str) -> bool:
    try:
        salt = bytes.fromhex(str(_field(record, "salt")))
    except ValueError:
        return False
    return hmac.compare_digest(_hash(salt, code), str(_field(record, "hash")))


def _note_question(records: Records, key: str, now: float) -> None:
    """Record a request, and drop the records that no longer matter."""
    for name in list(records):
        if not name.startswith("_") and now - _number(records[name]) >= ASK_AGAIN_S:
            del records[name]
    records[key] = now


def _drop_but(records: Records, keep: set[str]) -> None:
    for key in records.keys() - keep:
        del records[key]


def _field(record: Any, name: str) -> Any:
    return record.get(name) if isinstance(record, dict) else None


def _name_in(record: Any) -> str:
    return _clean_name(str(_field(record, "user_name") or ""))


def _clean_name(name: str) -> str:
    """Return a user-chosen name as one harmless line."""
    shown = "".join(" " if unicodedata.category(sign)[0] in "CZ" else sign for sign in name)
    return " ".join(shown.split())[:_MOST_NAME_CHARS]


def _number(value: Any) -> float:
    """Return a time or a counter; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0.0
    return float(value)


def _too_many_codes(platform: str, seconds: float) -> RefusedError:
    return RefusedError(
        "Too many wrong codes were entered.",
        f"Codes for {platform} are refused for another {math.ceil(seconds / 60)} min.",
        "Approve the request in the window, or wait.",
    )
