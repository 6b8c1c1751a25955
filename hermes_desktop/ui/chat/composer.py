"""The composer: message field, Send and Stop buttons, and notes about both."""

from PySide6.QtCore import QEvent, QMargins, QObject, Qt, Signal
from PySide6.QtGui import QColor, QFontDatabase, QKeyEvent, QPainter, QPaintEvent, QPen, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.services.hosting.desktop_chat import ChatReadiness
from hermes_desktop.ui.chat.message_input import MessageInput
from hermes_desktop.ui.widgets.centered_column import put_in_middle
from hermes_desktop.ui.widgets.flow_row import FlowRow
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.resource_files import icon_size, tinted_icon
from hermes_desktop.ui.widgets.section_parts import LeadingLabel, SecondaryLabel, heading_label
from hermes_desktop.ui.widgets.theme import RADIUS_BLOCK, Theme
from hermes_desktop.ui.words.gateway_words import plain
from hermes_desktop.ui.words.setting_names import setting_in


class ReadOnlyBox(QWidget):
    """The box that replaces the message field in read-only sessions.

    It has a reason, and the one way to continue: a copy, or a command for another program.

    Signals:
        copy_wanted: Continue in a copy.
    """

    copy_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.words = LeadingLabel()
        self.command = LeadingLabel()
        self.command.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.command.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.copy = QPushButton(self.tr("Continue in a copy"), self)
        self.copy.clicked.connect(self.copy_wanted)
        self.copy_command = QPushButton(self.tr("Copy the command"), self)
        self.copy_command.clicked.connect(self._copy_command)
        row = QHBoxLayout()
        for button in (self.copy, self.copy_command):
            button.setAutoDefault(False)
            row.addWidget(button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(QMargins(2, 4, 2, 4))
        for widget in (self.words, self.command):
            column.addWidget(widget)
        column.addLayout(row)
        theme.changed.connect(self._colour)
        self._colour()
        self.show_reason("")

    @property
    def button(self) -> QPushButton:
        """The button that continues."""
        return self.copy_command if self.command.text() else self.copy

    def show_reason(self, reason: str, command: str = "") -> None:
        """Show the reason.

        Args:
            reason: The reason as display text.
            command: The command that continues in another program; "" if a copy does.
        """
        self.words.setText(reason)
        if command != self.command.text():
            self.copy_command.setText(self.tr("Copy the command"))
        self.command.setText(command)
        self.command.setVisible(bool(command))
        self.copy.setVisible(not command)
        self.copy_command.setVisible(bool(command))
        self.button.setAccessibleDescription(f"{reason} {command}".strip())

    def _copy_command(self) -> None:
        QApplication.clipboard().setText(self.command.text())
        self.copy_command.setText(self.tr("Copied"))

    def _colour(self) -> None:
        tint(self.words, self._theme.palette.secondary_text)


class ReasonBox(QWidget):
    """The reason why no message can be sent, above the message field.

    It has a title, the reason, and buttons to fix it, one of them to the settings.

    Signals:
        check_wanted: Check the settings again after the user changed something.
        settings_wanted: Open the settings, at the key of one of them or at "".
    """

    check_wanted = Signal()
    settings_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.key = ""
        self.title: LeadingLabel = heading_label()
        self.words = SecondaryLabel(theme)
        self.settings_button = QPushButton(self.tr("Open the settings"))
        self.check_button = QPushButton(self.tr("Check again"))
        self._buttons = FlowRow()
        for button in (self.settings_button, self.check_button):
            button.setAutoDefault(False)
            self._buttons.add(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(QMargins(2, 4, 2, 8))
        for widget in (self.title, self.words, self._buttons):
            column.addWidget(widget)
        self.check_button.clicked.connect(self.check_wanted)
        self.settings_button.clicked.connect(lambda: self.settings_wanted.emit(self.key))

    def show_reason(self, readiness: ChatReadiness, *, about_model: bool) -> None:
        """Show the reason.

        Args:
            readiness: What is missing.
            about_model: Whether a setting can fix it.
        """
        self.title.setText(plain(readiness.title))
        words = " ".join(part for part in (readiness.detail, readiness.hint) if part)
        self.words.setText(plain(words))
        self.words.setVisible(bool(words))
        self.key = setting_in(words)
        self.settings_button.setVisible(about_model)
        for button in (self.settings_button, self.check_button):
            button.setAccessibleDescription(f"{self.title.text()} {self.words.text()}")
        self._buttons.settle()

    @property
    def first_button(self) -> QPushButton:
        """The button that helps most."""
        hidden = self.settings_button.isHidden()
        return self.check_button if hidden else self.settings_button


class _Frame(QWidget):
    """The rounded border around the field and its buttons."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.focused = False

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = self._theme.palette
        edge = colours.accent if self.focused else colours.separator
        painter.setPen(QPen(QColor(edge), 1.5 if self.focused else 1.0))
        painter.setBrush(QColor(colours.raised if self.isEnabled() else colours.window))
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), RADIUS_BLOCK, RADIUS_BLOCK)
        painter.end()


class Composer(QWidget):
    """The lower part of the page.

    Signals:
        submitted: A message that is not blank was submitted. The field still holds it; call
            :meth:`take_out` once it is accepted.
        stop_wanted: Stop the running reply.
        check_wanted: Check the settings again; also emitted when the window becomes active, because
            they may be changed in another one, and when it is shown again, after the settings.
        settings_wanted: Open the settings, at the key of one of them or at "".
        copy_wanted: Continue in a copy of a read-only session.
    """

    submitted = Signal(str)
    stop_wanted = Signal()
    check_wanted = Signal()
    settings_wanted = Signal(str)
    copy_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._ready = True
        self._read_only = False
        self._elsewhere = False
        self._running = False
        self._lent_to: QPushButton | None = None
        self._locked = False
        self._focus_waits = False
        self._waiting = ""
        self.note = QLabel(self)
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.note.setWordWrap(True)
        self.note.hide()
        self.reason = ReasonBox(theme, self)
        self.reason.hide()
        self.read_only = ReadOnlyBox(theme, self)
        self.read_only.hide()
        self._frame = _Frame(theme, self)
        self.field = MessageInput(self._frame)
        self.send_button = self._button(self.tr("Send the message (Enter)"), self.tr("Send"))
        self.stop_button = self._button(self.tr("Stop the reply (Esc)"), self.tr("Stop the reply"))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._arrange()
        self._connect()
        self._dress()

    # ------------------------------------------------------------------------------ content
    @property
    def text(self) -> str:
        """The typed text."""
        return self.field.toPlainText()

    def set_text(self, text: str) -> None:
        """Replace the text of the field and move the cursor to its end."""
        self.field.setPlainText(text)
        cursor = self.field.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        self.field.setTextCursor(cursor)

    def give_back(self, text: str) -> None:
        """Put back a message that was not accepted; text typed since stays below it."""
        if not text:
            return
        typed = self.text
        self.set_text(f"{text}\n{typed}" if typed.strip() else text)

    def clear(self) -> None:
        """Empty the field."""
        self.field.clear()

    def take_out(self, text: str) -> None:
        """Remove a message that was accepted; text typed after it stays.

        If Enter was pressed before the message was accepted, that text is submitted now.
        """
        if self.text.startswith(text):
            self.set_text(self.text.removeprefix(text))
        following, self._waiting = self._waiting.removeprefix(text), ""
        if following.strip():
            self.submitted.emit(following)

    # -------------------------------------------------------------------------------- state
    def set_note(self, note: str) -> None:
        """Show where an answer goes, "" for nothing."""
        self.note.setText(note)
        self.note.setVisible(bool(note))

    def set_readiness(self, readiness: ChatReadiness, *, about_model: bool = True) -> None:
        """Enable sending, or show what is missing."""
        self._ready = readiness.ready
        in_field = self.field.hasFocus()
        lent = self._lent_to is not None and self._lent_to.hasFocus()
        if not readiness.ready:
            self.reason.show_reason(readiness, about_model=about_model)
        self._show_reason()
        if in_field and not readiness.ready:
            self._lent_to = (
                self.reason.first_button
            )  # disabling the field would move the focus to the rail
            self._lent_to.setFocus()
        self._update()
        if (self._focus_waits or lent) and readiness.ready:
            self.field.setFocus()
        self._focus_waits = False
        if readiness.ready:
            self._lent_to = None

    def set_read_only(self, reason: str, command: str = "") -> None:
        """Make the composer read-only for this reason, or writable for ""; keep the typed text.

        Args:
            reason: The reason as display text.
            command: The command that continues in another program; "" if a copy does.
        """
        had_focus = self.field.hasFocus() or self.read_only.button.hasFocus()
        self.read_only.show_reason(reason, command)
        self._elsewhere = bool(command)
        self._show_reason()
        if bool(reason) == self._read_only:
            return
        self._read_only = bool(reason)
        self.setFocusProxy(self.read_only.button if reason else self.field)
        if reason:
            self.read_only.show()
            if had_focus:
                self.read_only.button.setFocus()
        self._update()
        self._frame.setVisible(not reason)
        if not reason:
            if had_focus:
                self.field.setFocus()
            self.read_only.hide()

    def _show_reason(self) -> None:
        """Show what is missing, unless the read-only box already refers to another program."""
        self.reason.setVisible(not self._ready and not self._elsewhere)

    def take_focus(self) -> None:
        """Focus the field; if it is disabled, as soon as a check enables it."""
        (self.read_only.button if self._read_only else self.field).setFocus()
        self._focus_waits = not self._ready

    def set_running(self, running: bool) -> None:  # noqa: FBT001 - a state of one meaning
        """Show Stop while a reply is written."""
        self._running = running
        self._update()

    def set_locked(self, locked: bool) -> None:  # noqa: FBT001 - a state of one meaning
        """Accept no second message while the first is being submitted."""
        self._locked = locked
        if locked:
            self._waiting = ""
        self._update()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._running:
            self.stop_wanted.emit()
        else:
            super().keyPressEvent(event)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._ready:
            self.check_wanted.emit()

    @override
    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self.check_wanted.emit()
        super().changeEvent(event)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.FocusIn, QEvent.Type.FocusOut}:
            self._frame.focused = event.type() == QEvent.Type.FocusIn
            self._frame.update()
        return False

    def _submit(self) -> None:
        if self._locked:
            self._waiting = self.text
        elif self._ready and not self._read_only and self.text.strip():
            self.submitted.emit(self.text)

    def _update(self) -> None:
        usable = self._ready and not self._read_only
        self.field.setEnabled(usable)
        self._frame.setEnabled(usable)
        self.send_button.setEnabled(usable and not self._locked and bool(self.text.strip()))
        colours = self._theme.palette
        colour = colours.accent if self.send_button.isEnabled() else colours.disabled_text
        self.send_button.setIcon(tinted_icon("send", colour))
        self.stop_button.setVisible(self._running)
        words, more = self.tr("Write a message…"), ""
        if not usable:
            words = self.reason.title.text()
        elif self._running:
            words = self.tr("Write the next message. It is sent after the reply…")
            more = self.tr("To steer the reply in progress, type /steer and a message.")
        self.field.setPlaceholderText(words)
        self.field.setToolTip(more)
        self.field.setAccessibleDescription(more if usable else words)

    def _arrange(self) -> None:
        row = QHBoxLayout(self._frame)
        row.setContentsMargins(QMargins(8, 4, 6, 4))
        row.setSpacing(4)
        row.addWidget(self.field, 1)
        for button in (self.stop_button, self.send_button):
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignBottom)
        inner = QVBoxLayout()
        inner.setSpacing(6)
        for widget in (self.reason, self.note, self.read_only, self._frame):
            inner.addWidget(widget)
        put_in_middle(self, inner, top=8, bottom=14)

    def _connect(self) -> None:
        self.field.send_wanted.connect(self._submit)
        self.field.textChanged.connect(self._update)
        self.field.installEventFilter(self)
        self.send_button.clicked.connect(self._submit)
        self.stop_button.clicked.connect(self.stop_wanted)
        for button in (self.send_button, self.stop_button):  # both may hide while focused
            button.clicked.connect(self.take_focus)
        self.reason.check_wanted.connect(self.check_wanted)
        self.reason.settings_wanted.connect(self.settings_wanted)
        self.read_only.copy_wanted.connect(self.copy_wanted)
        self._theme.changed.connect(self._dress)
        self.setFocusProxy(self.field)

    def _button(self, tip: str, name: str) -> QToolButton:
        button = QToolButton(self._frame)
        button.setToolTip(tip)
        button.setAccessibleName(name)
        button.setAutoRaise(True)
        button.setIconSize(icon_size())
        button.setFixedSize(32, 32)
        return button

    def _dress(self) -> None:
        colours = self._theme.palette
        self._update()
        self.stop_button.setIcon(tinted_icon("stop", colours.text))
        tint(self.note, colours.secondary_text)
        self._frame.update()
