"""The controller for gateway commands of buttons, tray and notices: confirm, run, report."""

from collections.abc import Awaitable, Callable

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QDialog, QWidget

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Notice, NoticeCleared, TurnFinished, TurnQueued, TurnStarted
from hermes_desktop.ui.gateway.gateway_protocols import GatewayControl
from hermes_desktop.ui.gateway.gateway_questions import (
    insist_question,
    stop_question,
    take_over_question,
)
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.theme import Theme
from hermes_desktop.ui.words.gateway_words import plain, serves
from hermes_desktop.ui.words.source_names import source_name

_OWN = frozenset({"desktop", "local", "cli"})
_PLATFORM_PART = 2
_MOST_LETTERS = 70


class RunningReplies:
    """Tracks turns from start to end.

    Turns of this window's own chats are ignored: they continue when the gateway stops.
    """

    def __init__(self) -> None:
        self._turns: dict[str, TurnQueued | TurnStarted] = {}

    def begun(self, event: TurnQueued | TurnStarted) -> None:
        """Add a turn that is queued or running."""
        if platform_of(event.session_key) not in _OWN:
            self._turns[event.turn_id] = event

    def finished(self, event: TurnFinished) -> None:
        """Remove a finished turn."""
        self._turns.pop(event.turn_id, None)

    @property
    def count(self) -> int:
        """How many replies are running."""
        return len(self._turns)

    def lines(self) -> list[str]:
        """Return one line for each reply: its prompt and its platform."""
        return [
            f"“{_short(turn.prompt)}” – {source_name(platform_of(turn.session_key))}"
            for turn in self._turns.values()
        ]


def platform_of(session_key: str) -> str:
    """Return the platform in a key like ``agent:main:telegram:dm:7``, "" if there is none."""
    parts = session_key.split(":")
    return parts[_PLATFORM_PART] if len(parts) > _PLATFORM_PART else ""


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_LETTERS else f"{flat[: _MOST_LETTERS - 1].rstrip()}…"


RESULT, START_AGAIN = "gateway-result", "gateway-start"
_STARTING = frozenset({"start", "insist", "restart"})


