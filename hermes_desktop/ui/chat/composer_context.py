"""The context of the message field: the note, read-only reasons and the reset strip."""

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QToolButton, QWidget
from typing_extensions import override

from hermes_desktop.core.events import GatewayStatusChanged, SessionReset
from hermes_desktop.services.hosting.desktop_chat import DesktopChat
from hermes_desktop.services.hosting.gateway_host import GatewayHost
from hermes_desktop.state.records.records import SessionSummary
from hermes_desktop.ui.chat.composer import Composer
from hermes_desktop.ui.chat.shown_session import ShownSession
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.centered_column import put_in_middle
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.resource_files import icon, icon_size, pixmap
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, Theme

_MOST_RESETS = 50
_STRIP_ICON = 18


class ResetStrip(QWidget):
    """A strip for the reset of the conversation on the page, shown until it is closed.

    Signals:
        previous_wanted: Continue the chat in the session before the reset; success is reported
            through :meth:`settle`.
        new_wanted: Show the session that started, by its id.
    """

    previous_wanted = Signal(SessionReset)
    new_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._resets: list[SessionReset] = []
        self._shown: SessionReset | None = None
        self._icon = QLabel()
        self.words = LeadingLabel()
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.previous = QPushButton(self.tr("Continue previous"), self)
        self.new = QPushButton(self.tr("Open the new session"), self)
        self.close_button = QToolButton()
        self.close_button.setAutoRaise(True)
        self.close_button.setIconSize(icon_size())
        self.close_button.setAccessibleName(self.tr("Dismiss"))
        self.close_button.setToolTip(self.tr("Close"))
        row = QHBoxLayout()
        row.setSpacing(SPACE_8)
        row.addWidget(self._icon)
        row.addWidget(self.words, 1)
        for button in (self.previous, self.new):
            button.setAutoDefault(False)
            row.addWidget(button)
        row.addWidget(self.close_button)
        put_in_middle(self, row, top=SPACE_8, bottom=SPACE_8)
        self.previous.clicked.connect(self._go_back)
        self.new.clicked.connect(self._go_on)
        self.close_button.clicked.connect(self._forget)
        theme.changed.connect(self._colour)
        self._colour()
        self.hide()

    def note(self, reset: SessionReset) -> None:
        """Store a reset; the next :meth:`show_for` may show it."""
        self._resets = [*self._resets, reset][-_MOST_RESETS:]

    def show_for(self, ids: set[str]) -> None:
        """Show the latest reset of the conversation with these ids, if there was one."""
        found = (r for r in reversed(self._resets) if {r.old_session_id, r.new_session_id} & ids)
        self._shown = reset = next(found, None)
        self.setVisible(reset is not None)
        if reset is not None:
            self.words.setText(reset.text)
            self.setAccessibleName(reset.text)
            self.new.setVisible(reset.new_session_id not in ids)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QColor(self._theme.palette.separator))
        painter.drawLine(self.rect().topLeft(), self.rect().topRight())

    def settle(self, reset: SessionReset) -> None:
        """Remove a reset after the chat returned to its previous session."""
        self._resets = [each for each in self._resets if each is not reset]
        if self._shown is reset:
            self._forget()

    def _go_back(self) -> None:
        if self._shown is not None:
            self.previous_wanted.emit(self._shown)

    def _go_on(self) -> None:
        if self._shown is not None:
            self.new_wanted.emit(self._shown.new_session_id)

    def _forget(self) -> None:
        self._resets = [each for each in self._resets if each is not self._shown]
        self._shown = None
        self.hide()

    def _colour(self) -> None:
        palette, ratio = self._theme.palette, self.devicePixelRatioF()
        self._icon.setPixmap(pixmap("refresh", palette.secondary_text, _STRIP_ICON, ratio))
        self.close_button.setIcon(icon("close", palette))
        self.update()


AGAIN_MS = 5_000


