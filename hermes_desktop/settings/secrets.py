"""Secrets in the desktop's keyring. The only module that uses the library ``keyring``.

Importing that library, and any call of it, can block for minutes: a window may wait for a password,
a broken bus forever. So both happen on a separate thread (``keyring``), and the wait for it is
bounded by a time-out, after which the keyring is reported as not answering. A file lists which
secrets are stored there, without their values, so that the keyring is not used where it has none.
"""

import concurrent.futures
import contextlib
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import ConfigError, HermesError
from hermes_desktop.settings.secret_index import SecretIndex
from hermes_desktop.settings.split_secrets import DamagedSecretError, Keyring, keyring_for_platform

# ------------------------------------------------------------------------------
# The states of a secret, with messages for the user.

ReadState = Literal[
    "stored",
    "not stored",
    "missing",
    "damaged",
    "locked",
    "no keyring",
    "no keyring yet",
    "not answering",
]
"""The state of one secret.

``missing`` is one that was stored and is gone, ``damaged`` one of which parts are, ``no keyring
yet`` a service that stores secrets but has no collection for them.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a secret.

    Attributes:
        detail: The message of the keyring, if any.
    """

    state: ReadState
    value: str | None = field(default=None, repr=False)
    detail: str = ""


class SecretStoreError(HermesError):
    """The keyring operation failed.

    Attributes:
        state: The state in a word.
    """

    def __init__(self, state: ReadState, detail: str = "") -> None:
        title, hint = _WORDS[state]
        super().__init__(title, detail, hint)
        self.state = state


_ELSEWHERE = (
    "keep the secret in the environment or in .env, or in a file with "
    "`hermes-desktop secrets set NAME --plain`"
)
_CREATE = (
    "Try again and choose a password when the desktop asks for one, or create a default keyring "
    "(Passwords and Keys, KWalletManager)"
)
_WORDS: Mapping[ReadState, tuple[str, str]] = {
    "stored": ("The keyring returned a different value than was stored.", "Try again."),
    "not stored": ("This secret is not in the keyring.", "See `hermes-desktop secrets list`."),
    "missing": ("This secret is no longer in the keyring.", "Set it again."),
    "damaged": ("This secret is incomplete in the keyring.", "Set it again."),
    "locked": ("The keyring is locked.", "Unlock it and try again."),
    "no keyring": (
        "There is no keyring on this desktop.",
        f"Start one (gnome-keyring, KWallet, KeePassXC), or {_ELSEWHERE}.",
    ),
    "no keyring yet": (
        "No keyring exists yet.",
        f"{_CREATE}, or {_ELSEWHERE}.",
    ),
    "not answering": (
        "The keyring is not answering.",
        f"Check whether it is waiting for its password, and try again, or {_ELSEWHERE}.",
    ),
}


__all__ = [
    "KeyringSecretStore",
    "NoKeyring",
    "ReadState",
    "Reading",
    "SecretStore",
    "SecretStoreError",
    "system_keyring",
]

# ------------------------------------------------------------------------------
# Results and errors of keyring operations, and the wait of a user for one.

_NO_COLLECTION = re.compile(r"create the collection|no default collection", re.IGNORECASE)
_NO_SERVICE = re.compile(r"not provided by any \.service|ServiceUnknown", re.IGNORECASE)


class UserWait:
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


# ------------------------------------------------------------------------------
# Labels of keyring entries, which the user sees when browsing the keyring.


def put_label(keyring: object, service: str, name: str, label: str) -> None:
    """Set the label of an entry. Keyrings without labels show ``service`` and ``name`` unchanged.

    Blocks as the keyring does; on its thread only. Raises nothing: the secret is stored regardless
    of its label. The library ``keyring`` sets a label of its own with each new value of an entry.

    Args:
        keyring: A backend of that library, or several in one.
        service: Names the home.
        name: The variable.
        label: The label for the user.
    """
    for backend in getattr(keyring, "backends", (keyring,)):
        collection_of = getattr(backend, "get_preferred_collection", None)
        if collection_of is None:  # no Secret Service
            continue
        with contextlib.suppress(Exception):
            collection = collection_of()
            with contextlib.closing(collection.connection):
                for item in collection.search_items({"service": service, "username": name}):
                    item.set_label(label)


