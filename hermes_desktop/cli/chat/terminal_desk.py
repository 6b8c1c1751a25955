"""The queue of prompts at a terminal while a reply is written: one after the other."""

import asyncio
import contextlib
import os
import sys
from collections import deque
from typing import Protocol

from hermes_desktop.cli import output

_MOST_LINE = 16_384


class TerminalPrompt(Protocol):
    """One prompt."""

    @property
    def request_id(self) -> str:
        """The identifier of the request."""
        ...

    def show(self) -> None:
        """Write the prompt to the terminal."""
        ...

    def take(self, line: str) -> None:
        """Process a typed line as the answer."""
        ...

    def end_of_input(self) -> None:
        """Process the end of input."""
        ...


def is_interactive() -> bool:
    """Return whether questions can be seen and answered at a terminal."""
    return os.name == "posix" and output.is_input_terminal() and output.is_error_terminal()


def _discard_typeahead() -> None:
    """Discard input typed before the question was shown, because it is not an answer to it."""
    if sys.platform == "win32":
        return
    import termios

    with contextlib.suppress(OSError, ValueError, termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


class PromptQueue:
    """The queue that shows prompts and reads the answers, on the loop."""

    def __init__(self) -> None:
        self._waiting: deque[TerminalPrompt] = deque()
        self._shown: TerminalPrompt | None = None
        self._reading = False

    def add(self, matter: TerminalPrompt) -> None:
        """Queue a prompt behind the earlier ones."""
        self._waiting.append(matter)
        self._show_next()

    def is_shown(self, request_id: str) -> bool:
        """Return whether this prompt is the one shown now."""
        return self._shown is not None and self._shown.request_id == request_id

    def settled(self, request_id: str) -> None:
        """Remove a prompt that needs no answer any more, whatever its outcome."""
        self._waiting = deque(each for each in self._waiting if each.request_id != request_id)
        if self.is_shown(request_id):
            self._shown = None
            self._stop_reading()
            self._show_next()

    def close(self) -> None:
        """Discard all prompts and stop reading."""
        self._waiting.clear()
        self._shown = None
        self._stop_reading()

    def _show_next(self) -> None:
        if self._shown is not None or not self._waiting:
            return
        self._shown = self._waiting.popleft()
        _discard_typeahead()
        self._shown.show()
        if not self._reading:
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read)
            self._reading = True

    def _read(self) -> None:
        try:
            line = os.read(sys.stdin.fileno(), _MOST_LINE)
        except OSError:
            line = b""
        matter = self._shown
        self._stop_reading()
        if matter is None:
            return
        if line:
            matter.take(line.decode("utf-8", "replace").strip())
        else:
            matter.end_of_input()

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            with contextlib.suppress(OSError, ValueError):
                asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
