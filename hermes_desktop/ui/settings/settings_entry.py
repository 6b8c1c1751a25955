"""The way to the settings: the page and everything it needs are loaded when first opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from hermes_desktop.core.lean_loading import forget_sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_desktop.core.clock import Clock
    from hermes_desktop.services.assembly.desktop_services import DesktopServices
    from hermes_desktop.ui.settings.settings_view import SettingsView
    from hermes_desktop.ui.shell.window_memory import WindowMemory
    from hermes_desktop.ui.shell.window_pages import WindowPages
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots
    from hermes_desktop.ui.widgets.event_bridge import EventBridge
    from hermes_desktop.ui.widgets.theme import Theme

_REMEMBERED = "settings/page"


class SettingsEntry(QObject):
    """Makes the page once and shows it. Main thread only.

    Args:
        pages: Where it shows.
        services: What it works with.
        slots: Runs what clicks start.
        bridge: News.
        theme: Colours.
        clock: For dates.
        memory: Remembers which page was open.
        restart_gateway: Restarts ours, after asking where replies run.
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
        memory: WindowMemory,
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
        """The page, None before it was opened for the first time."""
        return self._view

    @property
    def shows(self) -> bool:
        """Whether the page is in front."""
        return self._view is not None and self._pages.currentWidget() is self._view

    def show(self, page: str = "", key: str = "") -> None:
        """Show the settings.

        Args:
            page: Which of its pages; "" for the one that was open last.
            key: A setting or variable to go to.
        """
        view = self._view or self._make()
        self._pages.show_settings(view)
        if page:
            view.show_page(page)
        view.come_forward(key)

    def undo(self) -> None:
        """One step back over pending edits."""
        if self._view is not None:
            self._view.undo()

    def step_back(self) -> bool:
        """Undo the nearest thing that Esc can undo here; False when there is none."""
        return self._view is not None and self._view.step_back()

    def leave(self, quit_now: Callable[[], None]) -> None:
        """The person wants the program to end: ask first if something is not saved.

        Args:
            quit_now: Ends it. Wanting it again while it is asked does that at once.
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
        """The window goes: remember which page is open."""
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
        forget_sources()
        return view
