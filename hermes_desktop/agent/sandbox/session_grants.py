"""What the user has granted to the commands of single conversations, in memory. Thread-safe."""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_desktop.agent.sandbox.grants import Access, Grant

_MOST_KEPT = 256
_MOST_ENDED = 10_000


@dataclass(frozen=True, slots=True)
class Granted:
    """What one conversation has been granted.

    Attributes:
        lasting: Until the session ends.
        once: For the next command only, if the turn that asked starts it.
        turn: That turn.
    """

    lasting: frozenset[Access] = frozenset()
    once: frozenset[Access] = frozenset()
    turn: object = None


class SessionGrants:
    """The grants of all conversations of the program.

    A conversation keeps its grants when a compaction continues it in another session.

    Args:
        lineage: Returns the sessions of a conversation, the first one first; [] for an unknown
            session. May block.
    """

    def __init__(self, lineage: Callable[[str], Sequence[str]] = lambda _session_id: ()) -> None:
        self._lineage = lineage
        self._lock = threading.Lock()
        self._granted: dict[str, Granted] = {}
        self._ended: set[str] = set()

    def of(self, session_id: str) -> frozenset[Access]:
        """Return what lasts in a session. Blocking."""
        key = self._key(session_id)
        with self._lock:
            return self._granted.get(key, Granted()).lasting

    def take(self, session_id: str, turn: object) -> frozenset[Access]:
        """Return what was granted to the next command of a turn, and end that. Blocking."""
        key = self._key(session_id)
        with self._lock:
            found = self._granted.get(key)
            if found is None:
                return frozenset()
            self._granted[key] = Granted(found.lasting)
            return found.once if found.turn is turn else frozenset()

    def allow(self, session_id: str, access: Access, once_in: object = None) -> None:
        """Grant something to a session. Blocking.

        Args:
            session_id: The session.
            access: What it is.
            once_in: For the next command only, in this turn; None: until the session ends.
        """
        key = self._key(session_id, always=True)
        with self._lock:
            found = self._granted.pop(key, Granted())
            if once_in is None:
                found = replace(found, lasting=found.lasting | {access})
            else:
                before = found.once if found.turn is once_in else frozenset()
                found = replace(found, once=before | {access}, turn=once_in)
            self._granted[key] = found
            while len(self._granted) > _MOST_KEPT:
                del self._granted[next(iter(self._granted))]

    def end(self, session_id: str) -> None:
        """End what was granted to a session. Does not block."""
        with self._lock:
            if self._granted:
                self._ended.add(session_id)
            if len(self._ended) > _MOST_ENDED:  # rather ask again than keep a grant too long
                self._granted.clear()
                self._ended.clear()

    def _key(self, session_id: str, *, always: bool = False) -> str:
        """Return the name of a conversation: its first session."""
        with self._lock:
            if not self._granted and not always:
                return session_id  # nothing is found under any name
        sessions = self._lineage(session_id) or (session_id,)
        key = sessions[0]
        with self._lock:
            ended = self._ended.intersection(sessions)
            if ended:
                self._ended -= ended
                self._granted.pop(key, None)
        return key


def widened(grant: Grant, accesses: Iterable[Access]) -> Grant:
    """Return a grant with more in it.

    A path that leads elsewhere than when it was granted is left out: a command that may write
    beside it could have replaced it by a link.
    """
    read, write, hosts = set(grant.read), set(grant.write), set(grant.hosts)
    for each in accesses:
        if each.kind == "host":
            hosts.add(each.value)
        elif Path(each.value).resolve() == Path(each.value):
            (write if each.write else read).add(Path(each.value))
    return replace(grant, read=frozenset(read), write=frozenset(write), hosts=frozenset(hosts))
