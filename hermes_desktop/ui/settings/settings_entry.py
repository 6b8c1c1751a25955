"""The entry to the settings, which loads the settings page when it is first opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_desktop.core.clock import Clock
    from hermes_desktop.services.assembly.desktop_services import DesktopServices
    from hermes_desktop.ui.settings.settings_view import SettingsView
    from hermes_desktop.ui.shell.rail import WindowPages
    from hermes_desktop.ui.shell.window_memory import WindowSettings
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots
    from hermes_desktop.ui.widgets.event_bridge import EventBridge
    from hermes_desktop.ui.widgets.theme import Theme

_REMEMBERED = "settings/page"


class SettingsEntry(QObject):
    """Creates the settings page once and shows it. Main thread only.

    Args:
        pages: The stack that shows it.
        services: Services of the page.
        slots: Runs coroutines started by clicks.
        bridge: The events as signals.
        theme: Colors.
        clock: For dates.
        memory: Remembers which page was open.
        restart_gateway: Restarts the hosted gateway, after confirmation if replies are running.
    """

    def __init__(  # noqa: PLR0913 - what the page needs
        self,
        pages: WindowPages,
        *,
        services: DesktopServices,
        slots: AsyncSlots,
        bridge: EventBridge,
        theme: Theme,
        clock: Clock,
        memory: WindowSettings,
        restart_gateway: Callable[[], None],
    ) -> None:
        super().__init__(pages)
        self._pages = pages
        self._services = services
        self._slots = slots
        self._bridge = bridge
        self._theme = theme
        self._clock = clock
        self._memory = memory
        self._restart_gateway = restart_gateway
        self._view: SettingsView | None = None
        self._leaving = False

    @property
    def view(self) -> SettingsView | None:
        """The settings page, None before it was first opened."""
        return self._view

    @property
    def shows(self) -> bool:
        """Whether the settings page is in front."""
        return self._view is not None and self._pages.currentWidget() is self._view

    def show(self, page: str = "", key: str = "") -> None:
        """Show the settings.

        Args:
            page: The page to show; "" for the one that was open last.
            key: A setting or variable to navigate to.
        """
        view = self._view or self._make()
        self._pages.show_settings(view)
        if page:
            view.show_page(page)
        view.come_forward(key)

    def undo(self) -> None:
        """Undo one step of pending edits."""
        if self._view is not None:
            self._view.undo()

    def step_back(self) -> bool:
        """Undo the nearest thing that Esc can undo here; return False if there is none."""
        return self._view is not None and self._view.step_back()

    def leave(self, quit_now: Callable[[], None]) -> None:
        """Quit at the user's request, after confirmation if changes are unsaved.

        Args:
            quit_now: Ends the program. A second request during the confirmation calls it directly.
        """
        if self._view is None or not self._view.pending_count or self._leaving:
            quit_now()
            return
        self._leaving = True
        self._slots.start(self._ask(self._view, quit_now), doing=self.tr("Quitting"))

    async def _ask(self, view: SettingsView, quit_now: Callable[[], None]) -> None:
        try:
            if await view.may_leave():
                quit_now()
        finally:
            self._leaving = False

    def close(self) -> None:
        """Stop: the window is closing. Remember which page is open."""
        if self._view is not None:
            self._view.stack.end()
            self._memory.remember(_REMEMBERED, self._view.page_name)

    def _make(self) -> SettingsView:
        from hermes_desktop.ui.settings.settings_view import (  # noqa: PLC0415 - see the module
            SettingsView,
        )

        view = SettingsView(
            services=self._services,
            slots=self._slots,
            bridge=self._bridge,
            theme=self._theme,
            clock=self._clock,
            restart_gateway=self._restart_gateway,
            first_page=self._memory.recall(_REMEMBERED),
        )
        view.need_changed.connect(self._pages.rail.settings_button.show_need)
        self._view = view
        return view
