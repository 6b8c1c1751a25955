"""Terminal input that is not shown while it is typed."""

import sys

from hermes_desktop.cli import output
from hermes_desktop.core.errors import CancelledError


def read_hidden(question: str) -> str:
    """Prompt on the terminal without echo.

    Raises:
        CancelledError: The input ended without a line.
    """
    line = _without_echo(question)
    if not line:
        raise CancelledError("Cancelled.", "Nothing was changed.")
    return line.rstrip("\r\n")


if sys.platform == "win32":
    import getpass

    def _without_echo(question: str) -> str:
        return getpass.getpass(question) + "\n"
else:
    import termios

    def _without_echo(question: str) -> str:
        # Not getpass: it prompts on the terminal of the session, which may differ from the one
        # behind standard input, and discards input typed before.
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
        hidden = [*before]
        hidden[3] &= ~termios.ECHO
        try:
            termios.tcsetattr(terminal, termios.TCSADRAIN, hidden)
            output.ask(question)
            return sys.stdin.readline()
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
            output.say("")
