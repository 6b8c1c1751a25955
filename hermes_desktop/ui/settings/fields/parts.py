"""Base classes and shared types for the parts of a settings page.

A *part* is a block of a page. It receives a :class:`SettingsContext`, keeps what the user wants
until the page is saved, and shows errors at its fields. Settings that are declared as options go
through the shared draft and need no part; a separate part is for what is not an option: secrets,
lists, checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from hermes_desktop.ui.widgets.theme import SPACE_8

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hermes_desktop.core.clock import Clock
    from hermes_desktop.core.errors import HermesError
    from hermes_desktop.services.assembly.desktop_services import DesktopServices
    from hermes_desktop.services.settings.settings_repository import Change
    from hermes_desktop.services.settings.settings_service import Applied
    from hermes_desktop.ui.settings.saving.draft import Draft
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots
    from hermes_desktop.ui.widgets.event_bridge import EventBridge
    from hermes_desktop.ui.widgets.theme import Theme

# ------------------------------------------------------------------------------
# Names of the settings pages, for search hits and the remembered page of a home.

GENERAL = "general"
ASSISTANT = "assistant"
SESSIONS = "sessions"
PLATFORMS = "platforms"
PRIVACY = "privacy"
OTHER = "other"


@dataclass(frozen=True, slots=True)
class SettingsContext:
    """The services and callbacks that every part uses.

    Attributes:
        services: ``services.settings`` reads and writes.
        slots: Runs coroutines started by clicks.
        bridge: The events as signals.
        theme: Colors.
        clock: For dates.
        draft: Pending edits of options, shared by all pages.
        restart_gateway: Restarts the hosted gateway, after confirmation if replies are running.
        show_setting: Navigates to a setting by its key, on any page.
        report: Shows the outcome of a change that a part has made itself in the strip above the
            pages.
    """

    services: DesktopServices
    slots: AsyncSlots
    bridge: EventBridge
    theme: Theme
    clock: Clock
    draft: Draft
    restart_gateway: Callable[[], None]
    show_setting: Callable[[str], None]
    report: Callable[[Applied], None]


@dataclass(frozen=True, slots=True)
class Pending:
    """What a part wants saved besides the options in the draft.

    Attributes:
        changes: Changes of settings that the part manages itself.
        secrets: Values by variable, for the keyring.
        faulty: How many of its fields block saving.
    """

    changes: tuple[Change, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict)
    faulty: int = 0

    def __len__(self) -> int:
        return len(self.changes) + len(self.secrets) + self.faulty


@dataclass(frozen=True, slots=True)
class SettingHit:
    """A search hit.

    Attributes:
        page: The name of its page.
        key: Passed to :meth:`SettingsPart.focus_key`.
        label: The text in the list of hits.
    """

    page: str
    key: str
    label: str


class SettingsPart(QWidget):
    """A block of a page; overriding its methods is optional.

    Attributes:
        context: Services, draft and colors.
        column: The layout of its content, from top to bottom.

    Signals:
        pending_changed: The result of :meth:`pending` has changed.
    """

    pending_changed = Signal()

    def __init__(self, context: SettingsContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.context = context
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(SPACE_8)

    def begin(self) -> None:
        """Load the part's data here, not before: it is shown on its page for the first time."""

    def grow(self) -> bool:
        """Build more of the part for a few milliseconds; return whether more remains."""
        return False

    def search(self, words: Sequence[str]) -> list[SettingHit]:
        """Return hits in the part, besides options, that contain all (lower-case) words."""
        del words
        return []

    def pending(self) -> Pending:
        """Return what is to be saved besides the options in the draft."""
        return Pending()

    def revert(self) -> None:
        """Drop what :meth:`pending` returns."""

    def saved(self, applied: Applied) -> None:
        """Handle a successful save of everything pending."""
        del applied
        self.revert()

    def show_error(self, key: str, error: HermesError) -> bool:
        """Show an error at the field of a setting or variable; return whether it is here."""
        del key, error
        return False

    def focus_key(self, key: str) -> bool:
        """Put the focus on a setting or variable; return whether it is here."""
        del key
        return False

    def set_saving(self, *, saving: bool) -> None:
        """Handle the start or end of saving everything pending, which may take a while."""
        del saving

    def end(self) -> None:
        """Stop: the window is closing. Start nothing more and wait for nothing."""

    def set_locked(self, reason: str) -> None:
        """Prevent changes and show the reason; "" allows changes again."""
        self.setEnabled(not reason)
