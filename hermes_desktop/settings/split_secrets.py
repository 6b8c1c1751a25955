"""Secrets longer than the limit of a keyring entry: stored in parts, and joined again.

Windows allows at most 2,560 bytes, which are 1,280 units of UTF-16. A longer value is stored in
several entries; the one under its own name holds their number and checksum. Parts are named by that
checksum, so that a new value never overwrites parts of the old one: until its head is written the
old value is complete. A value that does not match its checksum is damaged; a truncated token is
never returned.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Protocol

WINDOWS_LIMIT = 2560
"""Bytes of one entry in the Credential Manager of Windows."""

_HEAD = "hermes-desktop/parts"
_HEAD_LINE = re.compile(rf"{_HEAD} (?P<count>\d{{1,4}}) (?P<sum>[0-9a-f]{{64}})")
_NAME_DIGITS = 12


class Keyring(Protocol):
    """The required interface of a backend of the library ``keyring``."""

    name: str

    def get_password(self, service: str, username: str) -> str | None:
        """Return the value, None when there is none."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store a value."""
        ...

    def delete_password(self, service: str, username: str) -> None:
        """Delete a value."""
        ...


class DamagedSecretError(Exception):
    """Parts of a secret are missing or belong to another value."""


def keyring_for_platform(keyring: Keyring, system: str) -> Keyring:
    """Return the keyring, adapted to the limits of this system.

    Args:
        keyring: The store of entries.
        system: Value of ``sys.platform``.
    """
    return SplittingKeyring(keyring, WINDOWS_LIMIT) if system == "win32" else keyring


class SplittingKeyring:
    """A keyring with short entries that accepts values of any length. Blocks as the keyring does.

    Args:
        keyring: The store of entries.
        limit: Bytes of UTF-16 that an entry may have.
    """

    def __init__(self, keyring: Keyring, limit: int) -> None:
        self._keyring = keyring
        self._units = limit // 2
        self.name = keyring.name

    def get_password(self, service: str, username: str) -> str | None:
        """Return the whole value, None when there is none.

        Raises:
            DamagedSecretError: Some of it is missing, or is of another value.
        """
        head = self._keyring.get_password(service, username)
        names = list(_part_names(username, head))
        if not names:
            return head
        parts = [self._keyring.get_password(service, name) for name in names]
        value = "".join(part or "" for part in parts)
        if head is None or None in parts or head != _head(value, len(parts)):
            raise DamagedSecretError(f"{sum(map(bool, parts))} of {len(parts)} parts are there")
        return value

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store a value; the previous one remains valid until all of the new one is stored."""
        before = self._keyring.get_password(service, username)
        parts = _parts(password, self._units)
        # A value that looks like a head is stored as a part, so that it is not taken for one.
        if len(parts) == 1 and not _HEAD_LINE.fullmatch(password):
            head = password
        else:
            head = _head(password, len(parts))
            for name, part in zip(_part_names(username, head), parts, strict=True):
                self._keyring.set_password(service, name, part)
        self._keyring.set_password(service, username, head)
        self._delete(service, set(_part_names(username, before)) - set(_part_names(username, head)))

    def delete_password(self, service: str, username: str) -> None:
        """Delete a value, its parts first: without them the head is recognized as damaged."""
        head = self._keyring.get_password(service, username)
        self._delete(service, set(_part_names(username, head)))
        self._keyring.delete_password(service, username)

    def _delete(self, service: str, names: set[str]) -> None:
        for name in sorted(names):
            if self._keyring.get_password(service, name) is not None:
                self._keyring.delete_password(service, name)


def _head(value: str, count: int) -> str:
    return f"{_HEAD} {count} {hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _part_names(username: str, head: str | None) -> Iterator[str]:
    found = _HEAD_LINE.fullmatch(head or "")
    if found is not None:
        for number in range(1, int(found["count"]) + 1):
            yield f"{username}/{found['sum'][:_NAME_DIGITS]}/{number}"


def _parts(value: str, units: int) -> list[str]:
    """Split the value into pieces of at most so many units of UTF-16; no character is split."""
    parts: list[str] = []
    start = used = 0
    for place, letter in enumerate(value):
        needs = 2 if ord(letter) > 0xFFFF else 1  # noqa: PLR2004 - outside the basic plane
        if used + needs > units:
            parts.append(value[start:place])
            start, used = place, 0
        used += needs
    return [*parts, value[start:]]
