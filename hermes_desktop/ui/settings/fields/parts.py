"""What a page of the settings is made of, for whoever adds a page or a block to one.

A *part* is a block of a page. It is handed a :class:`SettingsContext`, keeps what a person wants
until the frame saves, and says errors at its fields. Settings that are declared as options go
through the shared draft and need nothing of that; a part of its own is for what is no option:
secrets, lists, checks.
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
    from hermes_desktop.services.settings.settings_book import Change
    from hermes_desktop.services.settings.settings_service import Applied
    from hermes_desktop.ui.settings.saving.draft import Draft
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots
    from hermes_desktop.ui.widgets.event_bridge import EventBridge
    from hermes_desktop.ui.widgets.theme import Theme


@dataclass(frozen=True, slots=True)
class SettingsContext:
    """What every part works with.

    Attributes:
        services: ``services.settings`` reads and writes.
        slots: Runs what clicks start.
        bridge: News.
        theme: Colours.
        clock: For dates.
        draft: Pending edits of options, shared by all pages.
        restart_gateway: Restarts ours, after asking where replies run.
        show_setting: Leads to a setting by its key, on whichever page it stands.
        report: Tells in the strip above the pages what became of a change that a part made itself.
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
        changes: Of settings that the part keeps itself.
        secrets: Values by variable, for the keyring.
        faulty: How many of its fields keep everything from being saved.
    """

    changes: tuple[Change, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict)
    faulty: int = 0

    def __len__(self) -> int:
        return len(self.changes) + len(self.secrets) + self.faulty


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that a search found.

    Attributes:
        page: The name of its page.
        key: Given back to :meth:`SettingsPart.focus_key`.
        label: What stands in the list.
    """

    page: str
    key: str
    label: str


class SettingsPart(QWidget):
    """A block of a page; every method may be left as it is.

    Attributes:
        context: What it works with.
        column: Where its content goes, from top to bottom.

    Signals:
        pending_changed: What :meth:`pending` answers is not what it was.
    """

    pending_changed = Signal()

    def __init__(self, context: SettingsContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.context = context
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(SPACE_8)

    def begin(self) -> None:
        """The part was put on its page and shows for the first time; read here, not before."""

    def grow(self) -> bool:
        """Make a little more of it, a few milliseconds' worth; whether there is more to make."""
        return False

    def search(self, words: Sequence[str]) -> list[Hit]:
        """What of the part, besides options, has all of these (lower-case) words."""
        del words
        return []

    def pending(self) -> Pending:
        """What is to be saved besides the options in the draft."""
        return Pending()

    def revert(self) -> None:
        """Forget what :meth:`pending` answers."""

    def saved(self, applied: Applied) -> None:
        """Everything pending was saved."""
        del applied
        self.revert()

    def show_error(self, key: str, error: HermesError) -> bool:
        """Say at the field of a setting or variable what is wrong; False when it is not here."""
        del key, error
        return False

    def focus_key(self, key: str) -> bool:
        """Put the focus on a setting or variable; False when it is not here."""
        del key
        return False

    def set_saving(self, *, saving: bool) -> None:
        """Everything that is pending is being saved, which may take its time, or that is over."""
        del saving

    def end(self) -> None:
        """The window goes: start nothing more, wait for nothing."""

    def set_locked(self, reason: str) -> None:
        """Let nothing be changed, and say why; "" lets it be changed again."""
        self.setEnabled(not reason)
