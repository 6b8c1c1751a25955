"""The platforms page: the gateway, its platforms, pairing requests, and approved senders."""

from itertools import pairwise

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtGui import QKeySequence, QPalette, QShortcut
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from hermes_desktop.core.events import GatewayStatusChanged
from hermes_desktop.ui.gateway.gateway_card import GatewayCard
from hermes_desktop.ui.gateway.gateway_protocols import PairingLists
from hermes_desktop.ui.gateway.people_list import Offer, SenderList
from hermes_desktop.ui.gateway.platform_list import PlatformList
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.section_parts import Block, SecondaryLabel, heading_label
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_16, SPACE_24, Theme
from hermes_desktop.ui.words.gateway_words import serves
from hermes_desktop.ui.words.platform_words import distances

_MOST_WIDTH = 860
SETUP_COMMAND = "hermes gateway setup"


class NoPlatforms(Block):
    """The placeholder for the list while no platform is configured.

    Signals:
        setup_wanted: Set up a platform here.
        copy_wanted: Carries the command that sets one up.
    """

    setup_wanted = Signal()
    copy_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.title = heading_label()
        self.words = SecondaryLabel(theme)
        self.setup = QPushButton(self.tr("Set up a platform…"), self)
        self.setup.setAutoDefault(False)
        self.setup.clicked.connect(self.setup_wanted)
        self.copy = QPushButton(self.tr("Copy the command"), self)
        self.copy.setAutoDefault(False)
        self.copy.clicked.connect(lambda: self.copy_wanted.emit(SETUP_COMMAND))
        row = QHBoxLayout()
        row.addWidget(self.setup)
        row.addWidget(self.copy)
        row.addStretch(1)
        for widget in (self.title, self.words):
            self.column.addWidget(widget)
        self.column.addLayout(row)

    def show_reason(self, *, known: bool) -> None:
        """Show why the list is empty.

        Args:
            known: Whether the gateway runs and has no platforms; otherwise they are not known yet.
        """
        setup = self.tr(
            "Set up Telegram here. For other platforms, use “hermes”: run “{command}” in a "
            "terminal."
        ).format(command=SETUP_COMMAND)
        if known:
            self.title.setText(self.tr("No messaging platform is set up."))
            words = self.tr("Connect one to reach Hermes from your phone. {setup}")
            self.words.setText(words.format(setup=setup))
        else:
            self.title.setText(self.tr("Platforms appear here when the gateway is running."))
            self.words.setText(setup)