# ------------------------------------------------------------------------------
# The store, on a thread of its own.

T = TypeVar("T")

READ_S = 5.0
"""Time-out for reading the keyring at program start or in a turn."""
PERSON_S = 90.0
"""How long the user may take to unlock it."""
_COOL_DOWN_S = 60.0
_UNSURE = (
    "It stopped responding right after it stored the secret. Check which value it has when it is "
    "back."
)


class SecretStore(Protocol):
    """A store of secrets. All methods block, for a bounded time; any thread."""

    def names(self) -> frozenset[str]:
        """Return the variables that are stored here; does not use the keyring."""
        ...

    def backends(self) -> Mapping[str, str]:
        """Return the same variables, each with the backend that stores it, by its own name."""
        ...

    def read(self, name: str, *, wait_s: float = READ_S) -> Reading:
        """Read a secret; raises nothing."""
        ...

    def read_all(self, names: Collection[str], *, wait_s: float = READ_S) -> dict[str, Reading]:
        """Read all stored secrets; raises nothing.

        Args:
            names: What :meth:`names` just returned.
            wait_s: The time-out.
        """
        ...

    def demand(self, name: str) -> str:
        """Read a secret for the user, who may have to unlock the keyring first.

        Raises:
            SecretStoreError: It cannot be read.
        """
        ...

    def store(self, name: str, value: str) -> None:
        """Store a secret, and read it back.

        Raises:
            SecretStoreError: It could not be stored; the previous value may be lost.
        """
        ...

    def remove(self, name: str) -> None:
        """Delete a secret.

        Raises:
            SecretStoreError: It could not be deleted.
        """
        ...

    def check(self) -> Reading:
        """Return whether the store works: ``stored``, or the obstacle."""
        ...

    def give_up(self) -> None:
        """Abandon the user's wait for the keyring, which is then reported as not answering."""
        ...


class NoKeyring(Exception):  # noqa: N818 - an answer
    """There is no store for secrets."""


def system_keyring() -> Keyring:
    """Return the keyring of the desktop. Slow; on the keyring's thread only.

    Raises:
        NoKeyring: There is none, or only one that stores nothing.
    """
    import keyring  # noqa: PLC0415 - takes minutes where the bus is broken
    from keyring.backends import fail, null  # noqa: PLC0415

    found = keyring.get_keyring()
    if isinstance(found, fail.Keyring | null.Keyring):
        raise NoKeyring
    backend: Any = found
    return backend  # type: ignore[no-any-return]


def keyring_names() -> tuple[str, ...]:
    """Return the names of the desktop's keyrings, () for none. Reads and stores no secret.

    Blocks, for minutes where the bus is broken.
    """
    try:
        found: Any = system_keyring()
    except NoKeyring:
        return ()
    return tuple(str(each.name) for each in getattr(found, "backends", (found,)))


