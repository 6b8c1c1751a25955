"""The tray icon, its appearance for each state, and its menu."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QElapsedTimer, QObject, Signal
from PySide6.QtGui import QAction, QIcon
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from hermes_desktop.core.events import GatewayStatusChanged, Notice, NoticeCleared
from hermes_desktop.state.records.records import SessionSummary
from hermes_desktop.ui.shell.tray_host_watch import TrayHostWatch
from hermes_desktop.ui.widgets.resource_files import plain_icon
from hermes_desktop.ui.words.gateway_words import (
    allowed,
    listed,
    plain,
    requests_text,
    shape_of,
    status_text,
)
from hermes_desktop.ui.words.platform_words import state_shape
from hermes_desktop.ui.words.source_names import source_name

log = logging.getLogger(__name__)

RECENT_SESSIONS = 5
APPROVALS_OFF = "Approvals are off"
_LONGEST_LABEL = 48


@dataclass(frozen=True, slots=True)
class TrayAppearance:
    """The visible parts of the tray icon.

    Attributes:
        icon: Name of the drawing; each state has its own shape.
        tooltip: Plain text, one or a few short lines.
        status_line: First line of the menu, which cannot be clicked.
    """

    icon: str
    tooltip: str
    status_line: str


def tray_face(
    status: GatewayStatusChanged,
    problem: Notice | None = None,
    requests: int = 0,
    waiting: int = 0,
    *,
    approvals_off: bool = False,
) -> TrayAppearance:
    """Return icon, tooltip and status line.

    Args:
        status: The last status of the gateway.
        problem: The oldest error that is still shown in the window, if any; it needs attention.
        requests: How many pairing requests there are; they need attention, too.
        waiting: How many questions of the assistant await an answer, likewise.
        approvals_off: Whether the assistant asks nothing, in every chat.
    """
    words = status_text(status)
    lines = [f"Hermes: {words[0].lower()}{words[1:]}", *_troubles(status)]
    if status.offers_start:
        lines.append(plain(status.detail))
    if requests:
        lines.append(requests_text(requests))
    if waiting and not status.waiting_turns:  # otherwise the first line says so
        lines.append(waiting_text(waiting))
    if approvals_off:
        lines.append(APPROVALS_OFF)
    icon = f"tray-{shape_of(status)}"
    if problem is not None:
        return TrayAppearance("tray-attention", "\n".join([*lines, problem.title]), problem.title)
    needs_you = requests or waiting
    return TrayAppearance("tray-attention" if needs_you else icon, "\n".join(lines), words)


def waiting_text(count: int) -> str:
    """Return a sentence on how many questions await an answer."""
    if count == 1:
        return "The assistant is waiting for your answer"
    return f"The assistant is waiting for {count} answers"


def menu_label(text: str) -> str:
    """Shorten a title for a menu, and keep its ampersands from becoming key hints."""
    line = " ".join(text.split()) or "Untitled session"
    if len(line) > _LONGEST_LABEL:
        line = line[: _LONGEST_LABEL - 1].rstrip() + "…"
    return line.replace("&", "&&")


def _troubles(status: GatewayStatusChanged) -> list[str]:
    """Return the platforms that do not work, in one line."""
    names = [source_name(p.name) for p in status.platforms if state_shape(p) == "attention"]
    return [f"{listed(names)} {'does' if len(names) == 1 else 'do'} not work"] if names else []


_DOUBLE_TRIGGER_MS = 400
_MESSAGE_MS = 10_000


class Tray(QObject):
    """Shows the state of the gateway and gives access to the window.

    ``QSystemTrayIcon.isVisible`` is true without any tray, and an icon created before its host
    never appears. The presence of a host is therefore checked whenever it may have changed, and the
    icon is created again when one appears.

    Args:
        tray_available: Returns whether there is a host for tray icons now.

    Signals:
        gateway_wanted: Carries a gateway command: ``start``, ``stop``, ``restart`` or
            ``take_over``.
        platforms_wanted: Show the platforms page, where requests are answered.
        settings_wanted: Show the settings page.
    """

    show_requested = Signal()
    toggle_requested = Signal()
    new_chat_requested = Signal()
    session_requested = Signal(str)
    quit_requested = Signal()
    available_changed = Signal(bool)
    gateway_wanted = Signal(str)
    platforms_wanted = Signal()
    settings_wanted = Signal()
    _told_of = "platforms"

    def __init__(
        self,
        *,
        tray_available: Callable[[], bool] = QSystemTrayIcon.isSystemTrayAvailable,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._tray_available = tray_available
        self._available = False
        self._closed = False
        self._icon: QSystemTrayIcon | None = None
        self._status = GatewayStatusChanged("stopped")
        self._problems: dict[str, Notice] = {}
        self._requests = 0
        self._waiting = 0
        self._approvals_off = False
        self._face = tray_face(self._status)
        self._since_trigger = QElapsedTimer()
        self._menu = QMenu()
        self._fill_menu()
        self._watch = TrayHostWatch(parent=self)
        self._watch.may_have_changed.connect(self.look)
        self.look()

    def _fill_menu(self) -> None:
        """Create the entries of the menu once; later only their texts and states change."""
        self._status_action = self._menu.addAction(self._face.status_line)
        self._status_action.setEnabled(False)
        self._requests_action = self._menu.addAction("", self.platforms_wanted.emit)
        self._requests_action.setVisible(False)
        self._waiting_action = self._menu.addAction("", self.show_requested.emit)
        self._waiting_action.setVisible(False)
        self._approvals_action = self._menu.addAction(
            self.tr(APPROVALS_OFF), self.settings_wanted.emit
        )
        self._approvals_action.setVisible(False)
        self._undone_action = self._menu.addAction(
            self.tr("Work not running…"), self.platforms_wanted.emit
        )
        self._undone_action.setVisible(False)
        self._menu.addSeparator()
        self._menu.addAction(self.tr("Show Hermes"), self.show_requested.emit)
        self._menu.addAction(self.tr("New chat"), self.new_chat_requested.emit)
        self._recent_menu = self._menu.addMenu(self.tr("Recent"))
        self._recent_actions = [self._add_recent() for _ in range(RECENT_SESSIONS)]
        self._recent_menu.setEnabled(False)
        self._menu.addSeparator()
        self._gateway_actions = {
            "start": self._add_for_gateway(self.tr("Start gateway"), "start"),
            "stop": self._add_for_gateway(self.tr("Stop gateway…"), "stop"),
            "restart": self._add_for_gateway(self.tr("Restart gateway…"), "restart"),
            "take_over": self._add_for_gateway(self.tr("Take over the gateway…"), "take_over"),
        }
        self._show_allowed()
        self._menu.addSeparator()
        self._menu.addAction(self.tr("Settings…"), self.settings_wanted.emit)
        self._menu.addAction(self.tr("Quit"), self.quit_requested.emit)

    @property
    def available(self) -> bool:
        """Whether the icon is visible to the user."""
        return self._available

    @property
    def face(self) -> TrayAppearance:
        """What the icon shows now."""
        return self._face

    @property
    def menu(self) -> QMenu:
        """The menu; it lives as long as the tray."""
        return self._menu

    def look(self) -> None:
        """Check whether there is a tray host, and create or remove the icon if that changed."""
        available = self._tray_available()
        if available == self._available:
            return
        self._available = available
        log.info("Tray host %s", "found" if available else "gone")
        self._drop_icon()
        if available:
            self._make_icon()
        self.available_changed.emit(available)

    def show_status(self, status: GatewayStatusChanged) -> None:
        """Show the status of the gateway."""
        self._status = status
        if not self._closed:
            self._undone_action.setVisible(status.undone is not None)
        self._refresh()
        self._show_allowed()

    def show_requests(self, count: int) -> None:
        """Show how many pairing requests there are."""
        self._requests = count
        if not self._closed:
            self._requests_action.setText(f"{requests_text(count)}…")
            self._requests_action.setVisible(count > 0)
            self._refresh()

    def show_waiting(self, count: int) -> None:
        """Show how many questions of the assistant await an answer."""
        self._waiting = count
        if not self._closed:
            self._waiting_action.setText(f"{waiting_text(count)}…")
            self._waiting_action.setVisible(count > 0)
            self._refresh()

    def show_approvals(self, off: bool) -> None:  # noqa: FBT001 - a slot
        """Show whether approvals are off in every chat."""
        self._approvals_off = off
        if not self._closed:
            self._approvals_action.setVisible(off)
            self._refresh()

    def tell_of_question(self, title: str, words: str) -> None:
        """Notify as :meth:`tell` does; a click opens the window."""
        self.tell(title, words)
        self._told_of = "window"

    def tell(self, title: str, words: str) -> None:
        """Show a desktop notification, if there is an icon to send it from.

        Args:
            title: A few words.
            words: Plain text; nothing in it is interpreted as markup.
        """
        self._told_of = "platforms"
        if self._icon is not None:
            self._icon.showMessage(title, _without_markup(words), self._icon.icon(), _MESSAGE_MS)

    def note_problem(self, notice: Notice) -> None:
        """Mark the icon for an error; other notices do not affect the tray."""
        if notice.level == "error":
            self._problems[notice.key or notice.title] = notice
            self._refresh()

    def note_settled(self, cleared: NoticeCleared) -> None:
        """Drop an error that is resolved or was closed."""
        if self._problems.pop(cleared.key, None) is not None:
            self._refresh()

    def show_recent(self, sessions: Sequence[SessionSummary]) -> None:
        """Show the latest sessions; actions change in place, the menu is never rebuilt."""
        if self._closed:
            return
        shown = list(sessions[:RECENT_SESSIONS])
        for position, action in enumerate(self._recent_actions):
            session = shown[position] if position < len(shown) else None
            action.setVisible(session is not None)
            if session is not None:
                action.setText(menu_label(session.title or session.preview))
                action.setData(session.id)
        self._recent_menu.setEnabled(bool(shown))

    def close(self) -> None:
        """Remove the icon immediately, so that it cannot be clicked while the program ends."""
        self._closed = True
        self._watch.close()
        self._drop_icon()
        self._menu.deleteLater()

    def _refresh(self) -> None:
        problem = next(iter(self._problems.values()), None)
        face = tray_face(
            self._status,
            problem,
            self._requests,
            self._waiting,
            approvals_off=self._approvals_off,
        )
        if face == self._face or self._closed:
            return
        self._face = face
        self._status_action.setText(menu_label(face.status_line))
        if self._icon is not None:
            self._icon.setIcon(_tray_icon(face.icon))
            self._icon.setToolTip(face.tooltip)

    def _make_icon(self) -> None:
        icon = QSystemTrayIcon(_tray_icon(self._face.icon), self)
        icon.setToolTip(self._face.tooltip)
        icon.setContextMenu(self._menu)
        icon.activated.connect(self._activated)
        icon.messageClicked.connect(self._message_clicked)
        icon.show()
        self._icon = icon

    def _drop_icon(self) -> None:
        if self._icon is not None:
            self._icon.hide()
            self._icon.deleteLater()
            self._icon = None

    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        """Handle a click. Some hosts send Trigger twice, and Context for the menu."""
        if reason != QSystemTrayIcon.ActivationReason.Trigger:
            return
        if self._since_trigger.isValid() and self._since_trigger.elapsed() < _DOUBLE_TRIGGER_MS:
            return
        self._since_trigger.start()
        self.toggle_requested.emit()

    def _message_clicked(self) -> None:
        if self._told_of == "window":
            self.show_requested.emit()
        else:
            self.platforms_wanted.emit()

    def _show_allowed(self) -> None:
        """Disable commands that are unavailable; taking over is shown only if it is possible."""
        if self._closed:
            return
        may = allowed(self._status)
        for name, action in self._gateway_actions.items():
            action.setEnabled(getattr(may, name))
        self._gateway_actions["take_over"].setVisible(may.take_over)

    def _add_for_gateway(self, words: str, name: str) -> QAction:
        return self._menu.addAction(words, lambda: self.gateway_wanted.emit(name))

    def _add_recent(self) -> QAction:
        action = self._recent_menu.addAction("")
        action.setVisible(False)
        action.triggered.connect(lambda: self.session_requested.emit(action.data()))
        return action


def _tray_icon(name: str) -> QIcon:
    return plain_icon(name)


def _without_markup(words: str) -> str:
    """Replace characters of markup: notification servers may or may not interpret it."""
    return words.translate({ord("<"): "‹", ord(">"): "›", ord("&"): "＆"})
