"""Secrets in the desktop's keyring. The only module that knows the library ``keyring``.

Importing that library, and any call of it, can block for minutes: a window may wait for a
password, a broken bus for ever. So both happen on a thread of their own (``keyring``) and are
waited for only so long; whoever asks then hears that the keyring is not answering. Which secrets
are kept there stands in a file, without their values, so that nothing is asked where none is.
"""

import concurrent.futures
import contextlib
import sys
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import ConfigError
from hermes_desktop.settings.keyring_answers import Person, ask_for, reading_of
from hermes_desktop.settings.secret_index import SecretIndex
from hermes_desktop.settings.secret_labels import put_label
from hermes_desktop.settings.secret_parts import DamagedSecretError, Keyring, for_system
from hermes_desktop.settings.secret_states import Reading, ReadState, SecretStoreError

__all__ = [
    "KeyringSecretStore",
    "NoKeyring",
    "ReadState",
    "Reading",
    "SecretStore",
    "SecretStoreError",
    "system_keyring",
]

T = TypeVar("T")

READ_S = 5.0
"""How long a program that starts, or a turn, waits for the keyring."""
PERSON_S = 90.0
"""How long a person may take to unlock it."""
_COOL_DOWN_S = 60.0
_UNSURE = "It went away right after it took the secret: once it is back, see which one it holds."


class SecretStore(Protocol):
    """Where secrets are kept. All of it blocks, for a bounded time; any thread."""

    def names(self) -> frozenset[str]:
        """The variables that are kept here; asks no keyring."""
        ...

    def read(self, name: str, *, wait_s: float = READ_S) -> Reading:
        """Ask for one; raises nothing."""
        ...

    def demand(self, name: str) -> str:
        """Ask for one on a person's behalf, who may have to unlock the keyring first.

        Raises:
            SecretStoreError: It cannot be had.
        """
        ...

    def store(self, name: str, value: str) -> None:
        """Keep one, and read it back.

        Raises:
            SecretStoreError: It could not be kept; what was there before may be gone.
        """
        ...

    def remove(self, name: str) -> None:
        """Keep one no longer.

        Raises:
            SecretStoreError: It could not be taken out.
        """
        ...

    def check(self) -> Reading:
        """Whether it works: ``stored``, or what stands against it."""
        ...

    def backend(self, name: str) -> str:
        """What keeps it, in the keyring's own words; "" when nothing does."""
        ...

    def give_up(self) -> None:
        """Let whoever waits for the keyring on a person's behalf hear that it does not answer."""
        ...


class NoKeyring(Exception):  # noqa: N818 - an answer
    """There is nothing that keeps secrets."""


def system_keyring() -> Keyring:
    """The keyring of the desktop. Slow; on the keyring's thread only.

    Raises:
        NoKeyring: There is none, or only one that keeps nothing.
    """
    import keyring  # noqa: PLC0415 - takes minutes where the bus is broken
    from keyring.backends import fail, null  # noqa: PLC0415

    found = keyring.get_keyring()
    if isinstance(found, fail.Keyring | null.Keyring):
        raise NoKeyring
    backend: Any = found
    return backend  # type: ignore[no-any-return]


