"""The status line of ``chat`` while its message waits for another program."""

from hermes_desktop.cli import output
from hermes_desktop.cli.rewritten_line import RewrittenLine
from hermes_desktop.core.events import Notice, TurnQueued
from hermes_desktop.gateway.turns.program_locks import NOTICE_KEY
from hermes_desktop.services.sessions.open_turns import OpenTurn

_STOP = "Ctrl-C ends the wait; nothing is sent then."


class WaitStatusLine:
    """The status line on standard error; on a terminal, the remaining time counts down in it."""

    def __init__(self) -> None:
        self._line = RewrittenLine()
        self._told = ""

    def queued(self, event: TurnQueued) -> None:
        """Show that the message waits for one of our programs, or for a free place."""
        self._line.say(f"{event.reason} {_STOP}" if event.reason else "Waiting for a free place …")

    def notice(self, notice: Notice) -> None:
        """Show that sessions cannot be locked; other notices are for a window."""
        if notice.key == NOTICE_KEY:
            self._line.say(f"{notice.title} {notice.detail} {notice.hint}")

    def foreign(self, turn: OpenTurn | None, left_s: float) -> None:
        """Show that the message waits for another program, and for how long at most."""
        if turn is None:
            self.clear()
            return
        minutes, seconds = divmod(max(0, round(left_s)), 60)
        left = f"{minutes}:{seconds:02}"
        if turn.who != self._told:
            self._told = turn.who
            self._line.say(f"Waiting, {left} min at most: {turn}. {_STOP} --now does not wait.")
        if output.is_error_terminal():
            self._line.rewrite(f"{left} left ")

    def clear(self) -> None:
        """Clear the line that is rewritten."""
        self._line.clear()