class PlatformsPage(QWidget):
    """Shows the given state; requests of the user leave as signals.

    Signals:
        gateway_wanted: Carries a command for :meth:`GatewayCommands.run`.
        setup_wanted: Set up a platform in the settings.
        copy_wanted: Carries text for the clipboard.
        approve_wanted: Carries a request. ``deny_wanted`` likewise.
        revoke_wanted: Carries an approved sender.
    """

    gateway_wanted = Signal(str)
    setup_wanted = Signal()
    copy_wanted = Signal(str)
    approve_wanted = Signal(object)
    deny_wanted = Signal(object)
    revoke_wanted = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Platforms"))
        self.card = GatewayCard(theme)
        self.list = PlatformList(theme)
        self.empty = NoPlatforms(theme)
        self.requests = SenderList(
            (
                Offer(self.tr("Approve"), self.tr("Approve {name}"), self.approve_wanted.emit),
                Offer(self.tr("Deny"), self.tr("Deny {name}"), self.deny_wanted.emit),
            ),
            verb=self.tr("asked"),
            nothing=self.tr(
                "No pairing requests. People who write to the bot for the first time appear here."
            ),
            theme=theme,
        )
        self.people = SenderList(
            (Offer(self.tr("Revoke…"), self.tr("Revoke {name}"), self.revoke_wanted.emit),),
            verb=self.tr("approved"),
            nothing=self.tr(
                "No approved people. People named in the configuration are not listed."
            ),
            theme=theme,
        )
        self._people_parts: list[QWidget] = []
        self._arrange(theme)
        self.card.wanted.connect(self.gateway_wanted)
        self.empty.setup_wanted.connect(self.setup_wanted)
        self.empty.copy_wanted.connect(self.copy_wanted)
        QShortcut(QKeySequence.StandardKey.Find, self, self.list.open_search)

    def show_status(
        self, status: GatewayStatusChanged, *, now: float, busy: str = "", replies: int = 0
    ) -> None:
        """Show the status of the gateway.

        Args:
            status: The status.
            now: Seconds since the epoch.
            busy: The command in progress, "" for none.
            replies: How many replies to platforms are running.
        """
        had_focus = self._has_focus()
        self.card.show_status(status, now=now, busy=busy, replies=replies)
        platforms = status.other.platforms if status.other is not None else status.platforms
        ours = status.other is None
        self.list.show_platforms(platforms, now, ours=ours)
        self.list.setVisible(bool(platforms))
        self.empty.setVisible(not platforms and ours)
        self.empty.show_reason(known=serves(status) and status.state != "starting")
        self._list_title.setVisible(bool(platforms) or ours)
        if had_focus and not self._has_focus():
            self.focus_first()  # its widget was hidden or disabled; keep the focus on the page

    def show_people(self, people: PairingLists, now: float) -> None:
        """Show pairing requests and approved senders."""
        self.requests.show_people(people.pending, now)
        self.people.show_people(people.approved, now)
        for part in self._people_parts:
            part.show()
        self._order_tabs()

    def tell_ages(self, status: GatewayStatusChanged, now: float) -> None:
        """Refresh the texts on elapsed time; the status is the one that is shown."""
        self.card.refresh_since(status, now)
        platforms = status.other.platforms if status.other is not None else status.platforms
        self.list.tell_ages(platforms, now)
        self.requests.tell_ages(now)
        self.people.tell_ages(now)

    def moments(self, status: GatewayStatusChanged, now: float) -> list[float]:
        """Return the seconds from now to each moment that the page shows."""
        platforms = status.other.platforms if status.other is not None else status.platforms
        ages = distances(platforms, now) + self.requests.ages(now) + self.people.ages(now)
        if status.other is not None and status.other.started_at is not None:
            ages.append(status.other.started_at - now)
        return ages

    def step_back(self) -> bool:
        """Undo the nearest thing that Esc can undo here; return False if there is none."""
        searched = bool(self.list.search.text())
        self.list.search.clear()
        return searched

    def focus_first(self) -> None:
        """Put the focus on the first useful widget, never on one that stops something."""
        for name in ("insist", "start", "take_over", "give_up"):
            button = self.card.buttons[name]
            if button.isEnabled() and not button.isHidden():
                button.setFocus(Qt.FocusReason.ShortcutFocusReason)
                return
        first = self.list.table if not self.list.isHidden() else self.area
        first.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _order_tabs(self) -> None:
        """Set the tab order from top to bottom; otherwise rows added later would be last."""
        lines = [*self.requests.lines, *self.people.lines]
        stops: list[QWidget] = [
            *self.card.buttons.values(),
            self.empty.setup,
            self.empty.copy,
            *self.list.tab_stops,
            *(button for line in lines for button in line.buttons),
        ]
        for before, after in pairwise(stops):
            QWidget.setTabOrder(before, after)

    def _has_focus(self) -> bool:
        focused = self.window().focusWidget()
        if not self.isAncestorOf(focused):
            return False
        return focused.isVisibleTo(self) and focused.isEnabled()

    def _arrange(self, theme: Theme) -> None:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(QMargins(SPACE_24, SPACE_24, SPACE_24, SPACE_24))
        column.setSpacing(SPACE_8)
        column.addWidget(heading_label(self.tr("Platforms"), share=1.25))
        column.addSpacing(SPACE_4)
        column.addWidget(self.card)
        self._list_title = _heading(self.tr("Messaging platforms"))
        for widget in (self._list_title, self.list, self.empty):
            column.addWidget(widget)
        self._people_parts = [
            _heading(self.tr("Pairing requests")),
            self.requests,
            _heading(self.tr("Approved people")),
            self.people,
        ]
        for widget in self._people_parts:
            column.addWidget(widget)
            widget.hide()
        column.addStretch(1)
        content.setMaximumWidth(_MOST_WIDTH)
        holder = QWidget()
        middle = QHBoxLayout(holder)
        middle.setContentsMargins(QMargins())
        middle.addStretch(1)
        middle.addWidget(content, 1000)
        middle.addStretch(1)
        self.area = QScrollArea()
        self.area.setAccessibleName(self.tr("Platforms"))
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setWidget(holder)
        for widget in (self.area, holder, content, self):
            widget.setBackgroundRole(QPalette.ColorRole.Base)
        make_slim(self.area, theme)
        self.setAutoFillBackground(True)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(QMargins())
        outer.addWidget(self.area)


def _heading(text: str) -> QWidget:
    label = heading_label(text)
    label.setContentsMargins(0, SPACE_16, 0, 0)
    return label