class OtherProgramsWatcher(QObject):
    """Detects other programs that may be answering in the shown session.

    Checks when a session is shown or changes, and again while it finds something.

    Attributes:
        words: The text to show, "" for nothing.

    Args:
        chat: Detects the activity of other programs.
        slots: Runs the checks.
        parent: The owner.

    Signals:
        changed: ``words`` changed.
    """

    changed = Signal()

    def __init__(self, chat: DesktopChat, slots: AsyncSlots, parent: QObject) -> None:
        super().__init__(parent)
        self.words = ""
        self._chat = chat
        self._slots = slots
        self._shown: ShownSession | None = None
        self._again = QTimer(self, singleShot=True, interval=AGAIN_MS)
        self._again.timeout.connect(self._start)

    def follow(self, shown: ShownSession) -> None:
        """Check after another session was shown or the row of this one was read again."""
        if shown is not self._shown:
            self._take("")
        self._shown = shown
        self._start()

    def _start(self) -> None:
        self._again.stop()
        shown = self._shown
        if shown is None or shown.summary is None:
            self._take("")
            return
        self._slots.start(self._look(shown), doing=self.tr("Looking for other programs"))

    async def _look(self, shown: ShownSession) -> None:
        if shown.summary is None:
            return
        words = await self._chat.foreign_activity_warning(shown.summary)
        if shown is self._shown:
            self._take(words)
            if words:
                self._again.start()

    def _take(self, words: str) -> None:
        if words != self.words:
            self.words = words
            self.changed.emit()


class ComposerContext(QObject):
    """Controller that keeps everything around the message field current for the shown session.

    Attributes:
        strip: Shows resets; the page adds it to its layout.

    Args:
        chat: Decides what may be written in which session.
        gateway: Lets a platform chat continue in its previous session.
        composer: The message field.
        theme: Colors.
        slots: Runs the copying.
        bridge: The events of the gateway and of resets.

    Signals:
        session_wanted: Show this session and focus the composer.
    """

    session_wanted = Signal(str)

    def __init__(
        self,
        chat: DesktopChat,
        gateway: GatewayHost,
        composer: Composer,
        theme: Theme,
        *,
        slots: AsyncSlots,
        bridge: EventBridge,
    ) -> None:
        super().__init__(composer)
        self._chat = chat
        self._gateway = gateway
        self._composer = composer
        self.strip = ResetStrip(theme)
        self._slots = slots
        self._shown = ShownSession(nothing=True)
        self._waiting = self._folder = ""
        self._others = OtherProgramsWatcher(chat, slots, self)
        self._others.changed.connect(self._tell)
        bridge.gateway_status_changed.connect(self._gateway_changed)
        bridge.session_reset.connect(self._reset)
        self.strip.previous_wanted.connect(self._go_back)
        self.strip.new_wanted.connect(self.session_wanted)
        composer.copy_wanted.connect(self._copy)

    def show(self, shown: ShownSession) -> None:
        """Update for another conversation, or after the row of the shown one was read again."""
        self._shown = shown
        self._others.follow(shown)
        self._tell()
        self.strip.show_for(shown.ids)

    def tell_again(self) -> None:
        """Update after the permission to write may have changed."""
        self._tell()

    def say_folder(self, note: str) -> None:
        """Show the required action for the working folder; "" for none."""
        if note != self._folder:
            self._folder = note
            self._tell()

    def say_waiting(self, reason: str) -> None:
        """Show the other program that a message waits for, "" for none."""
        if reason != self._waiting:
            self._waiting = reason
            self._tell()

    def _gateway_changed(self, _: GatewayStatusChanged) -> None:
        self._tell()

    def _tell(self) -> None:
        summary = self._shown.summary
        lines = (self._waiting, self._others.words, self._folder, self._chat.note_for(summary))
        self._composer.set_note("\n".join(line for line in lines if line))
        self._composer.set_read_only(
            self._chat.read_only_reason(summary), self._chat.hermes_command(summary)
        )

    def _reset(self, reset: SessionReset) -> None:
        self.strip.note(reset)
        self.strip.show_for(self._shown.ids)

    def _go_back(self, reset: SessionReset) -> None:
        self._slots.start(self._continue(reset), doing=self.tr("Continuing the previous session"))

    async def _continue(self, reset: SessionReset) -> None:
        """Continue the previous session; if the chat cannot be moved, that session is still opened.

        The failure is reported, and the user can still read and write in the session.
        """
        try:
            await self._gateway.continue_in(reset.session_key, reset.old_session_id)
            self.strip.settle(reset)
        finally:
            self._go_on(reset.old_session_id)

    def _go_on(self, session_id: str) -> None:
        if session_id in self._shown.ids:
            self._composer.take_focus()
        else:
            self.session_wanted.emit(session_id)

    def _copy(self) -> None:
        summary = self._shown.summary
        if summary is not None:
            self._slots.start(self._make_copy(summary), doing=self.tr("Copying the session"))

    async def _make_copy(self, summary: SessionSummary) -> None:
        self.session_wanted.emit(await self._chat.continue_in_copy(summary))
