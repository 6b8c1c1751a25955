"""The part of the pane below the titles: search hits in messages."""

from typing import Literal

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QFont, QIcon, QKeyEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QListView,
    QProgressBar,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.core.clock import Clock
from hermes_desktop.state.search.search_records import SearchHit, SearchOutcome
from hermes_desktop.ui.sessions.hit_delegate import HitDelegate
from hermes_desktop.ui.sessions.hit_model import HitModel
from hermes_desktop.ui.sessions.message_search import MessageSearch
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.resource_files import icon
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_12, Theme
from hermes_desktop.ui.words.day_words import words_for

_LINE = 3
_LINE_AFTER_MS = 150

State = Literal["idle", "searching", "found", "nothing", "failed"]


class MessageHits(QWidget):
    """A list of hits, filled as they arrive.

    Args:
        search: The source of the hits.
        theme: Colors.
        clock: For "today".

    Signals:
        state_changed: There are hits, or certainly none, or no search is active.
        hit_chosen: Enter or a click on a hit; holds the :class:`SearchHit`.
        left_above: Up was pressed on the first hit.
        order_changed: True to sort by best match, False by the newest.
    """

    state_changed = Signal()
    hit_chosen = Signal(object)
    left_above = Signal()
    order_changed = Signal(bool)

    def __init__(
        self, search: MessageSearch, theme: Theme, clock: Clock, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._search = search
        self._theme = theme
        self._clock = clock
        self._state: State = "idle"
        self._over = True
        self._fresh = False
        self._known = 0
        """How many of the incoming hits are shown already."""
        self._model = HitModel(self)
        self.list = QListView()
        self._delegate = HitDelegate(theme, self.list)
        self._title = QLabel(self.tr("In messages"))
        self.best = QToolButton()
        self.line = QProgressBar()
        self._note = QLabel()
        self.more = QPushButton(self.tr("Show more"))
        self._slow = QTimer(self, singleShot=True, interval=_LINE_AFTER_MS)
        self._arrange()
        self._connect()
        self._colour()
        self.hide()

    @property
    def state(self) -> State:
        """The state of the search."""
        return self._state

    @property
    def over(self) -> bool:
        """Whether the search for the text has ended, successfully or not."""
        return self._over

    @property
    def model(self) -> HitModel:
        """The model of the hits."""
        return self._model

    def focus_first(self) -> bool:
        """Focus the list with the first hit selected; return False if there is none."""
        if not self._model.rowCount() or self.isHidden():
            return False
        self.list.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if not self.list.currentIndex().isValid():
            self.list.setCurrentIndex(self._model.index(0, 0))
        return True

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle keys of the list: Enter opens a hit, Up from the first row leaves the list."""
        if watched is not self.list or not isinstance(event, QKeyEvent):
            return False
        if event.type() != QEvent.Type.KeyPress:
            return False
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(self.list.currentIndex())
            return True
        if event.key() == Qt.Key.Key_Up and self.list.currentIndex().row() <= 0:
            self.list.clearSelection()
            self.list.setCurrentIndex(QModelIndex())
            self.left_above.emit()
            return True
        return False

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QPen(self._theme.palette.separator))
        painter.drawLine(self.rect().topLeft(), self.rect().topRight())

    # --------------------------------------------------------------------------------- results

    def _changed(self) -> None:
        """Handle another query; the shown hits are stale until the first new hit arrives."""
        looking = self._search.query is not None
        self._over = not looking
        self._fresh = True
        self._slow.stop()
        self.line.hide()
        self.more.hide()
        self._say("")
        self._grey(stale=looking)
        if not looking:
            self._model.begin_anew((), words_for(self._clock.time()))
        self._become("searching" if looking else "idle")

    def _began(self, continued: bool) -> None:  # noqa: FBT001 - a slot
        self._over = False
        self._fresh = not continued
        self._known = self._model.rowCount() if continued else 0
        self._slow.start()
        self.more.hide()

    def _found(self, hits: tuple[SearchHit, ...]) -> None:
        self._grey(stale=False)
        if self._fresh:
            self._fresh = False
            self._model.begin_anew(hits, words_for(self._clock.time()))
        else:
            self._model.add(hits[self._known :])
            self._known = max(self._known - len(hits), 0)
        self._become("found")

    def _ended(self, outcome: SearchOutcome | None) -> None:
        self._over = True
        self._slow.stop()
        self.line.hide()
        self._grey(stale=False)
        if self._fresh:
            self._fresh = False
            self._model.begin_anew((), words_for(self._clock.time()))
        if outcome is None:
            self._say(self.tr("The message search failed."))
            self._become("failed")
            return
        self.more.setVisible(outcome.more)
        self._say(outcome.notice.text if outcome.notice is not None else "")
        if not outcome.hits:
            self._say(self.tr("No messages match."))
        self._become("found" if outcome.hits else "nothing")

    def _become(self, state: State) -> None:
        self._state = state
        self.list.setVisible(bool(self._model.rowCount()))
        self.state_changed.emit()

    def _say(self, words: str) -> None:
        self._note.setText(words)
        self._note.setVisible(bool(words))

    def _grey(self, *, stale: bool) -> None:
        self._delegate.stale = stale
        self.list.viewport().update()

    def _choose(self, index: QModelIndex) -> None:
        hit = self._model.hit_at(index)
        if hit is not None and not self._delegate.stale:
            self.hit_chosen.emit(hit)

    # ---------------------------------------------------------------------------- construction

    def _arrange(self) -> None:
        font = QFont(self._title.font())
        font.setWeight(QFont.Weight.DemiBold)
        font.setPointSizeF(font.pointSizeF() * 0.9)
        self._title.setFont(font)
        self.best.setText(self.tr("Best match"))
        self.best.setCheckable(True)
        self.best.setAutoRaise(True)
        self.best.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.best.setToolTip(self.tr("Sort by best match instead of newest"))
        self.line.setRange(0, 0)
        self.line.setTextVisible(False)
        self.line.setFixedHeight(_LINE)
        self.line.setAccessibleName(self.tr("Searching the messages"))
        self.line.hide()
        self._note.setWordWrap(True)
        self._note.setTextFormat(Qt.TextFormat.PlainText)
        self._note.setContentsMargins(SPACE_12, SPACE_4, SPACE_12, SPACE_8)
        self._note.hide()
        self.more.setAutoDefault(False)
        self.more.setFlat(True)
        self.more.hide()
        self._set_up_list()
        head = QHBoxLayout()
        head.setContentsMargins(SPACE_12, SPACE_4, SPACE_8, SPACE_4)
        head.addWidget(self._title, 1)
        head.addWidget(self.best)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 1, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.line)
        column.addWidget(self._note)
        column.addWidget(self.list, 1)
        column.addWidget(self.more)

    def _set_up_list(self) -> None:
        view = self.list
        view.setModel(self._model)
        view.setItemDelegate(self._delegate)
        view.setAccessibleName(self.tr("Found messages"))
        view.setFrameShape(QFrame.Shape.NoFrame)
        view.setMouseTracking(True)
        view.setUniformItemSizes(True)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.installEventFilter(self)
        make_slim(view, self._theme)

    def _connect(self) -> None:
        self._search.changed.connect(self._changed)
        self._search.began.connect(self._began)
        self._search.found.connect(self._found)
        self._search.ended.connect(self._ended)
        self._slow.timeout.connect(self.line.show)
        self.list.clicked.connect(self._choose)
        self.more.clicked.connect(self._search.more)
        self.best.toggled.connect(self._colour)
        self.best.toggled.connect(self.order_changed)
        self._theme.changed.connect(self._colour)

    def _colour(self) -> None:
        ticked = self.best.isChecked()
        self.best.setIcon(icon("check", self._theme.palette) if ticked else QIcon())
        for label in (self._title, self._note):
            tint(label, self._theme.palette.secondary_text)
        palette = QPalette(QApplication.palette())
        for group in (QPalette.ColorGroup.Active, QPalette.ColorGroup.Inactive):
            palette.setColor(group, QPalette.ColorRole.Highlight, palette.base().color())
        self.list.setPalette(palette)
        self.list.viewport().update()
