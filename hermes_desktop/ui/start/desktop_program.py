"""The desktop program: services, window and tray on one loop, closed in reverse order."""

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QApplication, QSystemTrayIcon

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.concurrency.loop_signals import signal_handlers
from hermes_desktop.core.errors import BusyError, HermesError
from hermes_desktop.core.events import Notice, NoticeCleared
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths, runtime_dir
from hermes_desktop.core.processes.exit_deadline import EXIT_SLACK_S, ExitDeadline
from hermes_desktop.core.processes.restart import Returns
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.services.assembly.desktop_services import DesktopServices
from hermes_desktop.services.diagnosis.crash_trace import CrashTrace
from hermes_desktop.services.sessions.condition_watch import notice_of
from hermes_desktop.services.settings.desktop_config import DesktopConfig
from hermes_desktop.ui.chat.chat_page import ChatPage
from hermes_desktop.ui.shell.asking import Asking
from hermes_desktop.ui.shell.crash_offer import CrashOffer
from hermes_desktop.ui.shell.desktop_news import NotificationController
from hermes_desktop.ui.shell.main_window import MainWindow
from hermes_desktop.ui.shell.preferences import Preferences
from hermes_desktop.ui.shell.tray import Tray
from hermes_desktop.ui.start.application import (
    ApplicationFilter,
    DesktopLoop,
    LoopWatchdog,
    create_application,
    install_exception_hooks,
    install_message_handler,
    run_on_loop,
)
from hermes_desktop.ui.start.garbage_collection import MainThreadCollector, no_automatic_collection
from hermes_desktop.ui.start.open_history import open_or_explain
from hermes_desktop.ui.start.single_instance import (
    SingleInstance,
    ask_first_instance,
    instance_name,
)
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import ColorScheme, Theme
from hermes_desktop.ui.words.gateway_words import serves

log = logging.getLogger(__name__)

DRAIN_S = 15.0
"""How long running replies may take when the program is asked to quit."""
_TWICE = 2


@dataclass(frozen=True, slots=True)
class ProgramSetup:
    """The options that the program starts with.

    Attributes:
        paths: The home.
        hidden: Do not show the window if a tray icon gives access to it.
        demo: The home is the demonstration's: nothing outside it is touched or read.
        screenshot: Save a picture to this file and end.
        color_scheme: ``system`` follows the setting, and with it the desktop.
        desktop: The settings of the program.
        redactor: Knows the secrets to be removed from logs.
        returns: What a restarted program brings back.
    """

    paths: HermesPaths
    redactor: SecretRedactor
    hidden: bool = False
    demo: bool = False
    screenshot: Path | None = None
    color_scheme: ColorScheme = "system"
    desktop: DesktopConfig = field(default_factory=DesktopConfig)
    returns: Returns = ""


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """How a run of the program ended.

    Attributes:
        code: The exit code: 0 if it was asked to end, 1 if the history could not be opened.
        restart: What the program is to bring back when it is started again; "": it just ended.
    """

    code: int = 0
    restart: Returns = ""


def run_program(setup: ProgramSetup) -> ProgramEnd:
    """Run until the user quits, or show the window of an instance that is already running.

    Raises:
        BusyError: Another process holds the lock and does not answer.
        HermesError: The picture of the demonstration could not be made.
    """
    folder = setup.paths.home if setup.demo else runtime_dir()
    name = instance_name(setup.paths.home, folder, demo=setup.demo)
    instance = SingleInstance(name)
    if not instance.acquire():
        if ask_first_instance(name, token=_activation_token(os.environ)) == "shown":
            return ProgramEnd()
        raise BusyError(
            "Hermes Desktop is already running but does not respond.",
            f"Another process holds {name.lock_file}.",
            "Wait a moment and try again, or end that process.",
        )
    trace = CrashTrace(setup.paths.desktop_dir)
    try:
        if not setup.demo:
            trace.begin()
        with no_automatic_collection():
            return _run_first(setup, instance, trace)
    except HermesError:
        raise
    except Exception as error:
        trace.note(type(error), error, error.__traceback__)
        raise
    finally:
        trace.end()
        instance.close()


