"""The page of platforms: the gateway, what it serves, who asks to be let in, and who was."""

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
from hermes_desktop.ui.gateway.pairing_commands import People
from hermes_desktop.ui.gateway.people_list import Offer, PeopleList
from hermes_desktop.ui.gateway.platform_list import PlatformList
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.section_parts import Block, QuietLabel, words_label
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_16, SPACE_24, Theme
from hermes_desktop.ui.words.gateway_words import serves
from hermes_desktop.ui.words.platform_words import distances

_MOST_WIDTH = 860
SETUP_COMMAND = "hermes gateway setup"


class NoPlatforms(Block):
    """What stands in the place of the list while no platform is set up.

    Signals:
        setup_wanted: To set one up here.
        copy_wanted: The command that sets one up.
    """

    setup_wanted = Signal()
    copy_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.title = words_label()
        self.words = QuietLabel(theme)
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
        """Say why nothing is listed.

        Args:
            known: The gateway runs and has none; else nobody has looked yet.
        """
        setup = self.tr(
            "Telegram is set up here; others by “{command}” in a terminal, for “hermes”."
        ).format(command=SETUP_COMMAND)
        if known:
            self.title.setText(self.tr("No messaging platform is set up."))
            words = self.tr("With one, you reach Hermes from your phone. {setup}")
            self.words.setText(words.format(setup=setup))
        else:
            self.title.setText(self.tr("The platforms appear here once the gateway runs."))
            self.words.setText(setup)


class PlatformsPage(QWidget):
    """Shows what it is told; everything a person wants leaves as a signal.

    Signals:
        gateway_wanted: What :meth:`GatewayCommands.run` understands.
        setup_wanted: To set up a platform in the settings.
        copy_wanted: Text for the clipboard.
        approve_wanted: A request. ``deny_wanted`` likewise.
        revoke_wanted: A person.
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
        self.requests = PeopleList(
            (
                Offer(self.tr("Approve"), self.tr("Approve {name}"), self.approve_wanted.emit),
                Offer(self.tr("Deny"), self.tr("Deny {name}"), self.deny_wanted.emit),
            ),
            verb=self.tr("asked"),
            nothing=self.tr("Nobody asks. Who writes to the bot for the first time appears here."),
            theme=theme,
        )
        self.people = PeopleList(
            (Offer(self.tr("Revoke…"), self.tr("Revoke {name}"), self.revoke_wanted.emit),),
            verb=self.tr("let in"),
            nothing=self.tr(
                "Nobody was let in by request. People named in the configuration are not listed."
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
        """Follow the gateway.

        Args:
            status: How it is.
            now: Seconds since the epoch.
            busy: What is being done to it, "" for nothing.
            replies: How many run for platforms.
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
            self.focus_first()  # what had it is gone or off; it must not fall out of the page

    def show_people(self, people: People, now: float) -> None:
        """Show who asks and who was let in."""
        self.requests.show_people(people.pending, now)
        self.people.show_people(people.approved, now)
        for part in self._people_parts:
            part.show()
        self._order_tabs()

    def tell_ages(self, status: GatewayStatusChanged, now: float) -> None:
        """Say anew how long ago things were; the status is the one that is shown."""
        self.card.tell_since(status, now)
        platforms = status.other.platforms if status.other is not None else status.platforms
        self.list.tell_ages(platforms, now)
        self.requests.tell_ages(now)
        self.people.tell_ages(now)

    def moments(self, status: GatewayStatusChanged, now: float) -> list[float]:
        """Seconds from now to each moment that the page tells."""
        platforms = status.other.platforms if status.other is not None else status.platforms
        ages = distances(platforms, now) + self.requests.ages(now) + self.people.ages(now)
        if status.other is not None and status.other.started_at is not None:
            ages.append(status.other.started_at - now)
        return ages

    def step_back(self) -> bool:
        """Undo the nearest thing that Esc can undo here; False when there is none."""
        searched = bool(self.list.search.text())
        self.list.search.clear()
        return searched

    def focus_first(self) -> None:
        """Put the focus where one begins: never on what stops something."""
        for name in ("insist", "start", "take_over", "give_up"):
            button = self.card.buttons[name]
            if button.isEnabled() and not button.isHidden():
                button.setFocus(Qt.FocusReason.ShortcutFocusReason)
                return
        first = self.list.table if not self.list.isHidden() else self.area
        first.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _order_tabs(self) -> None:
        """From top to bottom: lines that come later would else be reached last."""
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
        column.addWidget(words_label(self.tr("Platforms"), share=1.25))
        column.addSpacing(SPACE_4)
        column.addWidget(self.card)
        self._list_title = _heading(self.tr("Messaging platforms"))
        for widget in (self._list_title, self.list, self.empty):
            column.addWidget(widget)
        self._people_parts = [
            _heading(self.tr("Requests to be let in")),
            self.requests,
            _heading(self.tr("People who were let in")),
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
    label = words_label(text)
    label.setContentsMargins(0, SPACE_16, 0, 0)
    return label