class KeyringSecretStore:
    """Secrets of one home in the keyring.

    Args:
        index: Lists which ones are stored.
        service: Names the home in the keyring.
        clock: For pauses after a keyring that was locked.
        open_keyring: Finds the keyring; called on the keyring's thread.
        system: Value of ``sys.platform``: some keyrings accept short values only.
        label_of: Returns the label of a secret, which the user sees when browsing the keyring.
    """

    def __init__(
        self,
        index: SecretIndex,
        service: str,
        clock: Clock,
        *,
        open_keyring: Callable[[], Keyring] = system_keyring,
        system: str = sys.platform,
        label_of: Callable[[str], str] = str,
    ) -> None:
        self._index = index
        self._service = service
        self._clock = clock
        self._open: Callable[[], Keyring] = lambda: keyring_for_platform(open_keyring(), system)
        self._label_of = label_of
        self._lock = threading.Lock()
        self._worker: WorkerThreads | None = None
        # The attributes below are guarded by the lock.
        self._values: dict[str, Reading] = {}
        self._person: UserWait | None = None
        self._values_of: object = None
        self._waiting: concurrent.futures.Future[Reading | None] | None = None
        self._waiting_since = 0.0
        self._trouble: tuple[Reading, float] | None = None

    def names(self) -> frozenset[str]:
        """Return the variables that are stored here; does not use the keyring."""
        return frozenset(self.backends())

    def backends(self) -> Mapping[str, str]:
        """Return the same variables, each with the backend that stores it, by its own name."""
        return self._index.read().get("keyring", {})

    def read(self, name: str, *, wait_s: float = READ_S) -> Reading:
        """Read a secret; see :meth:`read_all`."""
        names = self.names()
        return self.read_all(names, wait_s=wait_s)[name] if name in names else Reading("not stored")

    def read_all(self, names: Collection[str], *, wait_s: float = READ_S) -> dict[str, Reading]:
        """Read all stored secrets, and cache them.

        A locked keyring is not read again for a minute, and one request without a response prevents
        further ones. Late responses are used from then on.

        Args:
            names: What :meth:`names` just returned.
            wait_s: The time-out.
        """
        stamp = self._index.stamp()
        with self._lock:
            if self._values_of == stamp and self._values.keys() >= set(names):
                return self._cached(names)
            trouble, asked = self._present_trouble(), self._asked()
            wait_s -= self._clock.monotonic() - self._waiting_since if asked is not None else 0
        if trouble is not None:
            return dict.fromkeys(names, trouble)
        if asked is None:
            asked = self._ask(lambda keyring: self._load(keyring, names, stamp))
        reading = self._answer(asked, max(0.0, wait_s))
        if reading is not None:
            return dict.fromkeys(names, reading)
        with self._lock:
            return self._cached(names)

    def _cached(self, names: Collection[str]) -> dict[str, Reading]:
        return {name: self._values.get(name, Reading("missing")) for name in names}

    def demand(self, name: str) -> str:
        """Read a secret for the user, who may have to unlock the keyring first.

        Raises:
            SecretStoreError: It cannot be read.
        """
        if name not in self.names():
            raise SecretStoreError("not stored")
        reading = self._do(name, lambda _, found: found)
        if not reading.value:
            raise SecretStoreError(reading.state, reading.detail)
        return reading.value

    def store(self, name: str, value: str) -> None:
        """Store a secret, and read it back.

        Raises:
            SecretStoreError: It could not be stored.
        """
        before: list[Reading] = []

        def keep(keyring: Keyring, found: Reading) -> str:
            before.append(found)
            self._keep(keyring, name, value)
            try:
                there = keyring.get_password(self._service, name)
            except Exception as error:
                raise SecretStoreError(reading_from_error(error).state, _UNSURE) from error
            if there != value:
                raise SecretStoreError("stored", "It may be too long for this keyring.")
            return keyring.name

        backend = self._do(name, keep, self._as_it_was(name))
        try:
            self._index.note("keyring", name, backend)
        except ConfigError:
            with contextlib.suppress(SecretStoreError):
                self._do(name, lambda keyring, _: self._as_it_was(name)(keyring, before[0]))
            raise

    def remove(self, name: str) -> None:
        """Delete a secret; no error if it is already missing.

        Raises:
            SecretStoreError: It could not be deleted.
        """

        def take(keyring: Keyring, found: Reading) -> None:
            if found.state != "missing":
                keyring.delete_password(self._service, name)

        self._do(name, take, self._as_it_was(name))
        self._index.forget("keyring", name)

    def check(self) -> Reading:
        """Check the keyring by storing and deleting a value as long as a token."""
        name, value = "check", "x" * 100

        def probe(keyring: Keyring, _: Reading) -> str:
            keyring.set_password(self._service, name, value)
            kept = keyring.get_password(self._service, name) == value
            keyring.delete_password(self._service, name)
            if not kept:
                raise SecretStoreError("stored", "It may be too long for this keyring.")
            return keyring.name

        try:
            return Reading("stored", detail=self._do(name, probe))
        except SecretStoreError as error:
            return Reading(error.state, detail=error.detail)

    def give_up(self) -> None:
        """Abandon the user's wait for the keyring, which is then reported as not answering.

        The request continues: a keyring that is unlocked later still executes it.
        """
        with self._lock:
            person = self._person
        if person is not None:
            person.leave()

    def close(self) -> None:
        """Accept no more requests; never waits."""
        with self._lock:
            if self._worker is not None:
                self._worker.close()

    # ------------------------------------------------------------------------------- keyring thread

    def _load(self, keyring: Keyring, names: Collection[str], stamp: object) -> None:
        """Read all secrets on the keyring's thread, so that it has to be unlocked only once."""
        found = {name: read_entry(keyring, self._service, name) for name in sorted(names)}
        with self._lock:
            self._values = found
            self._values_of = stamp
            self._trouble = None

    def _keep(self, keyring: Keyring, name: str, value: str) -> None:
        """Store a value under its name on the keyring's thread, with a label for the user."""
        keyring.set_password(self._service, name, value)
        put_label(keyring, self._service, name, self._label_of(name))

    def _as_it_was(self, name: str) -> Callable[[Keyring, Reading], None]:
        """Return a function for the keyring's thread that restores a secret's previous value."""

        def put_back(keyring: Keyring, found: Reading) -> None:
            if found.value:
                self._keep(keyring, name, found.value)
            elif found.state == "missing" and keyring.get_password(self._service, name) is not None:
                keyring.delete_password(self._service, name)

        return put_back

    def _do(
        self,
        name: str,
        work: Callable[[Keyring, Reading], T],
        undo: Callable[[Keyring, Reading], None] = lambda *_: None,
    ) -> T:
        """Execute a request for the user, with a long time-out; a hanging earlier one is abandoned.

        The secret is read first: that is where a keyring waits for its password, and nothing is
        changed any more for a user who no longer waits. An operation that took so long that the
        wait was abandoned, or that was only partly done, is undone.

        Raises:
            SecretStoreError: It was not done.
        """
        with self._lock:
            if self._asked() is not None and self._worker is not None:
                self._worker.close()
                self._worker = None
            self._waiting = self._trouble = None
            person = self._person = UserWait()
        done: list[T] = []

        def look_and_work(keyring: Keyring) -> None:
            found = read_entry(keyring, self._service, name)
            if not person.waits():
                return
            try:
                done.append(work(keyring, found))
            except BaseException:
                with contextlib.suppress(Exception):
                    undo(keyring, found)
                raise
            if not person.serve():
                undo(keyring, found)

        asked = self._ask(look_and_work)
        asked.add_done_callback(lambda _: person.leave())
        person.wait(PERSON_S)
        reading = self._answer(asked, READ_S if person.served else 0)
        if reading is not None:
            raise SecretStoreError(reading.state, reading.detail)
        if not person.served:  # it was done after the wait was abandoned
            raise SecretStoreError("not answering")
        with self._lock:
            self._values_of = None
        return done[0]

    def _ask(self, work: Callable[[Keyring], None]) -> "concurrent.futures.Future[Reading | None]":
        """Start a request on the keyring's thread."""
        with self._lock:
            self._worker = self._worker or WorkerThreads("keyring")
            self._waiting = self._worker.submit(self._guarded, work)
            self._waiting_since = self._clock.monotonic()
            return self._waiting

    def _asked(self) -> "concurrent.futures.Future[Reading | None] | None":
        """Return the pending request, None if there is none."""
        return None if self._waiting is None or self._waiting.done() else self._waiting

    def _answer(
        self, asked: "concurrent.futures.Future[Reading | None]", wait_s: float
    ) -> Reading | None:
        """Return why the request failed; None if it succeeded."""
        try:
            reading = asked.result(wait_s)
        except concurrent.futures.TimeoutError:
            return Reading("not answering")
        if reading is not None:
            with self._lock:
                self._trouble = (reading, self._clock.monotonic())
        return reading

    def _guarded(self, work: Callable[[Keyring], None]) -> Reading | None:
        try:
            work(self._open())
        except NoKeyring:
            return Reading("no keyring")
        except SecretStoreError as error:
            return Reading(error.state, detail=error.detail)
        except DamagedSecretError as error:
            return Reading("damaged", detail=f"{error}.")
        except Exception as error:  # noqa: BLE001 - backends raise what their libraries raise
            return reading_from_error(error)
        return None

    def _present_trouble(self) -> Reading | None:
        if self._trouble is not None:
            reading, since = self._trouble
            if self._clock.monotonic() - since < _COOL_DOWN_S:
                return reading
        return None
