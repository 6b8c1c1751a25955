"""Dispatch of a peer's requests: in order, except for urgent and slow ones."""

import contextvars
import logging
import queue
import threading
from collections.abc import Callable, Iterable
from typing import Any

from hermes_desktop.tui_gateway import protocol
from hermes_desktop.tui_gateway.methods import methods
from hermes_desktop.tui_gateway.protocol import Code, Frame, RpcError
from hermes_desktop.tui_gateway.serving_state import after_answer, current_peer
from hermes_desktop.tui_gateway.transport import MOST_BYTES, TOO_LONG, Transport

log = logging.getLogger(__name__)

Handler = Callable[[Any], Frame]
SLOW_AT_ONCE = 4
Work = Callable[[], None]
MOST_WAITING = 256
"""Length limit of the queue; when full, adding blocks: a flooding peer is slowed down."""


class Dispatcher:
    """Dispatcher of one peer's requests.

    Args:
        handle: Answers a decoded request; never raises.
        peer: Receives the responses.
    """

    def __init__(self, handle: Handler, peer: Transport) -> None:
        self._handle = handle
        self._peer = peer
        self._ordered = WorkQueue()
        self._slow = WorkQueue(SLOW_AT_ONCE)

    def serve(self, lines: Iterable[Any]) -> None:
        """Answer every line, and return when all are answered. Blocks; never raises."""
        try:
            for line in lines:
                if not self._peer.alive:
                    break
                self.take(line)
        except OSError as error:
            log.info("A peer cannot be read any more: %s", error)
        except Exception:
            log.exception("Reading a peer failed")
        self._ordered.finish()
        self._slow.finish()

    def take(self, line: Any) -> None:
        """Answer one line, immediately or after earlier ones."""
        if line is TOO_LONG:
            words = f"the line is longer than {MOST_BYTES} bytes and was skipped"
            self._peer.write(protocol.failure(None, RpcError(Code.BAD_REQUEST, words)))
            return
        if not line.strip():
            return
        try:
            request = protocol.decode(line)
        except RpcError as error:
            self._peer.write(protocol.failure(None, error))
            return
        name = request.get("method") if isinstance(request, dict) else None
        if not isinstance(name, str):
            name = ""
        if name in methods.AT_ONCE:
            self._answer(request)
        elif name in methods.SLOW:
            self._slow.add(lambda: self._answer(request))
        else:
            self._ordered.add(lambda: self._answer(request))

    def _answer(self, request: Any) -> None:
        contextvars.copy_context().run(self._answer_here, request)

    def _answer_here(self, request: Any) -> None:
        current_peer.set(self._peer)
        afterwards: list[Callable[[], object]] = []
        after_answer.set(afterwards)
        try:
            answer = self._handle(request)
            if not protocol.is_notification(request):
                self._peer.write(answer)
            for call in afterwards:
                call()
        except Exception:
            log.exception("An answer could not be written")


class WorkQueue:
    """Runs work on a few daemon threads, which are started on demand.

    Args:
        size: The number of threads; with one, work runs in the order of arrival.
    """

    def __init__(self, size: int = 1) -> None:
        self._size = size
        self._waiting: queue.Queue[Work | None] = queue.Queue(MOST_WAITING)
        self._lock = threading.Lock()
        self._threads = 0

    def add(self, work: Work) -> None:
        """Add work, which must not raise. Blocks while the queue is full."""
        with self._lock:
            if self._threads < self._size:
                self._threads += 1
                threading.Thread(target=self._run, daemon=True, name="rpc-work").start()
        self._waiting.put(work)

    def finish(self) -> None:
        """Wait until all work is done, and end the threads. Nothing may be added any more."""
        self._waiting.join()
        with self._lock:
            for _ in range(self._threads):
                self._waiting.put(None)
            self._threads = 0

    def _run(self) -> None:
        while True:
            work = self._waiting.get()
            try:
                if work is None:
                    return
                work()
            finally:
                self._waiting.task_done()
