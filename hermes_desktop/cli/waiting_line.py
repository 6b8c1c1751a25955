"""What ``chat`` says while its message waits for another program."""

from hermes_desktop.cli import output
from hermes_desktop.core.events import Notice, TurnQueued
from hermes_desktop.gateway.program_locks import NOTICE_KEY
from hermes_desktop.services.open_turns import OpenTurn

_STOP = "Ctrl-C ends the wait; nothing is sent then."


class WaitingLine:
    """Writes to standard error; on a terminal the time that is left is counted in one line."""

    def __init__(self) -> None:
        self._line = ""
        self._told = ""

    def queued(self, event: TurnQueued) -> None:
        """The message waits for one of our programs, or for a free place."""
        self._say(f"{event.reason} {_STOP}" if event.reason else "Waiting for a free place …")

    def notice(self, notice: Notice) -> None:
        """Sessions cannot be locked; other notices are for a window."""
        if notice.key == NOTICE_KEY:
            self._say(f"{notice.title} {notice.detail} {notice.hint}")

    def foreign(self, turn: OpenTurn | None, left_s: float) -> None:
        """The message waits for somebody else's program, for so long at most."""
        if turn is None:
            self.clear()
            return
        minutes, seconds = divmod(max(0, round(left_s)), 60)
        left = f"{minutes}:{seconds:02}"
        if turn.who != self._told:
            self._told = turn.who
            self._say(f"Waiting, {left} min at most: {turn}. {_STOP} --now does not wait.")
        if output.is_error_terminal():
            self._rewrite(f"{left} left ")

    def clear(self) -> None:
        """Take the line away that is written again and again."""
        if self._line:
            output.ask("\r" + " " * len(self._line) + "\r")
        self._line = ""

    def _rewrite(self, line: str) -> None:
        output.ask("\r" + line.ljust(len(self._line)))
        self._line = line

    def _say(self, text: str) -> None:
        self.clear()
        output.say(output.one_line(text))
