"""A line on standard error that overwrites itself: a countdown, progress."""

from hermes_desktop.cli import output


class RewrittenLine:
    """A line that remembers its text, so that a shorter text erases all of a longer one."""

    def __init__(self) -> None:
        self._line = ""

    def rewrite(self, line: str) -> None:
        """Replace the text of the line."""
        output.ask("\r" + line.ljust(len(self._line)))
        self._line = line

    def clear(self) -> None:
        """Empty the line."""
        if self._line:
            output.ask("\r" + " " * len(self._line) + "\r")
        self._line = ""

    def say(self, text: str) -> None:
        """Clear the line and write a permanent one in its place."""
        self.clear()
        output.say(output.one_line(text))
