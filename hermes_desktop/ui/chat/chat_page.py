"""The page of one session: header, transcript, composer, and the coordination between them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from PySide6.QtCore import QMargins, QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeySequence, QPalette, QShortcut
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import HermesError, NotFoundError
from hermes_desktop.services.assembly.desktop_services import DesktopServices
from hermes_desktop.services.hosting.desktop_chat import beside_model_before
from hermes_desktop.ui.asking.sheet_container import SheetContainer, ShrinkableContainer
from hermes_desktop.ui.chat.composer import Composer
from hermes_desktop.ui.chat.composer_context import ComposerContext
from hermes_desktop.ui.chat.empty_page import EmptyPage
from hermes_desktop.ui.chat.header.chat_header import ChatHeader, ChatState
from hermes_desktop.ui.chat.header.context_watch import ContextUsageTracker
from hermes_desktop.ui.chat.header.session_text import facts_of, is_live, tip_of, title_of
from hermes_desktop.ui.chat.header.workplace_control import WorkplaceController
from hermes_desktop.ui.chat.header.workplace_text import first_folder
from hermes_desktop.ui.chat.link_confirmation import ask_to_open
from hermes_desktop.ui.chat.sending import Sending
from hermes_desktop.ui.chat.session_refresh import SessionRefresh
from hermes_desktop.ui.chat.shown_session import ShownSession
from hermes_desktop.ui.chat.turn_ledger import LedgerTurn, TurnLedger
from hermes_desktop.ui.chat.turn_news import TurnNews, replay
from hermes_desktop.ui.transcript.blocks.markdown_blocks import safe_link
from hermes_desktop.ui.transcript.transcript_view import TranscriptView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hermes_desktop.core.events import SessionsChanged, TurnFinished
    from hermes_desktop.services.assembly.desktop_services import DesktopServices
    from hermes_desktop.services.hosting.desktop_chat import ChatReadiness
    from hermes_desktop.state.records.records import SessionSummary
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots
    from hermes_desktop.ui.widgets.event_bridge import EventBridge
    from hermes_desktop.ui.widgets.theme import Theme


class ChatPage(QWidget):
    """The page of a session; messages typed here continue it, or start a new one.

    Attributes:
        sheets: The container for approvals and questions; add a sheet with ``add``.
        context: The context usage of the shown session.
        workplace: The working folder of the shown session, and how commands run there.

    Args:
        services: The services the page uses.
        slots: Runs coroutines that keys and clicks start.
        bridge: The events as signals.
        theme: Colors.
        clock: For times of running turns.
        open_address: Opens a link after the user agreed.

    Signals:
        session_opened: A new chat got its id.
        back_requested: The user wants to return to the list, in a narrow window.
        readiness_changed: A check of the settings returned this :class:`ChatReadiness`.
        menu_wanted: Open the menu of the shown session, at a global point.
        session_wanted: Show this session and focus the composer.
        title_changed: The title of the shown session changed; "" if none is shown.
        shown_changed: Another session is shown, or the new chat on the page got its id.
        drafts_changed: The drafts of the sessions that are not shown, by the root of each.
        undo_wanted: Undo turns of a session; holds its id, how many turns, and a message of the
            first of them instead of the number, or 0.
    """

    session_opened = Signal(str)
    back_requested = Signal()
    readiness_changed = Signal(object)
    menu_wanted = Signal(object)
    session_wanted = Signal(str)
    title_changed = Signal(str)
    shown_changed = Signal()
    drafts_changed = Signal(object)
    undo_wanted = Signal(str, int, int)

    def __init__(
        self,
        *,
        services: DesktopServices,
        slots: AsyncSlots,
        bridge: EventBridge,
        theme: Theme,
        clock: Clock | None = None,
        open_address: Callable[[str], object] | None = None,
    ) -> None:
        super().__init__()
        self._services = services
        self._slots = slots
        self._clock: Clock = clock or SystemClock()
        self._open_address = open_address or (lambda url: QDesktopServices.openUrl(QUrl(url)))
        self._workers = workers = WorkerThreads("ui-parse")
        self.destroyed.connect(lambda _=None: workers.close())
        self._shown = ShownSession(nothing=True)
        self._ledger = TurnLedger()
        self._model = ""
        self._checks_begun = self._check_shown = 0
        self._readiness: ChatReadiness | None = None
        self.header = ChatHeader(theme, self)
        self.view = TranscriptView(theme, workers, self)
        self.empty = EmptyPage(theme, self)
        self.composer = Composer(theme, self)
        self.place = ComposerContext(
            services.chat, services.gateway, self.composer, theme, slots=slots, bridge=bridge
        )
        self.sheets = SheetContainer(self)
        self._signs = LoadingIndicators(self.view)
        self._refresh = SessionRefresh(services.transcript, self.view, slots, lambda: self._shown)
        self.workplace = self._workplace_control()
        self._sending = self._sending_control()
        self._turns = TurnNews(self._ledger, self.view, self._clock, bridge, lambda: self._shown)
        self.context = ContextUsageTracker(
            services.figures, slots, bridge, lambda: self._shown, clock=self._clock, parent=self
        )
        self._stack = QStackedWidget()
        self._arrange()
        self._connect(bridge)
        self._show_nothing()

    def _workplace_control(self) -> WorkplaceController:
        return WorkplaceController(
            self._services,
            self.header,
            self._slots,
            current=lambda: self._shown,
            open_address=self._open_address,
            parent=self,
        )

    def _sending_control(self) -> Sending:
        return Sending(
            self._services.chat,
            self.composer,
            self._ledger,
            self._slots,
            current=lambda: self._shown,
            page=self,
            state=self._services.window_state,
            folder=self.workplace.folder_for_new,
        )

    # ------------------------------------------------------------------------------- public
    @property
    def current_session_id(self) -> str | None:
        """Id of the shown session, None for a new chat or an empty page."""
        return self._shown.id

    @property
    def shown_session(self) -> SessionSummary | None:
        """The row of the shown session, None for a new chat or an empty page."""
        return self._shown.summary

    @property
    def in_use(self) -> bool:
        """Whether the page shows a session or a new chat, or a message is being sent from it."""
        return not self._shown.nothing

    def close_session(self) -> None:
        """Empty the page after its session was deleted here. Its draft is kept for its return."""
        self._switch(ShownSession(nothing=True))
        self._signs.end()
        self._show_nothing()

    async def show_session(self, summary: SessionSummary, *, at: int | None = None) -> None:
        """Show a session. Showing it does not change it.

        The latest call wins: an earlier one that is still reading shows nothing.

        Args:
            summary: Its row.
            at: Row id of the message to scroll to; None for the end, or for the current position if
                the session is already shown.

        Raises:
            NotFoundError: The session is gone.
            StateError: It cannot be read.
        """
        shown = self._shown
        if shown.id is not None and summary.id in shown.ids and not shown.nothing:
            shown.take(summary)
            self._tell()
            if at is None:
                await self._refresh.refresh(shown)
            else:
                await self._open(shown, at=at)
            return
        shown = self._switch(ShownSession.of(summary))
        self._signs.begin()
        try:
            await self._open(shown, at=at)
        except HermesError:
            if shown is self._shown:
                self._signs.end()
                self._show_nothing()
            raise
        await self.look_at_settings()

    async def _open(self, shown: ShownSession, *, at: int | None = None) -> None:
        if await self._refresh.open(shown, at=at):
            self._stack.setCurrentWidget(self.view)
            replay(self.view, self._ledger.of(shown.ids))
            self._tell()
            self.context.follow()

    def new_chat(self) -> None:
        """Show an empty chat; nothing is stored before the first message."""
        self._switch(ShownSession())
        self._signs.end()
        self.view.clear()
        self._say_new()
        self._stack.setCurrentWidget(self.empty)
        self._tell()
        self._read_settings()

    def focus_composer(self) -> None:
        """Move the focus to the message field."""
        self.composer.take_focus()

    def take_drafts(self, drafts: Mapping[str, str]) -> None:
        """Restore drafts of an earlier run of the program, keyed by the root of their session."""
        self._sending.take_drafts(drafts)

    def show_back_button(self, *, shown: bool) -> None:
        """Show or hide the back button, for windows that show either the list or the page."""
        self.header.back.setVisible(shown)

    def close_workers(self) -> None:
        """Stop the page's worker thread when the window closes; deleting the page does so, too."""
        self._workers.close()

    # ---------------------------------------------------------------------------- switching
    def _switch(self, shown: ShownSession) -> ShownSession:
        before, self._shown = self._shown, shown
        self.header.end_rename()
        self.view.find_bar.hide()
        self._sending.switch(before, shown)
        self.place.show(shown)
        self._services.window_state.keep_session(shown.draft_key)
        self._tell()
        self.shown_changed.emit()
        self.context.follow()
        self.workplace.follow()
        return shown

    def _show_nothing(self) -> None:
        self._shown = ShownSession(nothing=True)
        self.view.clear()
        self.empty.say_nothing_open()
        self._stack.setCurrentWidget(self.empty)
        self._tell()
        self.context.follow()

    def _tell(self) -> None:
        """Update the header and the buttons."""
        shown = self._shown
        busy = self._ledger.busy(shown.ids)
        summary = shown.summary
        waits_for = self._ledger.waits_for(shown.ids)
        self.composer.set_running(busy in {"running", "asking"} or bool(waits_for))
        self.place.say_waiting(waits_for)
        if summary is not None:
            italic = not summary.title
            used = self.context.used
            self.header.set_words(
                title_of(summary),
                facts_of(summary, used, answering=self._model),
                renameable=True,
                italic=italic,
                tip=tip_of(summary, used, self._model),
            )
            if shown.loaded:
                self._stack.setCurrentWidget(self.empty.silent() if self.view.blank else self.view)
        elif not shown.nothing:
            self.header.set_words(self.tr("New chat"), self._model, renameable=False)
        self.header.setVisible(not shown.nothing)
        self.title_changed.emit(_window_title(shown))
        if self._readiness is not None:
            # The row with the model of the last reply may be read after the settings.
            self.readiness_changed.emit(beside_model_before(self._readiness, summary))
        state: ChatState = ""
        if busy:
            state = "working" if busy == "running" else busy
        elif summary is not None and not self._ledger.seen & shown.ids:
            state = "live" if is_live(summary, self._clock.time()) else ""
        self.header.set_state(state)

    async def look_at_settings(self) -> ChatReadiness:
        """Check which model will answer the next message, and show it.

        Of several checks at a time, an earlier one never replaces the result of a later one.
        """
        shown = self._shown
        self._checks_begun += 1
        number = self._checks_begun
        readiness = await self._services.chat.readiness(shown.summary)
        if shown is self._shown and number > self._check_shown:
            self._check_shown = number
            self._take_readiness(readiness)
        return readiness

    def _take_readiness(self, readiness: ChatReadiness) -> None:
        self._model = readiness.model
        self._readiness = readiness
        writable = self._services.db.condition.writable
        self.composer.set_readiness(readiness, about_model=writable)
        self.header.fix_title(self._services.db.condition.title)
        self.place.tell_again()
        if self._shown.id is None and not self._shown.nothing:
            self._say_new()
        self._tell()

    def _say_new(self) -> None:
        if self._services.chat.hermes_command(None):
            self.empty.say_new_elsewhere()
        else:
            place = self.workplace.place
            self.empty.say_new(self._model, first_folder(place) if place is not None else "")

    def _folder_changed(self) -> None:
        self.place.say_folder(self.workplace.note)
        if self._shown.id is None and not self._shown.nothing:
            self._say_new()

    # ----------------------------------------------------------------------------- events
    def _begun(self, session_id: str) -> None:
        """Handle that the shown chat got its id."""
        self._shown.loaded = True
        self._services.window_state.keep_session(session_id)
        self._stack.setCurrentWidget(self.view)
        replay(self.view, self._ledger.of(self._shown.ids))
        self.session_opened.emit(session_id)
        self.shown_changed.emit()

    def _message_taken(self) -> None:
        self.view.to_end()
        self._tell()

    def _not_stored(self, turn: LedgerTurn, here: bool) -> None:  # noqa: FBT001 - a slot
        self._sending.give_back(turn.session_id, turn.prompt, here=here)

    def _turn_finished(self, event: TurnFinished) -> None:
        if event.session_id in self._shown.ids:
            self._check_settings()  # the turn may have been /model

    def _sessions_changed(self, event: SessionsChanged) -> None:
        ids = self._shown.ids
        if ids and (event.reload_all or ids & (event.session_ids | event.removed_ids)):
            self._refresh.soon()

    # ------------------------------------------------------------------------------ reading
    def _refreshed(self) -> None:
        self.place.show(self._shown)
        self._tell()
        self.context.follow()
        self.workplace.follow()

    def _session_gone(self) -> None:
        """Handle a deletion by another program: keep the typed text and offer a new session."""
        self.composer.give_back("\n".join(self._ledger.take_prompts(self._shown.ids)))
        self._shown = ShownSession()
        self._signs.end()
        self.view.clear()
        self.empty.say_gone()
        self._stack.setCurrentWidget(self.empty)
        self.place.show(self._shown)
        self._tell()
        self.shown_changed.emit()

    def _latest(self) -> None:
        self._slots.start(self._open(self._shown), doing=self.tr("Reading the latest messages"))

    # ------------------------------------------------------------------------------ actions
    def _rename(self, title: str) -> None:
        coro = store_title(self._services, self._refresh, self._shown, title)
        self._slots.start(coro, doing=self.tr("Renaming the session"))

    def _undo_from(self, message_id: int) -> None:
        if self._shown.id is not None:
            self.undo_wanted.emit(self._shown.id, 1, message_id)

    def open_link(self, address: str) -> None:
        """Open a web or mail address in another program, once the user has confirmed it."""
        if safe_link(address):
            asking = ask_to_open(self._slots, address, self, self._open_address)
            self._slots.start(asking, doing=self.tr("Opening the link"))

    def _check_settings(self) -> None:
        self.workplace.follow()
        self._read_settings()

    def _read_settings(self) -> None:
        self._slots.start(self.look_at_settings(), doing=self.tr("Reading the settings"))

    # ------------------------------------------------------------------------- construction
    def _arrange(self) -> None:
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.view)
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(QMargins())
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(ShrinkableContainer(self._stack, self), 1)
        column.addWidget(self.sheets)
        column.addWidget(self.place.strip)
        column.addWidget(self.composer)
        self.setMinimumWidth(360)

    def _connect(self, bridge: EventBridge) -> None:
        self._turns.changed.connect(self._tell)
        self._turns.rows_written.connect(self._refresh.soon)
        self._turns.not_stored.connect(self._not_stored)
        self._sending.begun.connect(self._begun)
        self._sending.taken.connect(self._message_taken)
        self._sending.drafts_changed.connect(self.drafts_changed)
        self.context.changed.connect(lambda _: self._tell())
        self.workplace.changed.connect(self._folder_changed)
        bridge.sessions_changed.connect(self._sessions_changed)
        for news in (bridge.store_condition_changed, bridge.settings_changed):
            news.connect(lambda _: self._check_settings())
        bridge.turn_finished.connect(self._turn_finished)
        self.header.renamed.connect(self._rename)
        self.header.back_wanted.connect(self.back_requested)
        self.header.menu_wanted.connect(self.menu_wanted)
        self.place.session_wanted.connect(self.session_wanted)
        self._refresh.taken.connect(self._refreshed)
        self._refresh.gone.connect(self._session_gone)
        self.view.latest_wanted.connect(self._latest)
        self.view.link_wanted.connect(self.open_link)
        self.view.retry_wanted.connect(self._sending.retry)
        self.view.stop_wanted.connect(self._sending.stop)
        self.view.first_painted.connect(self._signs.end)
        self.view.undo_wanted.connect(self._undo_from)
        self._sending.undo_wanted.connect(lambda name, turns: self.undo_wanted.emit(name, turns, 0))
        self.composer.check_wanted.connect(self._check_settings)
        QShortcut(QKeySequence.StandardKey.Find, self, self.view.open_find)
        QShortcut(QKeySequence("Ctrl+Shift+C"), self, self.view.copy_last_reply)


