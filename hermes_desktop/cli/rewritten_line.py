"""One line on standard error that is written over itself: a countdown, progress."""

from hermes_desktop.cli import output


class RewrittenLine:
    """Keeps what stands in the line, so that a shorter text leaves nothing of a longer one."""

    def __init__(self) -> None:
        self._line = ""

    def rewrite(self, line: str) -> None:
        """Show this in place of what stands there."""
        output.ask("\r" + line.ljust(len(self._line)))
        self._line = line

    def clear(self) -> None:
        """Empty the line."""
        if self._line:
            output.ask("\r" + " " * len(self._line) + "\r")
        self._line = ""

    def say(self, text: str) -> None:
        """Empty the line and write a lasting one in its place."""
        self.clear()
        output.say(output.one_line(text))