class KeyringSecretStore:
    """Secrets of one home in the keyring.

    Args:
        index: Which ones are there.
        service: Names the home in the keyring.
        clock: For pauses after a keyring that was locked.
        open_keyring: Finds the keyring; called on the keyring's thread.
        system: Value of ``sys.platform``: some keyrings take short values only.
        label_of: What a secret is called where a person looks through the keyring.
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
        self._open: Callable[[], Keyring] = lambda: for_system(open_keyring(), system)
        self._label_of = label_of
        self._lock = threading.Lock()
        self._worker: WorkerThreads | None = None
        # The rest under the lock.
        self._values: dict[str, Reading] = {}
        self._person: Person | None = None
        self._values_of: object = None
        self._waiting: concurrent.futures.Future[Reading | None] | None = None
        self._waiting_since = 0.0
        self._trouble: tuple[Reading, float] | None = None

    def names(self) -> frozenset[str]:
        """The variables that are kept here; asks no keyring."""
        return frozenset(self._index.read("keyring"))

    def backend(self, name: str) -> str:
        """What kept it, in the keyring's own words."""
        return self._index.read("keyring").get(name, "")

    def read(self, name: str, *, wait_s: float = READ_S) -> Reading:
        """Ask for one; all that are kept are asked for together, and remembered.

        What was locked is not asked again for a minute, and one question that is not answered
        keeps others from being asked. Answers that come late count from then on.
        """
        names = self.names()
        if name not in names:
            return Reading("not stored")
        stamp = self._index.stamp()
        with self._lock:
            if self._values_of == stamp:
                return self._values.get(name, Reading("missing"))
            trouble, asked = self._present_trouble(), self._asked()
            wait_s -= self._clock.monotonic() - self._waiting_since if asked is not None else 0
        if trouble is not None:
            return trouble
        if asked is None:
            asked = self._ask(lambda keyring: self._load(keyring, names, stamp))
        reading = self._answer(asked, max(0.0, wait_s))
        if reading is not None:
            return reading
        with self._lock:
            return self._values.get(name, Reading("missing"))

    def demand(self, name: str) -> str:
        """Ask for one on a person's behalf, who may have to unlock the keyring first.

        Raises:
            SecretStoreError: It cannot be had.
        """
        if name not in self.names():
            raise SecretStoreError("not stored")
        reading = self._do(name, lambda _, found: found)
        if not reading.value:
            raise SecretStoreError(reading.state, reading.detail)
        return reading.value

    def store(self, name: str, value: str) -> None:
        """Keep one, and read it back.

        Raises:
            SecretStoreError: It could not be kept.
        """
        before: list[Reading] = []

        def keep(keyring: Keyring, found: Reading) -> str:
            before.append(found)
            self._keep(keyring, name, value)
            try:
                there = keyring.get_password(self._service, name)
            except Exception as error:
                raise SecretStoreError(reading_of(error).state, _UNSURE) from error
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
        """Keep one no longer; one that is gone already is no failure.

        Raises:
            SecretStoreError: It could not be taken out.
        """

        def take(keyring: Keyring, found: Reading) -> None:
            if found.state != "missing":
                keyring.delete_password(self._service, name)

        self._do(name, take, self._as_it_was(name))
        self._index.forget("keyring", name)

    def check(self) -> Reading:
        """Whether it works, by keeping something as long as a token and taking it out again."""
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
        """Let whoever waits for the keyring on a person's behalf hear that it does not answer.

        What was asked goes on: a keyring that is unlocked later still does it.
        """
        with self._lock:
            person = self._person
        if person is not None:
            person.leave()

    def close(self) -> None:
        """Take no more questions; never waits."""
        with self._lock:
            if self._worker is not None:
                self._worker.close()

    # ------------------------------------------------------------------------------- its thread

    def _load(self, keyring: Keyring, names: frozenset[str], stamp: object) -> None:
        """On the keyring's thread: ask for all, so that it has to be unlocked once."""
        found = {name: ask_for(keyring, self._service, name) for name in sorted(names)}
        with self._lock:
            self._values = found
            self._values_of = stamp
            self._trouble = None

    def _keep(self, keyring: Keyring, name: str, value: str) -> None:
        """On the keyring's thread: a value under its name, with a label for people."""
        keyring.set_password(self._service, name, value)
        put_label(keyring, self._service, name, self._label_of(name))

    def _as_it_was(self, name: str) -> Callable[[Keyring, Reading], None]:
        """On the keyring's thread: what was found of a secret is kept again."""

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
        """For a person, who is waited for; what was asked before and hangs is left behind.

        The secret is asked for first: that is where a keyring waits for its password, and
        nothing is changed any more for a person who does not wait for it. What a keyring did so
        slowly that the person left meanwhile, or did by half, is undone.

        Raises:
            SecretStoreError: It was not done.
        """
        with self._lock:
            if self._asked() is not None and self._worker is not None:
                self._worker.close()
                self._worker = None
            self._waiting = self._trouble = None
            person = self._person = Person()
        done: list[T] = []

        def look_and_work(keyring: Keyring) -> None:
            found = ask_for(keyring, self._service, name)
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
        if not person.served:  # it was answered when nobody waited any more
            raise SecretStoreError("not answering")
        with self._lock:
            self._values_of = None
        return done[0]

    def _ask(self, work: Callable[[Keyring], None]) -> "concurrent.futures.Future[Reading | None]":
        """Begin something on the keyring's thread."""
        with self._lock:
            self._worker = self._worker or WorkerThreads("keyring")
            self._waiting = self._worker.submit(self._guarded, work)
            self._waiting_since = self._clock.monotonic()
            return self._waiting

    def _asked(self) -> "concurrent.futures.Future[Reading | None] | None":
        """What was asked and is not answered yet."""
        return None if self._waiting is None or self._waiting.done() else self._waiting

    def _answer(
        self, asked: "concurrent.futures.Future[Reading | None]", wait_s: float
    ) -> Reading | None:
        """What stood against it; None if nothing did."""
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
            return reading_of(error)
        return None

    def _present_trouble(self) -> Reading | None:
        if self._trouble is not None:
            reading, since = self._trouble
            if self._clock.monotonic() - since < _COOL_DOWN_S:
                return reading
        return None
