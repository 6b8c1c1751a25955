"""What a keyring says about a secret, or about itself; and the person who waits for it."""

import contextlib
import re
import threading
from collections.abc import Iterator

from hermes_desktop.settings.secret_parts import DamagedSecretError, Keyring
from hermes_desktop.settings.secret_states import Reading

_NO_COLLECTION = re.compile(r"create the collection|no default collection", re.IGNORECASE)
_NO_SERVICE = re.compile(r"not provided by any \.service|ServiceUnknown", re.IGNORECASE)


class Person:
    """Somebody who waits for the keyring, and may leave; who was served has not left."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._left = False
        self.served = False

    def waits(self) -> bool:
        """Whether somebody still does."""
        with self._lock:
            return not self._left

    def serve(self) -> bool:
        """Say that it was done; False where nobody waits for it any more."""
        with self._lock:
            self.served = not self._left
            return self.served

    def leave(self) -> None:
        """Wait no longer."""
        with self._lock:
            self._left = not self.served
        self._over.set()

    def wait(self, seconds: float) -> None:
        """Until the person is served or leaves; after that long they do."""
        self._over.wait(seconds)
        self.leave()


def ask_for(keyring: Keyring, service: str, name: str) -> Reading:
    """On the keyring's thread: one secret, where not even a damaged one keeps others away."""
    try:
        value = keyring.get_password(service, name)
    except DamagedSecretError as error:
        return Reading("damaged", detail=f"{error}.")
    return Reading("stored", value) if value else Reading("missing")


def reading_of(error: Exception) -> Reading:
    """What an error means, by the names of its classes: which library raised it is not known.

    What a backend says about itself is often wrapped: a service that is gone is told as one that
    could not be initialised.
    """
    kinds = {kind.__name__ for each in _causes(error) for kind in type(each).__mro__}
    detail = ""
    with contextlib.suppress(Exception):
        detail = " ".join(str(error).split())
    if _NO_SERVICE.search(detail):
        return Reading("no keyring", detail=detail)
    if _NO_COLLECTION.search(detail):
        # Secret Service would create one, but nobody chose a password, or nothing could ask for it.
        return Reading("no keyring yet", detail=detail)
    if kinds & {"KeyringLocked", "LockedException", "PromptDismissedException"}:
        return Reading("locked", detail=detail)
    if kinds & {"NoKeyringError", "SecretServiceNotAvailableException"}:
        return Reading("no keyring", detail=detail)
    return Reading("not answering", detail=detail or type(error).__name__)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and those that led to it."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or found.__context__
