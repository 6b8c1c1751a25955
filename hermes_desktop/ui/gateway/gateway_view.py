"""The gateway in the window: page, banner and strip with one state and one clock."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import GatewayStatusChanged, Notice, PairingChanged, UndoneWork
from hermes_desktop.ui.gateway.gateway_banner import GatewayBanner
from hermes_desktop.ui.gateway.gateway_commands import GatewayCommands, RunningReplies
from hermes_desktop.ui.gateway.gateway_protocols import (
    GatewayControl,
    PairingLists,
    PairingService,
    Person,
)
from hermes_desktop.ui.gateway.pairing_commands import ASKED, PairingCommands
from hermes_desktop.ui.gateway.platforms_page import PlatformsPage
from hermes_desktop.ui.gateway.status_strip import StatusStrip
from hermes_desktop.ui.widgets.age_timer import RelativeTimeTimer
from hermes_desktop.ui.widgets.announcement import announce
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme
from hermes_desktop.ui.words.ages import refresh_interval_ms
from hermes_desktop.ui.words.gateway_words import requests_text, shape_of, status_text, undone_text
from hermes_desktop.ui.words.platform_words import distances
from hermes_desktop.ui.words.source_names import source_name

_NOT_NEWS = ({"running", "working"}, {"degraded", "working"})
"""Pairs of states that alternate with every reply, and whose change is not announced."""


class GatewayView(QObject):
    """The controller of everything in the window about the gateway. Main thread only.

    Args:
        control: The gateway.
        desk: Authorized senders.
        slots: Runs coroutines started by clicks.
        bus: Receives notices.
        bridge: The events as signals.
        theme: Colors.
        clock: For texts on elapsed time.
        strip: The status strip of the window.
        window: Parent of all widgets and dialogs.

    Signals:
        page_wanted: Show the platforms page.
        window_wanted: A dialog is about to open; a hidden window should show.
        requests_changed: Carries the number of pairing requests.
        need_changed: Carries what needs attention, in a few words, "" for nothing.
        told: Carries title and text of a notification, for when the window is hidden.
    """

    page_wanted = Signal()
    window_wanted = Signal()
    requests_changed = Signal(int)
    need_changed = Signal(str)
    told = Signal(str, str)

    def __init__(  # noqa: PLR0913 - the parts it joins
        self,
        *,
        control: GatewayControl,
        desk: PairingService,
        slots: AsyncSlots,
        bus: EventBus,
        bridge: EventBridge,
        theme: Theme,
        clock: Clock,
        strip: StatusStrip,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._control = control
        self._bus = bus
        self._clock = clock
        self._strip = strip
        self._window_visible = False
        self._begun = False
        self._requests = 0
        self._status = control.status
        self.replies = RunningReplies()
        self.page = PlatformsPage(theme)
        self.banner = GatewayBanner(theme)
        self.commands = GatewayCommands(
            control,
            self.replies,
            slots=slots,
            bus=bus,
            theme=theme,
            clock=clock,
            window=window,
        )
        self.pairing = PairingCommands(
            desk, slots=slots, bus=bus, theme=theme, clock=clock, window=window
        )
        self.timer = RelativeTimeTimer(self._next_look, self)
        self._connect(bridge)

    def begin(self) -> None:
        """Show the status and read pairing requests and senders. Call once the loop runs."""
        self._begun = True
        self.refresh()
        self.pairing.refresh()

    def refresh(self) -> None:
        """Read the current status of the gateway and show it."""
        self._show(self._control.look())

    def _beat(self) -> None:
        """Refresh texts on elapsed time, and everything if the status has changed."""
        status, now = self._control.look(), self._clock.time()
        if status != self._status:
            self._show(status)
            return
        self._strip.show_status(status, now=now)
        if self.page.isVisible():
            self.page.tell_ages(status, now)
            if status.state == "attached":
                self.pairing.refresh()  # the other gateway sends no events about pairing requests
        elif not self.banner.isHidden():
            self.banner.show_status(status, now=now, busy=self.commands.busy)

    def _show(self, status: GatewayStatusChanged) -> None:
        before, self._status, now = self._status, status, self._clock.time()
        if {before.state, status.state} not in _NOT_NEWS and before.state != status.state:
            announce(self._strip, status_text(status))
        if before.undone != status.undone and status.undone is not None:
            self._undone_appeared(status.undone)
        busy = self.commands.busy
        self._tell_need()
        self._strip.show_status(status, now=now)
        on_page = self.page.isVisible()
        self.banner.show_status(status, now=now, busy=busy, told=on_page)
        if on_page:
            self.page.show_status(status, now=now, busy=busy, replies=self.replies.count)
            self.page.tell_ages(status, now)
        self.timer.settle()

    def _undone_appeared(self, undone: UndoneWork) -> None:
        """Report work that does not run to screen readers, and by notification if unseen."""
        announce(self._strip, undone_text(undone))
        if not self._window_visible:
            self.told.emit(self.tr("Some scheduled work is not running"), undone_text(undone))

    def page_shown(self) -> None:
        """Update the page and read the senders again after the page became visible."""
        self.refresh()
        self.pairing.refresh()

    def set_visible(self, visible: bool) -> None:  # noqa: FBT001 - a state of one meaning
        """Follow the visibility of the window; the timer runs only while it is visible."""
        came, self._window_visible = visible and not self._window_visible, visible
        self.timer.set_visible(visible)
        if came and self._begun:
            self.pairing.refresh()

    def close(self) -> None:
        """Stop all timers."""
        self.timer.set_visible(False)
        self.pairing.close()

    def act_on(self, key: str) -> None:
        """Handle the button of a notice."""
        self.commands.act_on(key)
        self.pairing.act_on(key)
        if key == ASKED:
            self.page_wanted.emit()

    def _connect(self, bridge: EventBridge) -> None:
        page, commands, pairing = self.page, self.commands, self.pairing
        bridge.gateway_status_changed.connect(self._show)
        bridge.pairing_changed.connect(self._people_changed)
        bridge.turn_queued.connect(self.replies.begun)
        bridge.turn_started.connect(self.replies.begun)
        bridge.turn_finished.connect(self.replies.finished)
        for wanted in (page.gateway_wanted, self.banner.wanted):
            wanted.connect(commands.run)
        page.list.reconnect_wanted.connect(commands.reconnect)
        page.list.pause_wanted.connect(commands.pause)
        page.list.resume_wanted.connect(commands.resume)
        page.approve_wanted.connect(pairing.approve)
        page.deny_wanted.connect(pairing.deny)
        page.revoke_wanted.connect(pairing.revoke)
        page.copy_wanted.connect(lambda text: QGuiApplication.clipboard().setText(text))
        self.banner.page_wanted.connect(self.page_wanted)
        self._strip.gateway_wanted.connect(self.page_wanted)
        commands.busy_changed.connect(lambda _: self.refresh())
        commands.window_wanted.connect(self.window_wanted)
        pairing.people_read.connect(self._people_read)
        pairing.asked.connect(self._asked)
        self.timer.beat.connect(self._beat)

    def _people_changed(self, _: PairingChanged) -> None:
        self.pairing.refresh()

    def _people_read(self, people: PairingLists) -> None:
        self.page.show_people(people, self._clock.time())
        self._requests = len(people.pending)
        self.requests_changed.emit(self._requests)
        self._tell_need()
        self.timer.settle()

    def _asked(self, entry: Person) -> None:
        """Report a pairing request by a notice, and by a desktop notification if unseen."""
        title = self.tr("{name} requests access").format(name=entry.name)
        place = source_name(entry.platform)
        words = self.tr("They wrote to Hermes on {place} for the first time.").format(place=place)
        if not self.page.isVisible():
            self._bus.publish(
                Notice("info", f"{title} ({place}).", words, key=ASKED, action=self.tr("Answer…"))
            )
        if not self._window_visible:
            self.told.emit(title, words)

    def _tell_need(self) -> None:
        trouble = status_text(self._status) if shape_of(self._status) == "attention" else ""
        asked = requests_text(self._requests) if self._requests else ""
        self.need_changed.emit(", ".join(filter(None, (asked, trouble))))

    def _next_look(self) -> int:
        status, now = self._status, self._clock.time()
        if self.page.isVisible():
            return refresh_interval_ms(self.page.moments(status, now))
        platforms = status.other.platforms if status.other is not None else status.platforms
        ages = distances(platforms, now)
        if status.state == "attached" and status.other is not None:
            ages += [status.other.started_at - now] if status.other.started_at else []
        return refresh_interval_ms(ages)
