"""Serving of peers until shutdown: on the program's own streams, or on a socket."""

import contextlib
import logging
import os
import select
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from hermes_desktop.core.clock import Clock
from hermes_desktop.tui_gateway import live_sessions, protocol
from hermes_desktop.tui_gateway.dispatching import Dispatcher
from hermes_desktop.tui_gateway.program import RpcProgram
from hermes_desktop.tui_gateway.server import SERVER, configure, handle_request
from hermes_desktop.tui_gateway.transport import (
    ListeningSocket,
    SocketTransport,
    Streams,
    StreamTransport,
    Transport,
    read_lines,
)

log = logging.getLogger(__name__)

TIDY_S = 30.0
_LOOK_S = 0.5
Why = Literal["asked", "all said", "peer gone"]
_WORDS: dict[int, Why] = {ord("a"): "asked", ord("s"): "all said", ord("g"): "peer gone"}


class Ending:
    """Signals the end of serving, through a pipe: a signal may arrive while any lock is held.

    Attributes:
        writer: For ``signal.set_wakeup_fd``: any byte written that way requests the end. A handler
            alone would not wake the waiting thread when another thread gets the signal.
    """

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)

    def ask(self) -> None:
        """Request the end: from a signal's handler, or any thread."""
        self._tell(b"a")

    def all_said(self) -> None:
        """Report that the last peer closed its input, and everything was answered."""
        self._tell(b"s")

    def peer_gone(self) -> None:
        """Report that the peer no longer reads."""
        self._tell(b"g")

    def read(self) -> set[Why]:
        """Return what was reported since the last call; blocks until something was."""
        return {_WORDS.get(each, "asked") for each in os.read(self.reader, 512)}

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.writer)
        os.close(self.reader)

    def _tell(self, word: bytes) -> None:
        with contextlib.suppress(OSError):  # full: enough was reported; closed: it is over
            os.write(self.writer, word)


@dataclass(eq=False)
class StreamServing:
    """Serves the one peer at the other end of the program's streams.

    The peer got its first frame from the code that claimed the streams; that does not need this
    class.

    Args:
        streams: See :func:`claim_streams`.
        ending: Set by signals; :meth:`run` polls it.
        closing: Called when the end begins.
    """

    streams: Streams
    ending: Ending
    closing: Callable[[], None] = lambda: None
    peer: StreamTransport = field(init=False)

    def __post_init__(self) -> None:
        self.peer = StreamTransport(self.streams.sink, on_gone=self.ending.peer_gone)

    def run(self, program: RpcProgram) -> None:
        """Serve until the peer has closed its input, is gone, or the end is requested.

        Replies that are being written when the peer closes its input are completed; in the other
        cases they are interrupted, and the text so far is stored.
        """
        configure(program)
        SERVER.state.default_peer = self.peer
        threading.Thread(target=self._read, daemon=True, name="rpc-read").start()
        with _tidying(program.clock):
            self._wait()
        self.closing()
        live_sessions.close_all(SERVER)
        SERVER.state.default_peer = None

    def _read(self) -> None:
        lines = read_lines(lambda most: os.read(self.streams.source, most))
        Dispatcher(handle_request, self.peer).serve(lines)
        _input_closed(self.peer)
        self.ending.all_said()

    def _reader_left(self) -> bool:
        """Wait for a report; return whether standard output has no reader any more."""
        if not hasattr(select, "poll"):  # then the next write finds out
            return False
        looking = select.poll()
        looking.register(self.ending.reader, select.POLLIN)
        looking.register(self.streams.sink, 0)
        return self.streams.sink in dict(looking.poll())

    def _wait(self) -> None:
        while not self._reader_left():
            told = self.ending.read()
            if told & {"asked", "peer gone"}:
                return
            if "all said" in told:
                _when_quiet(self.ending)


def _when_quiet(ending: Ending) -> None:
    """Request the end as soon as no turn runs."""

    def wait() -> None:
        while found := live_sessions.running(SERVER.state):
            for session in found:
                session["_turn_over"].wait()
        ending.ask()

    threading.Thread(target=wait, daemon=True, name="rpc-quiet").start()


@dataclass(eq=False)
class SocketServing:
    """Serves any number of peers on a socket.

    Args:
        listening: The socket; closed at the end.
        ending: Set by signals.
        closing: Called when the end begins.
    """

    listening: ListeningSocket
    ending: Ending
    closing: Callable[[], None] = lambda: None
    _peers: list[SocketTransport] = field(default_factory=list)

    def run(self, program: RpcProgram) -> None:
        """Serve until the end is requested; running replies are interrupted then."""
        configure(program)
        threading.Thread(
            target=self._accept, args=(program,), daemon=True, name="rpc-accept"
        ).start()
        with _tidying(program.clock):
            while "asked" not in self.ending.read():
                pass
        self.closing()
        self.listening.close()
        live_sessions.close_all(SERVER)
        for peer in tuple(self._peers):
            peer.close(limit_s=_LOOK_S)

    def _accept(self, program: RpcProgram) -> None:
        while (peer := self.listening.accept()) is not None:
            self._peers.append(peer)
            threading.Thread(
                target=self._serve, args=(peer, program), daemon=True, name="rpc-read"
            ).start()

    def _serve(self, peer: SocketTransport, program: RpcProgram) -> None:
        peer.write(protocol.ready(program.facts.version, program.facts.profile))
        Dispatcher(handle_request, peer).serve(read_lines(peer.read))
        _input_closed(peer)
        _finish_replies(peer)
        _let_go(peer, program.clock)
        peer.close()
        self._peers.remove(peer)


def _input_closed(peer: Transport) -> None:
    """Handle that a peer closed its input: it can answer nothing, either."""
    if SERVER.state.asking is not None:
        SERVER.state.asking.input_closed(peer)


def _finish_replies(peer: SocketTransport) -> None:
    """Keep sending running replies to a peer that only closed its input."""
    while peer.listens:
        heard = [s for s in live_sessions.running(SERVER.state) if s["transport"].has(peer)]
        if not heard:
            return
        heard[0]["_turn_over"].wait(_LOOK_S)


def _let_go(peer: Transport, clock: Clock) -> None:
    try:
        live_sessions.left_by(SERVER, peer, clock.monotonic())
    except Exception:
        log.exception("The resources of a peer that left could not be released")


@contextlib.contextmanager
def _tidying(clock: Clock, every_s: float = TIDY_S) -> Iterator[None]:
    """Close unused sessions periodically."""
    over = threading.Event()

    def tidy() -> None:
        while not over.wait(every_s):
            try:
                live_sessions.tidy(SERVER, clock.monotonic())
            except Exception:
                log.exception("Looking for unused sessions failed")

    thread = threading.Thread(target=tidy, daemon=True, name="rpc-tidy")
    thread.start()
    try:
        yield
    finally:
        over.set()
