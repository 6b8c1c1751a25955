"""A program at a pseudo-terminal: keys, Ctrl-C, and the screen."""

import os
import pty
import signal
import struct
import subprocess
import termios
from fcntl import ioctl

from tests.fakes.program import PROGRAM, Outcome, Program

END_OF_INPUT = b"\x04"


def at_terminal(
    program: Program,
    *arguments: str,
    typed: bytes = b"",
    answer_at: str = "",
    ahead: bytes = b"",
    interrupt_at: str = "",
    columns: int = 120,
) -> Outcome:
    """Run on a terminal; ``out`` is the content of the screen.

    Args:
        typed: Keys, waiting when the program begins to read.
        answer_at: Press them only when this text is on the screen.
        ahead: Further keys, pressed before the program starts.
        interrupt_at: Press Ctrl-C once this text is on the screen.
    """
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    environment = {**program.environment(), "TERM": "xterm-256color", "NO_COLOR": "1"}
    os.write(ours, ahead if answer_at else ahead + typed)
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        cwd=program.home.parent,
    )
    os.close(theirs)
    screen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end was closed
            break
        if not piece:
            break
        screen += piece
        if answer_at and answer_at.encode() in screen:
            answer_at = ""
            os.write(ours, typed)
        if interrupt_at and interrupt_at.encode() in screen:
            interrupt_at = ""
            process.send_signal(signal.SIGINT)
    os.close(ours)
    code = process.wait(timeout=60)
    return Outcome(code, screen.decode(errors="replace").replace("\r\n", "\n"), "")
