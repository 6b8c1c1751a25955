"""Conversation locks across all our programs, for threads that may block."""

import contextlib
import threading
from collections.abc import Callable, Iterator

from hermes_desktop.agent.turns.lock_texts import problem_words, waiting_words
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks
from hermes_desktop.tui_gateway.protocol import Code, RpcError
from hermes_desktop.tui_gateway.serving_state import Server, Session

LOOK_S = 0.1
_SHORT_TRIES = 4


@contextlib.contextmanager
def held_for_turn(
    server: Server, sid: str, session: Session, given_up: Callable[[], bool]
) -> Iterator[bool]:
    """Wait for the lock of a session's conversation and hold it for the block.

    Peers are notified about the lock's holder. During the wait, ``waits_for_program`` of the
    session is set: a waiting turn has stored nothing and must not be interrupted by a new prompt.

    Args:
        server: The server of the session.
        sid: Its live id.
        session: The session.
        given_up: Returns whether the turn is to end.

    Yields:
        Whether the lock is held; False: the turn was abandoned.

    Raises:
        StateError: The shared file cannot be read.
    """
    locks = _locks(server)
    if locks is None:
        yield True
        return
    lock = locks.attempt(session["session_key"])
    try:
        told = ""
        while not (held := lock.try_now()) and not given_up():
            session["waits_for_program"] = True
            words = waiting_words(lock.owner())
            if words != told:
                _tell(server, sid, words)
                told = words
            threading.Event().wait(LOOK_S)
        session.pop("waits_for_program", None)
        if told:
            _tell(server, sid, "")
        problem = locks.take_problem()
        if problem:
            _tell(server, sid, " ".join(problem_words(problem)), "warning")
        yield held
    finally:
        session.pop("waits_for_program", None)
        lock.give_back()


@contextlib.contextmanager
def held_now(server: Server, session: Session, doing: str) -> Iterator[None]:
    """Hold the lock of a session's conversation for the block, without waiting for it.

    Raises:
        RpcError: Another program holds it.
        StateError: The shared file cannot be read.
    """
    locks = _locks(server)
    if locks is None:
        yield
        return
    lock = locks.attempt(session["session_key"])
    try:
        for _ in range(_SHORT_TRIES):  # another process may only have checked it
            if lock.try_now():
                break
            threading.Event().wait(LOOK_S / 2)
        else:
            owner = lock.owner() or "another program"
            raise RpcError(Code.BUSY, f"session busy: wait for {owner} before {doing}")
        yield
    finally:
        lock.give_back()


def _locks(server: Server) -> ConversationLocks | None:
    program = server.state.program
    return program.locks() if program is not None and program.locks is not None else None


def _tell(server: Server, sid: str, text: str, kind: str = "status") -> None:
    server.emit("status.update", sid, {"kind": kind, "text": text})
