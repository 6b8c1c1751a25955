"""Results and errors of keyring operations, and the wait of a user for one."""

import contextlib
import re
import threading
from collections.abc import Iterator

from hermes_desktop.settings.secret_states import Reading
from hermes_desktop.settings.split_secrets import DamagedSecretError, Keyring

_NO_COLLECTION = re.compile(r"create the collection|no default collection", re.IGNORECASE)
_NO_SERVICE = re.compile(r"not provided by any \.service|ServiceUnknown", re.IGNORECASE)


class Person:
    """A user's wait for the keyring, which may be abandoned unless the operation is done."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._left = False
        self.served = False

    def waits(self) -> bool:
        """Return whether the user still waits."""
        with self._lock:
            return not self._left

    def serve(self) -> bool:
        """Mark the operation as done; False if the user no longer waits."""
        with self._lock:
            self.served = not self._left
            return self.served

    def leave(self) -> None:
        """Stop waiting."""
        with self._lock:
            self._left = not self.served
        self._over.set()

    def wait(self, seconds: float) -> None:
        """Block until the operation is done or abandoned; after the time-out it is abandoned."""
        self._over.wait(seconds)
        self.leave()


def read_entry(keyring: Keyring, service: str, name: str) -> Reading:
    """Read one secret on the keyring's thread; a damaged one does not prevent reading others."""
    try:
        value = keyring.get_password(service, name)
    except DamagedSecretError as error:
        return Reading("damaged", detail=f"{error}.")
    return Reading("stored", value) if value else Reading("missing")


def reading_from_error(error: Exception) -> Reading:
    """Return what an error means, by its class names: the library that raised it is not known.

    The error of a backend is often wrapped: a missing service is reported as one that could not be
    initialized.
    """
    kinds = {kind.__name__ for each in _causes(error) for kind in type(each).__mro__}
    detail = ""
    with contextlib.suppress(Exception):
        detail = " ".join(str(error).split())
    if _NO_SERVICE.search(detail):
        return Reading("no keyring", detail=detail)
    if _NO_COLLECTION.search(detail):
        # Secret Service would create one, but no password was chosen, or no prompt could be shown.
        return Reading("no keyring yet", detail=detail)
    if kinds & {"KeyringLocked", "LockedException", "PromptDismissedException"}:
        return Reading("locked", detail=detail)
    if kinds & {"NoKeyringError", "SecretServiceNotAvailableException"}:
        return Reading("no keyring", detail=detail)
    return Reading("not answering", detail=detail or type(error).__name__)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, and its causes."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or found.__context__
