"""The controller for pairing: reads requests and senders, approves, denies, revokes."""

from collections.abc import Awaitable

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QDialog, QWidget

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Notice, NoticeCleared
from hermes_desktop.gateway.access.pairing import CODE_LIFETIME_S
from hermes_desktop.ui.gateway.gateway_protocols import PairingLists, PairingService, Person
from hermes_desktop.ui.gateway.gateway_questions import revoke_question
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.coalesced_runs import CoalescedRuns
from hermes_desktop.ui.widgets.theme import Theme
from hermes_desktop.ui.words.source_names import source_name

UNDO_PREFIX = "pairing-undo-"
ASKED = "pairing-asked"
_REMEMBERED = 10
_AFTER_EXPIRY_MS = 2_000


class PairingCommands(QObject):
    """Runs actions of the pairing service and reports them by notices. Main thread only.

    Args:
        desk: The pairing service.
        slots: Runs coroutines; a refusal becomes a notice.
        bus: Receives the notices.
        theme: Colors of the dialog.
        clock: For the time of a request.
        window: Parent of the dialog.

    Signals:
        people_read: Carries a :class:`PairingLists`.
        asked: There are new requests; carries the :class:`Person` of the latest.
    """

    people_read = Signal(object)
    asked = Signal(object)

    def __init__(
        self,
        desk: PairingService,
        *,
        slots: AsyncSlots,
        bus: EventBus,
        theme: Theme,
        clock: Clock,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._desk = desk
        self._clock = clock
        self._slots = slots
        self._bus = bus
        self._theme = theme
        self._window = window
        self._known: frozenset[tuple[str, str]] = frozenset()
        self._expiry = QTimer(self)
        self._expiry.setSingleShot(True)
        self._expiry.setTimerType(Qt.TimerType.VeryCoarseTimer)
        self._expiry.timeout.connect(self.refresh)
        self._reads = CoalescedRuns()
        self._count = 0
        self._undo: dict[str, Person] = {}

    def close(self) -> None:
        """Stop the timer for expiring requests."""
        self._expiry.stop()

    def refresh(self) -> None:
        """Read the lists again; calls during a read result in one more read."""
        self._slots.start(self._reads.run(self._read), doing=self.tr("Loading people"))

    def approve(self, entry: Person) -> None:
        """Approve a request; the notice offers to undo it."""
        self._slots.start(self._approve(entry), doing=self.tr("Approving access"))

    def deny(self, entry: Person) -> None:
        """Deny a request."""
        self._slots.start(self._deny(entry), doing=self.tr("Denying a request"))

    def revoke(self, person: Person) -> None:
        """Revoke a sender's access after confirmation."""
        self._slots.start(self._ask_and_revoke(person), doing=self.tr("Revoking access"))

    def act_on(self, key: str) -> None:
        """Handle the button of a notice; notices of other components are ignored."""
        entry = self._undo.pop(key, None)
        if entry is not None:
            self._slots.start(self._revoke(entry), doing=self.tr("Revoking access"))

    # --------------------------------------------------------------------------------- internals

    async def _read(self) -> None:
        self._take(await PairingLists.read(self._desk, self._clock))

    def _take(self, people: PairingLists) -> None:
        new = [each for each in people.pending if each.key not in self._known]
        self._known = frozenset(each.key for each in people.pending)
        self._wait_for_expiry(people)
        self.people_read.emit(people)
        if not people.pending:
            self._bus.publish(NoticeCleared(ASKED))
        elif new:
            self.asked.emit(new[-1])

    def _wait_for_expiry(self, people: PairingLists) -> None:
        """Schedule a read for the moment when the first request expires; no event reports that."""
        self._expiry.stop()
        if people.pending:
            first = min(each.when for each in people.pending)
            left = max(0.0, first + CODE_LIFETIME_S - self._clock.time())
            self._expiry.start(round(left * 1000) + _AFTER_EXPIRY_MS)

    async def _approve(self, entry: Person) -> None:
        await self._done(self._desk.approve(entry.platform, entry.entry_id))
        place = source_name(entry.platform)
        self._count += 1
        key = f"{UNDO_PREFIX}{self._count}"
        self._undo[key] = entry
        for old in list(self._undo)[:-_REMEMBERED]:
            del self._undo[old]
        words = self.tr("{name} can now write to Hermes on {place}.")
        words = words.format(name=entry.name, place=place)
        self._bus.publish(Notice("ok", words, key=key, action=self.tr("Undo")))

    async def _deny(self, entry: Person) -> None:
        await self._done(self._desk.deny(entry.platform, entry.entry_id))
        words = self.tr("Access denied for {name}. They can request it again.").format(
            name=entry.name
        )
        self._bus.publish(Notice("ok", words, key="pairing"))

    async def _ask_and_revoke(self, person: Person) -> None:
        question = revoke_question(person.name, person.platform, self._theme, self._window)
        try:
            answer = await self._slots.ask(question)
        finally:
            question.deleteLater()
        if answer == QDialog.DialogCode.Accepted:
            await self._revoke(person)

    async def _revoke(self, person: Person) -> None:
        await self._done(self._desk.revoke(person.platform, person.user_id))
        words = self.tr("{name} can no longer write on {place}.")
        words = words.format(name=person.name, place=source_name(person.platform))
        self._bus.publish(Notice("ok", words, key="pairing"))

    async def _done(self, change: Awaitable[object]) -> None:
        """Run a change; on failure, read the lists again, as they may be outdated.

        A successful change is reported by an event.
        """
        try:
            await change
        except BaseException:
            self.refresh()
            raise
