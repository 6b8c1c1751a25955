"""The gateway as a block: its state with time and reason, and the available commands."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from hermes_desktop.core.events import GatewayStatusChanged, HostingRefusal, UndoneWork
from hermes_desktop.services.hosting.undone_words import (
    UNDONE_HINT,
    WHY_UNDONE,
    undone_heading,
    undone_lines,
)
from hermes_desktop.ui.widgets.section_parts import Block, SecondaryLabel, heading_label
from hermes_desktop.ui.widgets.state_shapes import StateShape
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, Theme
from hermes_desktop.ui.words.ages import format_span
from hermes_desktop.ui.words.day_words import words_for
from hermes_desktop.ui.words.gateway_words import (
    allowed,
    attached_text,
    explained,
    plain,
    refused_text,
    shape_of,
    state_words,
)

_SHAPE = 16
_SERVING = frozenset({"running", "working", "degraded"})


class GatewayCard(Block):
    """State as text and shape, and the buttons.

    Signals:
        wanted: Carries a command for :meth:`GatewayCommands.run`.
    """

    wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.setAccessibleName(self.tr("Gateway"))
        self.shape = StateShape(theme, _SHAPE)
        self.state = heading_label(share=1.1)
        self.since = SecondaryLabel(theme)
        self.since.setWordWrap(False)
        self.why = SecondaryLabel(theme)
        self.would_not_run = SecondaryLabel(theme)
        self.hint = SecondaryLabel(theme)
        self.buttons = {
            "start": self._button(self.tr("Start the gateway"), "start"),
            "stop": self._button(self.tr("Stop the gateway"), "stop"),
            "restart": self._button(self.tr("Restart the gateway"), "restart"),
            "take_over": self._button(self.tr("Take over…"), "take_over"),
            "insist": self._button(self.tr("Start anyway…"), "insist"),
            "give_up": self._button(self.tr("Stop waiting"), "give_up"),
            "hurry": self._button(self.tr("Interrupt now"), "hurry"),
        }
        self._arrange()

    def show_status(
        self, status: GatewayStatusChanged, *, now: float, busy: str = "", replies: int = 0
    ) -> None:
        """Show the status of the gateway.

        Args:
            status: The status.
            now: Seconds since the epoch.
            busy: The command in progress, "" for none.
            replies: How many running replies a stop waits for.
        """
        self.shape.show_shape(shape_of(status))
        taking = busy == "take_over"
        self.state.setText(self.tr("Taking over the gateway") if taking else state_words(status))
        self.refresh_since(status, now)
        refusal = status.refusal if status.state in {"stopped", "attached"} else None
        words = explained(status)
        if status.state == "stopped" and refusal is not None:
            words = refused_text(refusal)
        elif status.state == "attached" and not taking:
            words = attached_text(status.other, None)  # the age is at the end of the line
            if refusal is not None:
                words = f"{words}\n{plain(refusal.title)} {plain(refusal.detail)}".rstrip()
        self.why.setText(words)
        self._show_undone(status.undone, refusal)
        self._show_buttons(status, busy, waiting=status.state == "stopping" and replies > 0)
        self.setAccessibleDescription(f"{self.state.text()}. {self.since.text()} {words}")

    def refresh_since(self, status: GatewayStatusChanged, now: float) -> None:
        """Refresh the text on how long the state has lasted."""
        self.since.setText(self._since_words(status, now))

    def _show_undone(self, undone: UndoneWork | None, refusal: HostingRefusal | None) -> None:
        """List the work that would not run, or does not run, and show what helps."""
        lines: list[str] = []
        hint = ""
        if refusal is not None:
            lines, hint = [f"• {each}" for each in refusal.would_not_run], refusal.hint
        elif undone is not None:
            heading = plain(f"{undone_heading(undone)} {WHY_UNDONE}")
            lines = [heading, *(f"• {each}" for each in undone_lines(undone))]
            hint = UNDONE_HINT
        self.would_not_run.setText("\n".join(lines))
        self.would_not_run.setVisible(bool(lines))
        self.hint.setText(plain(hint))
        self.hint.setVisible(bool(hint))

    def _show_buttons(self, status: GatewayStatusChanged, busy: str, *, waiting: bool) -> None:
        """Hide commands that do not apply, and disable those that are unavailable at the moment."""
        may = allowed(status)
        insist = may.start and status.refusal is not None and status.refusal.may_insist
        usual = not (may.take_over or insist or waiting)
        taking = busy == "take_over"
        shown = {
            "start": usual,
            "stop": usual,
            "restart": usual,
            "take_over": may.take_over and not taking,
            "insist": insist,
            "give_up": may.take_over and taking,
            "hurry": waiting,
        }
        able = {
            "start": may.start and not busy,
            "stop": may.stop and busy not in {"stop", "restart"},
            "restart": may.restart and not busy,
            "take_over": may.take_over and not busy,
            "insist": insist and not busy,
            "give_up": taking,
            "hurry": True,
        }
        for name, button in self.buttons.items():
            button.setVisible(shown[name])
            button.setEnabled(able[name])

    def _since_words(self, status: GatewayStatusChanged, now: float) -> str:
        if status.other is not None and status.other.started_at is not None:
            return self.tr("for {span}").format(span=format_span(now - status.other.started_at))
        if status.since is None or status.state not in _SERVING:
            return ""
        return self.tr("since {time}").format(time=words_for(now).spoken_short(status.since))

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(SPACE_8)
        head.addWidget(self.shape)
        head.addWidget(self.state, 1)
        head.addWidget(self.since)
        self.column.addLayout(head)
        for label in (self.why, self.would_not_run, self.hint):
            self.column.addWidget(label)
        row = QHBoxLayout()
        row.setSpacing(SPACE_8)
        for button in self.buttons.values():
            row.addWidget(button)
        row.addStretch(1)
        self.column.addSpacing(SPACE_4)
        self.column.addLayout(row)

    def _button(self, words: str, name: str) -> QPushButton:
        button = QPushButton(words, self)
        button.setAutoDefault(False)
        button.clicked.connect(lambda: self.wanted.emit(name))
        return button
