"""The permanent strip: another gateway, the reason for a stopped one, or work that does not run."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.core.events import GatewayStatusChanged, HostingRefusal, UndoneWork
from hermes_desktop.ui.widgets.notice_presenter import level_colour, paint_strip
from hermes_desktop.ui.widgets.resource_files import icon, icon_size, pixmap
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, Theme
from hermes_desktop.ui.words.gateway_words import attached_text, plain, undone_text


class GatewayBanner(QWidget):
    """One strip above the page; once closed, it stays hidden until its subject changes.

    Signals:
        wanted: Carries the command of its button: ``take_over``, ``give_up``, ``insist`` or
            ``start``.
        page_wanted: Open the page with the details.
    """

    wanted = Signal(str)
    page_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._level = "info"
        self._icon_name = "info"
        self._name = ""
        self._matter: object = None
        self._closed_matter: object = None
        self._icon = QLabel()
        self.words = LeadingLabel()
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.action = QPushButton()
        self.more = QPushButton(self.tr("Details…"))
        for button in (self.action, self.more):
            button.setAutoDefault(False)
        self.close_button = QToolButton()
        self.close_button.setAutoRaise(True)
        self.close_button.setIconSize(icon_size())
        self.close_button.setAccessibleName(self.tr("Dismiss"))
        self.close_button.setToolTip(self.tr("Close"))
        self._arrange()
        self.action.clicked.connect(lambda: self.wanted.emit(self._name))
        self.more.clicked.connect(self.page_wanted)
        self.close_button.clicked.connect(self._close)
        theme.changed.connect(self._colour)
        self.hide()

    def show_status(
        self, status: GatewayStatusChanged, *, now: float, busy: str = "", told: bool = False
    ) -> None:
        """Show the status of the gateway.

        Args:
            status: The status.
            now: Seconds since the epoch.
            busy: The command in progress, "" for none.
            told: Whether the visible page already shows the same.
        """
        self._name = ""
        if status.state == "attached":
            self._say_attached(status, now, busy)
        elif status.state == "stopped" and status.refusal is not None and not busy:
            self._say_refusal(status.refusal)
        elif status.offers_start and not busy:
            self._say_offer(status.detail)
        elif status.undone is not None and status.state != "stopping":
            self._say_undone(status.undone)
        else:
            self._matter = None
            self._closed_matter = None
        wanted = self._matter is not None and self._matter != self._closed_matter
        self.setVisible(wanted and not told)
        self._colour()

    def _say_attached(self, status: GatewayStatusChanged, now: float, busy: str) -> None:
        other = status.other
        self._matter = ("attached", other.pid if other else 0, busy, status.undone)
        self._level, self._icon_name = "info", "link"
        if busy == "take_over":
            self._name = "give_up"
            words = plain(status.detail) or self.tr("Asking the other gateway to stop…")
            self._say(words, self.tr("Stop waiting"))
        else:
            self._name = "take_over"
            undone = [undone_text(status.undone)] if status.undone is not None else []
            self._say(" ".join([attached_text(other, now), *undone]), self.tr("Take over…"))

    def _say_refusal(self, refusal: HostingRefusal) -> None:
        self._matter = refusal
        self._level = self._icon_name = "warning"
        self._name = "insist" if refusal.may_insist else ""
        words = " ".join(filter(None, (refusal.title, refusal.detail)))
        self._say(plain(words), self.tr("Start anyway…"))

    def _say_offer(self, why: str) -> None:
        self._matter = ("offer", why)
        self._level = self._icon_name = "info"
        self._name = "start"
        self._say(plain(why), self.tr("Start the gateway"))

    def _say_undone(self, undone: UndoneWork) -> None:
        self._matter = undone
        self._level = self._icon_name = "warning"
        self._say(undone_text(undone), "")

    def _say(self, words: str, action: str) -> None:
        self.words.setText(words)
        self.setAccessibleName(words)
        self.action.setText(action)
        self.action.setVisible(bool(self._name))

    def _close(self) -> None:
        self._closed_matter = self._matter
        self.hide()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        paint_strip(self, self._theme.palette, self._level)

    def _arrange(self) -> None:
        buttons = QHBoxLayout()
        buttons.setSpacing(SPACE_8)
        buttons.addWidget(self.action)
        buttons.addWidget(self.more)
        line = QHBoxLayout()
        line.setSpacing(SPACE_8)
        line.addWidget(self._icon)
        line.addWidget(self.words, 1)
        line.addLayout(buttons)
        line.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_12, SPACE_8, SPACE_8, SPACE_8)
        column.addLayout(line)

    def _colour(self) -> None:
        if self.isHidden():
            return
        palette = self._theme.palette
        edge, ratio = icon_size().width(), self.devicePixelRatioF()
        self._icon.setPixmap(
            pixmap(self._icon_name, level_colour(palette, self._level), edge, ratio)
        )
        self.close_button.setIcon(icon("close", palette))
        self.update()
