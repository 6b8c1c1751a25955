"""Dispatch of a peer's requests: in order, except for urgent and slow ones."""

import contextvars
import logging
from collections.abc import Callable, Iterable
from typing import Any

from hermes_desktop.tui_gateway.methods import methods
from hermes_desktop.tui_gateway.protocol import frames
from hermes_desktop.tui_gateway.protocol.errors import Code, RpcError
from hermes_desktop.tui_gateway.protocol.frames import Frame
from hermes_desktop.tui_gateway.protocol.work_queue import WorkQueue
from hermes_desktop.tui_gateway.serving_state import after_answer, current_peer
from hermes_desktop.tui_gateway.transport.base import Transport
from hermes_desktop.tui_gateway.transport.lines import MOST_BYTES, TOO_LONG

log = logging.getLogger(__name__)

Handler = Callable[[Any], Frame]
SLOW_AT_ONCE = 4


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
            self._peer.write(frames.failure(None, RpcError(Code.BAD_REQUEST, words)))
            return
        if not line.strip():
            return
        try:
            request = frames.decode(line)
        except RpcError as error:
            self._peer.write(frames.failure(None, error))
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
            if not frames.is_notification(request):
                self._peer.write(answer)
            for call in afterwards:
                call()
        except Exception:
            log.exception("An answer could not be written")