def _run_first(setup: ProgramSetup, instance: SingleInstance, trace: CrashTrace) -> ProgramEnd:
    install_message_handler()
    install_exception_hooks(trace.note)
    app = create_application(sys.argv[:1])
    watchdog = LoopWatchdog()
    watchdog.pause()
    loop = DesktopLoop(app, watchdog)
    loop.set_exception_handler(_log_loop_error)
    try:
        program = DesktopProgram(setup, app, instance, watchdog, ExitDeadline())
        code = int(run_on_loop(program.run, loop))
        return ProgramEnd(code, program.restart)
    finally:
        watchdog.close()


class DesktopProgram:
    """One run of the program. Main thread only.

    Args:
        setup: The options.
        app: The Qt application.
        instance: Holds the lock; listens once the window exists.
        watchdog: Reports while the window is in use.
        deadline: Armed when closing begins, and not disarmed: the process is to end.

    Attributes:
        restart: What the program is to bring back when it is started again, once it has ended.
    """

    def __init__(
        self,
        setup: ProgramSetup,
        app: QApplication,
        instance: SingleInstance,
        watchdog: LoopWatchdog,
        deadline: ExitDeadline,
    ) -> None:
        self._setup = setup
        self._app = app
        self._instance = instance
        self._watchdog = watchdog
        self._deadline = deadline
        self._theme = Theme(app, setup.color_scheme)
        self._clock = SystemClock()
        self._quit_asked = 0
        self.restart: Returns = ""
        self._changed = asyncio.Event()
        self._events = ApplicationFilter(app)
        self._events.quit_requested.connect(self.ask_to_quit)
        self._collector = MainThreadCollector(app, self._clock)
        self._events.input_seen.connect(self._collector.note_activity)

    async def run(self) -> int:
        """Build everything, run, close everything."""
        try:
            return await self._run()
        finally:
            self._collector.close()
            self._app.removeEventFilter(self._events)
            self._events.deleteLater()
            self._theme.deleteLater()

    async def _run(self) -> int:
        with signal_handlers(("SIGINT", "SIGTERM"), self.ask_to_quit):
            services = await self._open()
            if services is None:
                return 0 if self._quit_asked else 1
            slots = AsyncSlots(services.tasks, services.bus)
            bridge = EventBridge(services.bus)
            tray = Tray(tray_available=QSystemTrayIcon.isSystemTrayAvailable)
            window = self._make_window(services, slots, bridge, tray)
            gc.freeze()  # permanent objects are excluded from later collections (40 ms each)
            self._connect(window, tray, bridge)
            window.restart_wanted.connect(
                lambda: self.ask_to_restart(serving=serves(services.gateway.status))
            )
            try:
                await self._run_open(services, window, tray)
            finally:
                await self._close(services, window, tray)
                bridge.close()
                tray.deleteLater()
        return 0

    def ask_to_quit(self) -> None:
        """Request the end; a second request interrupts running replies."""
        self._deadline.arm(EXIT_SLACK_S if self._quit_asked else DRAIN_S + EXIT_SLACK_S)
        self._quit_asked += 1
        self._changed.set()

    def ask_to_restart(self, *, serving: bool) -> None:
        """Request the end, and a new start after it.

        Args:
            serving: Whether the gateway is hosted here, and is to come back.
        """
        self.restart = "gateway" if serving else "window"
        self.ask_to_quit()

    async def _open(self) -> DesktopServices | None:
        """Open the history; return None if the user or a signal ended the program before that."""
        opening = asyncio.ensure_future(open_or_explain(self._build))
        while not opening.done() and not self._quit_asked:
            change = asyncio.ensure_future(self._next_change())
            await asyncio.wait({opening, change}, return_when=asyncio.FIRST_COMPLETED)
            change.cancel()
        if not opening.done():
            opening.cancel()
            await asyncio.wait({opening})
        return None if opening.cancelled() else opening.result()

    def _build(self) -> DesktopServices:
        setup = self._setup
        environ: Mapping[str, str] | None = {} if setup.demo else None
        return build_services(
            setup.paths, redactor=setup.redactor, offline=setup.demo, environ=environ
        )

    def _make_window(
        self, services: DesktopServices, slots: AsyncSlots, bridge: EventBridge, tray: Tray
    ) -> MainWindow:
        page = ChatPage(services=services, slots=slots, bridge=bridge, theme=self._theme)
        window = MainWindow(
            services=services,
            slots=slots,
            bridge=bridge,
            theme=self._theme,
            page=page,
            tray_available=lambda: tray.available,
            clock=self._clock,
            demo=self._setup.demo,
        )
        self._asking = Asking(
            services, bridge, page=page, window=window, theme=self._theme, clock=self._clock
        )
        self._asking.session_wanted.connect(window.come_forward)
        self._asking.session_wanted.connect(window.open_session)
        self._asking.waiting_changed.connect(tray.show_waiting)
        page.workplace.approvals_off.connect(tray.show_approvals)
        self._follow_preferences(services, slots, bridge, window=window, tray=tray)
        self._crashes = CrashOffer(services.diagnosis, services.bus, slots, window)
        window.notices.acted.connect(self._crashes.act_on)
        return window

    def _follow_preferences(
        self,
        services: DesktopServices,
        slots: AsyncSlots,
        bridge: EventBridge,
        *,
        window: MainWindow,
        tray: Tray,
    ) -> None:
        """Apply changed preferences: colors, closing, notifications."""
        self._preferences = Preferences(
            services.settings, slots, bridge, self._setup.desktop, window
        )
        self._preferences.changed.connect(lambda now: self._prefer(window, now))
        self._prefer(window, self._setup.desktop)
        news = NotificationController(window, bridge, self._preferences)
        news.told.connect(tray.tell)
        news.told_of_chat.connect(tray.tell_of_question)
        self._asking.asked_unseen.connect(news.asked)
        window.gateway.told.connect(news.requested)

    def _prefer(self, window: MainWindow, now: DesktopConfig) -> None:
        if self._setup.color_scheme == "system":  # otherwise the command line sets it
            self._theme.set_scheme(now.colour_scheme)
        window.closing.keeps_running = now.close_to_tray

    def _connect(self, window: MainWindow, tray: Tray, bridge: EventBridge) -> None:
        tray.show_requested.connect(window.come_forward)
        tray.toggle_requested.connect(window.toggle)
        tray.new_chat_requested.connect(window.come_forward)
        tray.new_chat_requested.connect(window.new_chat)
        tray.session_requested.connect(window.come_forward)
        tray.session_requested.connect(window.open_session)
        tray.quit_requested.connect(window.want_to_quit)
        tray.available_changed.connect(window.tray_changed)
        tray.gateway_wanted.connect(window.gateway.commands.run)
        tray.platforms_wanted.connect(window.come_forward)
        tray.platforms_wanted.connect(window.show_platforms)
        tray.settings_wanted.connect(window.come_forward)
        tray.settings_wanted.connect(window.show_settings)
        window.gateway.requests_changed.connect(tray.show_requests)
        window.quit_wanted.connect(self.ask_to_quit)
        window.recent_changed.connect(tray.show_recent)
        window.notice_closed.connect(lambda key: tray.note_settled(NoticeCleared(key)))
        bridge.gateway_status_changed.connect(tray.show_status)
        bridge.gateway_status_changed.connect(lambda _: self._changed.set())
        bridge.turn_delta.connect(self._collector.note_activity)
        self._collector.set_hidden_check(lambda: not window.isVisible() or window.isMinimized())
        bridge.notice.connect(tray.note_problem)
        bridge.notice_cleared.connect(tray.note_settled)
        self._instance.show_requested.connect(lambda token: _come_forward(window, token))

    async def _run_open(self, services: DesktopServices, window: MainWindow, tray: Tray) -> None:
        self._instance.listen()
        self._first_show(window, tray)
        self._asking.open()
        await services.start()
        if self._setup.returns == "gateway":  # it may have been started by hand
            services.tasks.start(services.gateway.start(), name="gateway after a restart")
        window.begin()
        self._crashes.look()
        tray.show_status(services.gateway.status)
        _tell_condition(services)
        if self._setup.screenshot is not None:
            from hermes_desktop.ui.start.demo_picture import take_demo_picture  # noqa: PLC0415 - only needed here

            await take_demo_picture(services, window, self._setup.screenshot)
            return
        self._watchdog.resume()
        while not self._quit_asked:
            await self._next_change()

    def _first_show(self, window: MainWindow, tray: Tray) -> None:
        """Show the window; ``--hidden`` without a tray shows it minimized, never nowhere."""
        if not self._setup.hidden:
            window.show()
        elif not tray.available:
            window.showMinimized()

    async def _close(self, services: DesktopServices, window: MainWindow, tray: Tray) -> None:
        self._deadline.arm(DRAIN_S + EXIT_SLACK_S)
        self._watchdog.pause()
        tray.close()
        self._asking.end()
        await self._end_gateway(services, window)
        window.prepare_to_end()
        await services.close(drain_s=0.0)
        window.close()
        window.deleteLater()

    async def _end_gateway(self, services: DesktopServices, window: MainWindow) -> None:
        """Close the gateway with the window visible; a second request to quit interrupts replies.

        From here on nothing new is started: neither in the window nor for a platform.
        """
        patient = self._setup.screenshot is None and self._quit_asked < _TWICE
        closing = asyncio.ensure_future(services.gateway.close(drain_s=DRAIN_S if patient else 0.0))
        asked, told = self._quit_asked, 0
        while not closing.done():
            running = services.gateway.status.running_turns
            if patient and running and running != told:
                told = running
                _tell_waiting(window, running)
            change = asyncio.ensure_future(self._next_change())
            await asyncio.wait({closing, change}, return_when=asyncio.FIRST_COMPLETED)
            change.cancel()
            if self._quit_asked > asked:
                asked = self._quit_asked
                services.gateway.hurry()
        if (error := closing.exception()) is not None:  # everything else must still be closed
            log.error("Closing the gateway failed", exc_info=error)

    async def _next_change(self) -> None:
        await self._changed.wait()
        self._changed.clear()


def _tell_waiting(window: MainWindow, running: int) -> None:
    noun = "reply" if running == 1 else "replies"
    window.notices.show_notice(
        Notice(
            "warning",
            f"Waiting for {running} {noun} to finish before closing.",
            f"After {DRAIN_S:.0f} seconds, they are interrupted.",
            "To interrupt them now, quit again; the text written so far is kept.",
            key="closing",
        )
    )
    if window.isMinimized() or not window.isVisible():
        window.come_forward()


def _tell_condition(services: DesktopServices) -> None:
    notice = notice_of(services.db.condition)
    if notice is not None:
        services.bus.publish(notice)


def _come_forward(window: MainWindow, token: str) -> None:
    if token:
        # Qt reads the token from there when the window requests the focus from Wayland.
        os.environ["XDG_ACTIVATION_TOKEN"] = token
    window.come_forward()


def _activation_token(environ: Mapping[str, str]) -> str:
    return environ.get("XDG_ACTIVATION_TOKEN", "") or environ.get("DESKTOP_STARTUP_ID", "")


def _log_loop_error(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    log.error("On the loop: %s", context.get("message", ""), exc_info=error)
