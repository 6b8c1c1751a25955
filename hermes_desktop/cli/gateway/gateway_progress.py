"""Progress messages of a foreground gateway on standard error."""

from hermes_desktop.cli import output
from hermes_desktop.cli.rewritten_line import RewrittenLine
from hermes_desktop.core.events import GatewayStatusChanged, Notice, PlatformHealth, UndoneWork
from hermes_desktop.services.hosting.undone_words import UNDONE_HINT, WHY_UNDONE, undone_sentence

_SERVING = frozenset({"running", "working", "degraded"})


class GatewayProgress:
    """A listener that writes a line when the status has changed.

    On a terminal the remaining seconds count down in one line; elsewhere, where each would be a
    line of a log, only a change of what is waited for is written.
    """

    def __init__(self) -> None:
        self._told: tuple[object, ...] = ()
        self._said = ""
        self._platforms: dict[str, tuple[str, str]] = {}
        self._line = RewrittenLine()
        self._undone: UndoneWork | None = None

    def show(self, status: GatewayStatusChanged) -> None:
        """Show what changed."""
        for platform in status.platforms:
            self._show_platform(platform)
        self._show_undone(status.undone)
        if status.state in _SERVING:
            self._show_gone({platform.name for platform in status.platforms})
        if status.state == "stopping" and status.running_turns and output.is_error_terminal():
            self._line.rewrite(output.one_line(status.detail))
            return
        counted = status.running_turns if status.state == "stopping" else status.detail
        told = (status.state, counted)
        is_news = told != self._told and status.detail != self._said
        if status.detail and is_news and status.refusal is None:
            self._line.say(status.detail)
        self._told, self._said = told, status.detail

    def note(self, notice: Notice) -> None:
        """Show what a window would show as a notice."""
        words = (notice.title, notice.detail, notice.hint)
        self._line.say(" ".join(each for each in words if each))

    def clear(self) -> None:
        """Clear the line that is rewritten."""
        self._line.clear()

    def _show_platform(self, platform: PlatformHealth) -> None:
        told = (platform.state, platform.detail)
        if self._platforms.get(platform.name) != told:
            self._platforms[platform.name] = told
            self._line.say(f"{platform.name}: {platform.state}" + _behind(platform.detail))

    def _show_gone(self, served: set[str]) -> None:
        for name in sorted(self._platforms.keys() - served):
            del self._platforms[name]
            self._line.say(f"{name}: switched off")

    def _show_undone(self, undone: UndoneWork | None) -> None:
        if undone is not None and undone != self._undone:
            self._line.say(f"{undone_sentence(undone)} {WHY_UNDONE} {UNDONE_HINT}")
        self._undone = undone


def _behind(detail: str) -> str:
    return f" – {detail}" if detail else ""
