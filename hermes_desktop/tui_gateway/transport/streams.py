"""The program's own standard streams, reserved for the protocol."""

import errno
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from hermes_desktop.tui_gateway.protocol import Frame, encode


@dataclass(frozen=True, slots=True)
class Streams:
    """Descriptors reserved for the protocol.

    Attributes:
        source: The descriptor for requests.
        sink: The descriptor for frames.
    """

    source: int
    sink: int


def claim_streams() -> Streams:
    """Reserve standard input and output for the protocol.

    Any other output from now on, including that of child processes and libraries, goes to standard
    error; standard input appears empty to other code.

    Raises:
        OSError: One of them is closed.
    """
    if sys.stdin is None or sys.stdout is None:  # closed when the program started
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.flush()
    streams = Streams(os.dup(0), os.dup(1))
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return streams


@dataclass(eq=False)
class StreamTransport:
    """Writes frames to a descriptor, whole and in order. Blocks while the peer does not read.

    Args:
        sink: The descriptor.
        on_gone: Called once, when the peer is found to be gone.
    """

    sink: int
    on_gone: Callable[[], None] = lambda: None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _gone: bool = False

    @property
    def alive(self) -> bool:
        """Whether the last frame arrived."""
        return not self._gone

    def write(self, frame: Frame) -> bool:
        """Send a frame; return False only when the peer is gone."""
        data = memoryview(encode(frame))
        with self._lock:
            if self._gone:
                return False
            try:
                while data:
                    data = data[os.write(self.sink, data) :]
            except OSError:
                self._gone = True
        if self._gone:
            self.on_gone()
        return not self._gone