class GatewayCommands(QObject):
    """Runs one command at a time; repeating the same one has no effect. Main thread only.

    Args:
        control: The gateway.
        replies: Running replies, for the confirmation dialogs.
        slots: Runs coroutines; a refusal becomes a notice.
        bus: Receives the notices.
        theme: Colors of the dialogs.
        clock: For ages in the dialogs.
        window: Parent of the dialogs.

    Signals:
        busy_changed: Carries the name of the command in progress, "" for none.
        window_wanted: A dialog is about to open; a hidden window should show.
    """

    busy_changed = Signal(str)
    window_wanted = Signal()

    def __init__(  # noqa: PLR0913 - what it works with
        self,
        control: GatewayControl,
        replies: RunningReplies,
        *,
        slots: AsyncSlots,
        bus: EventBus,
        theme: Theme,
        clock: Clock,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._control = control
        self._replies = replies
        self._slots = slots
        self._bus = bus
        self._theme = theme
        self._clock = clock
        self._window = window
        self._busy = ""
        self._verbs: dict[str, tuple[Callable[[], Awaitable[None]], str]] = {
            "start": (self._start, self.tr("Starting the gateway")),
            "insist": (self._insist, self.tr("Starting the gateway")),
            "stop": (self._stop, self.tr("Stopping the gateway")),
            "restart": (self._restart, self.tr("Restarting the gateway")),
            "take_over": (self._take_over, self.tr("Taking over the gateway")),
        }

    @property
    def busy(self) -> str:
        """The command in progress, "" for none."""
        return self._busy

    def run(self, name: str) -> None:
        """Run one of ``start``, ``insist``, ``stop``, ``restart`` and ``take_over``.

        ``give_up`` stops waiting for the other gateway, ``hurry`` for running replies; both are
        possible while another command is in progress.
        """
        if name == "hurry":
            self._control.hurry()
        elif name == "give_up":
            self._slots.start(self._control.stop(), doing=self.tr("Leaving the other gateway"))
        elif not self._busy or (name == "stop" and self._busy in _STARTING):
            verb, doing = self._verbs[name]
            self._busy = name
            self._slots.start(self._guarded(verb, name), doing=doing)

    def reconnect(self, platform: str) -> None:
        """Reconnect a platform now."""
        self._for_platform(self._control.reconnect, platform, self.tr("Reconnecting {name}"))

    def pause(self, platform: str) -> None:
        """Pause a platform: fetch none of its messages."""
        self._for_platform(self._control.pause, platform, self.tr("Pausing {name}"))

    def resume(self, platform: str) -> None:
        """Resume a paused platform."""
        self._for_platform(self._control.resume, platform, self.tr("Resuming {name}"))

    def act_on(self, key: str) -> None:
        """Handle the button of a notice; notices of other components are ignored."""
        if key == START_AGAIN:
            self.run("start")

    # ---------------------------------------------------------------------------- commands

    async def _guarded(self, verb: Callable[[], Awaitable[None]], name: str) -> None:
        try:
            await verb()
        finally:
            if self._busy == name:  # a start that was stopped leaves the reset to the stop
                self._busy = ""
                self.busy_changed.emit("")

    async def _start(self) -> None:
        self._began()
        await self._control.start()
        self._tell_start(self.tr("The gateway is running."))

    async def _insist(self) -> None:
        refusal = self._control.status.refusal
        if refusal is None:
            await self._start()
        elif refusal.may_insist and await self._agreed(
            insist_question(refusal, self._theme, self._window)
        ):
            self._began()
            await self._control.start(insist=True)
            self._tell_start(self.tr("The gateway is running."))

    async def _stop(self) -> None:
        if not await self._may_interrupt(restart=False):
            return
        self._began()
        await self._control.stop()
        if self._control.status.state == "stopped":
            words = self.tr("The gateway is stopped. Chats in this window still work.")
            self._tell(Notice("ok", words, key=START_AGAIN, action=self.tr("Start again")))

    async def _restart(self) -> None:
        if await self._may_interrupt(restart=True):
            self._began()
            await self._control.restart()
            self._tell_start(self.tr("The gateway restarted with the current settings."))

    async def _take_over(self) -> None:
        other = self._control.status.other
        question = take_over_question(other, self._clock.time(), self._theme, self._window)
        if not await self._agreed(question):
            return
        self._began()
        await self._control.take_over()
        refusal = self._control.status.refusal
        if not serves(self._control.status) and refusal is not None and refusal.would_not_run:
            question = insist_question(refusal, self._theme, self._window, take_over=True)
            if not refusal.may_insist or not await self._agreed(question):
                return
            await self._control.take_over(insist=True)
        self._tell_taken_over()

    def _tell_taken_over(self) -> None:
        status = self._control.status
        if serves(status):
            self._tell_start(self.tr("Hermes Desktop now answers messages from your platforms."))
        elif status.refusal is not None:
            title, detail = plain(status.refusal.title), plain(status.refusal.detail)
            self._tell(Notice("warning", title, detail, plain(status.refusal.hint), key=RESULT))
        else:
            words = self.tr("The gateway was not taken over.")
            self._tell(Notice("warning", words, plain(status.detail), key=RESULT))

    # ------------------------------------------------------------------------------- helpers

    async def _may_interrupt(self, *, restart: bool) -> bool:
        lines = self._replies.lines()
        if not lines:
            return True
        question = stop_question(lines, self._theme, self._window, restart=restart)
        return await self._agreed(question)

    async def _agreed(self, question: QDialog) -> bool:
        self.window_wanted.emit()
        try:
            answer = await self._slots.ask(question)
        finally:
            question.deleteLater()
        return answer == QDialog.DialogCode.Accepted

    def _began(self) -> None:
        for key in (RESULT, START_AGAIN):
            self._bus.publish(NoticeCleared(key))
        self.busy_changed.emit(self._busy)

    def _tell_start(self, words: str) -> None:
        """Report a start; the banner shows a refusal, or another gateway, already."""
        status = self._control.status
        if serves(status):
            self._tell(Notice("ok", words, key=RESULT))
        elif status.state == "stopped" and status.refusal is None:
            words = self.tr("The gateway was not started.")
            why = plain(status.detail) or self.tr("This window hosts no gateway.")
            self._tell(Notice("warning", words, why, key=RESULT))

    def _tell(self, notice: Notice) -> None:
        self._bus.publish(notice)

    def _for_platform(
        self, do: Callable[[str], Awaitable[None]], platform: str, doing: str
    ) -> None:
        words = doing.format(name=source_name(platform))
        self._slots.start(_await(do(platform)), doing=words)


async def _await(something: Awaitable[None]) -> None:
    await something