def _window_title(shown: ShownSession) -> str:
    return title_of(shown.summary) if shown.summary is not None else ""


GREY_AFTER_MS = 150
LINE_AFTER_MS = 400


class LoadingIndicators(QObject):
    """Indicators over a transcript while another one is being read.

    The old content is grayed out after 150 ms; a progress line appears after 400 ms.
    """

    def __init__(self, view: TranscriptView) -> None:
        super().__init__(view)
        self._view = view
        self._grey = QTimer(self, singleShot=True, interval=GREY_AFTER_MS)
        self._line = QTimer(self, singleShot=True, interval=LINE_AFTER_MS)
        self._grey.timeout.connect(lambda: view.set_loading(greyed=True, busy=False))
        self._line.timeout.connect(lambda: view.set_loading(greyed=True, busy=True))

    def begin(self) -> None:
        """Start the timers; a transcript is being read."""
        self._grey.start()
        self._line.start()

    def end(self) -> None:
        """Remove the indicators; the transcript was read, or reading it failed."""
        self._grey.stop()
        self._line.stop()
        self._view.set_loading(greyed=False, busy=False)


async def store_title(
    services: DesktopServices, refresh: SessionRefresh, shown: ShownSession, title: str
) -> None:
    """Store a title that was entered in the header, and read the session again.

    If the session has been deleted, the refresh reports that.

    Raises:
        NotFoundError: The session is gone.
        StateError: The title cannot be written.
    """
    if shown.id is None:
        return
    await services.catalog.rename(shown.id, title)
    services.watch.check_now()
    with suppress(NotFoundError):
        await refresh.refresh(shown)
