"""The settings of one platform: tokens first, the other blocks one by one afterwards.

The connection test is a real round trip with stored and pasted values; nothing is stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from hermes_desktop.core.errors import HermesError
from hermes_desktop.ui.settings.fields.field_row import FieldRow
from hermes_desktop.ui.settings.platforms.home_row import HomeChannelRow
from hermes_desktop.ui.settings.platforms.people_block import SendersBlock, padded
from hermes_desktop.ui.settings.platforms.platform_state import check_text
from hermes_desktop.ui.settings.secrets.lines import MessageLine, WaitLine, small_button
from hermes_desktop.ui.settings.secrets.secret_field import SecretField
from hermes_desktop.ui.widgets.section_parts import SecondaryLabel, heading_label
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_12
from hermes_desktop.ui.words.gateway_words import plain

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hermes_desktop.services.secrets.platform_facts import PlatformFacts
    from hermes_desktop.services.secrets.secrets_repository import SecretView
    from hermes_desktop.services.settings.platform_settings import PlatformSettings
    from hermes_desktop.services.settings.settings_repository import Change
    from hermes_desktop.ui.settings.fields.parts import SettingsContext
    from hermes_desktop.ui.settings.secrets.lines import Level


class CheckRow(QWidget):
    """A button, a wait and the answer.

    Args:
        facts: The platform.
        context: Context of the settings.

    Signals:
        wanted: The button was pressed; the owner calls :meth:`run`.
        refused_at: Carries an invalid setting or variable, and the error.
    """

    wanted = Signal()
    refused_at = Signal(str, object)

    def __init__(self, facts: PlatformFacts, context: SettingsContext) -> None:
        super().__init__()
        self._facts = facts
        self._context = context
        self._task: asyncio.Task[None] | None = None
        self.button = small_button(self.tr("Test connection"), self.wanted.emit, self)
        self.button.setAccessibleName(
            self.tr("Test the connection with {name}").format(name=facts.title)
        )
        self.hint = SecondaryLabel(context.theme)
        self.waiting = WaitLine(context.theme)
        self.answer = MessageLine(context.theme)
        head = QHBoxLayout()
        head.setSpacing(SPACE_8)
        head.addWidget(self.button)
        head.addWidget(self.hint, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_4)
        column.addLayout(head)
        column.addWidget(self.waiting)
        column.addWidget(self.answer)
        self.waiting.given_up.connect(self.stop)

    def show_ready(self, *, has_token: bool, pasted: bool, unknown: bool = False) -> None:
        """Show what would be tested; no hint while it is unknown whether there is a token."""
        self.button.setEnabled((has_token or pasted) and self._task is None)
        words = ""
        if pasted:
            words = self.tr("Tests the pasted value without storing it.")
        elif not has_token and not unknown:
            words = self.tr("There is no token to test yet.")
        self.hint.setText(words)

    def run(self, secrets: Mapping[str, str], changes: Sequence[Change]) -> None:
        """Test the connection with these values over the stored ones."""
        if self._task is None:
            self.answer.clear()
            self.button.setEnabled(False)
            self.waiting.begin(self.tr("Contacting {name}").format(name=self._facts.title))
            self._task = self._context.slots.start(
                self._ask(secrets, changes), doing=self.tr("Testing a connection")
            )

    def stop(self) -> None:
        """Cancel the test."""
        if self._task is not None:
            self._task.cancel()
            self._end("info", self.tr("The test was canceled."))

    def forget(self) -> None:
        """Clear the answer, which is outdated once a setting changes."""
        self.answer.clear()

    async def _ask(self, secrets: Mapping[str, str], changes: Sequence[Change]) -> None:
        settings = self._context.services.settings
        try:
            answer = await settings.check_platform(self._facts.name, secrets, changes)
        except HermesError as error:
            self._end("error", plain(str(error)))
            self.refused_at.emit(getattr(error, "key", ""), error)
        except Exception:
            self._end("error", self.tr("The test failed. See the log for details."))
            raise
        else:
            self._end(*check_text(answer, self._facts))

    def _end(self, level: Level, words: str) -> None:
        self._task = None
        self.waiting.end()
        self.button.setEnabled(True)
        self.answer.say(level, words)


# ------------------------------------------------------------------------------
# The settings for groups of one platform: which are answered, and when.


class GroupsBlock(QWidget):
    """A heading, and a field for each of those settings.

    Args:
        facts: The platform.
        context: Context of the settings.
    """

    def __init__(self, facts: PlatformFacts, context: SettingsContext) -> None:
        super().__init__()
        draft = context.draft
        self.rows = [
            FieldRow(draft.views[key], draft, context.theme, first=place == 0)
            for place, key in enumerate(key for key in facts.group_keys if key in draft.views)
        ]
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_4)
        column.addWidget(padded(heading_label(self.tr("Groups"))))
        for row in self.rows:
            column.addWidget(row)
        draft.key_changed.connect(self._refresh)

    def row(self, key: str) -> FieldRow | None:
        """Return the field of a setting."""
        return next((row for row in self.rows if row.key == key), None)

    def set_locked(self, reason: str) -> None:
        """Disable the fields for the given reason; "" enables them again."""
        for row in self.rows:
            row.set_locked(reason)

    def _refresh(self, key: str) -> None:
        row = self.row(key)
        if row is not None:
            row.refresh()


class PlatformBody(QWidget):
    """The content of a card, created when the card is first opened.

    Blocks that are added later are filled by the owner on ``grown``.

    Args:
        facts: The platform.
        context: Context of the settings.

    Signals:
        grown: A block was added.
    """

    grown = Signal()

    def __init__(self, facts: PlatformFacts, context: SettingsContext) -> None:
        super().__init__()
        self._facts = facts
        self._context = context
        self._locked = ""
        self.people: SendersBlock | None = None
        self.toolsets: FieldRow | None = None
        self.groups: GroupsBlock | None = None
        self.home: HomeChannelRow | None = None
        self.why = SecondaryLabel(context.theme)
        self.said = MessageLine(context.theme)
        self.fields = {each.variable: SecretField(each, context.theme) for each in facts.secrets}
        self.check = CheckRow(facts, context)
        self.check.setVisible(context.services.settings.serves(facts.name))
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, SPACE_12, 0, SPACE_12)
        self._column.setSpacing(SPACE_12)
        self._column.addWidget(padded(self.why, self.said, *self.fields.values(), self.check))
        self._left: list[Callable[[], None]] = list(self._pieces())
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._grow)
        self._timer.start()

    @property
    def whole(self) -> bool:
        """Whether all blocks were added."""
        return not self._left

    def complete(self) -> None:
        """Add the remaining blocks now."""
        while self._left:
            self._grow()

    def show_secrets(self, views: Mapping[str, SecretView], managed: str, *, known: bool) -> None:
        """Show where the secrets are."""
        for name, field in self.fields.items():
            field.show_view(views.get(name), managed=managed, known=known)

    def show_standing(self, standing: PlatformSettings) -> None:
        """Show the values that variables set."""
        if self.people is not None:
            self.people.show_standing(standing)
        if self.home is not None:
            self.home.show_home(standing.home)

    def show_why(self, words: str) -> None:
        """Show the reason for the state of the platform; "" hides it."""
        self.why.setText(words)
        self.why.setVisible(bool(words))

    def set_locked(self, reason: str) -> None:
        """Disable what is stored in files for the given reason; "" enables it again."""
        self._locked = reason
        for part in (self.people, self.groups, self.toolsets, self.home):
            if part is not None:
                part.set_locked(reason)

    def row(self, key: str) -> FieldRow | None:
        """Return the field of a setting, adding all blocks if it belongs to this platform."""
        if key not in {
            self._facts.people_key,
            self._facts.strangers_key,
            self._facts.toolsets_key,
            *self._facts.group_keys,
        }:
            return None
        self.complete()
        if self.groups is not None and (found := self.groups.row(key)) is not None:
            return found
        if self.toolsets is not None and self.toolsets.key == key:
            return self.toolsets
        return self.people.row(key) if self.people is not None else None

    def _pieces(self) -> Iterator[Callable[[], None]]:
        if self._facts.people:
            yield self._add_people
        if any(key in self._context.draft.views for key in self._facts.group_keys):
            yield self._add_groups
        if self._facts.toolsets_key in self._context.draft.views:
            yield self._add_toolsets
        if self._facts.home:
            yield self._add_home

    def _grow(self) -> None:
        if self._left:
            self._left.pop(0)()
            self.set_locked(self._locked)
            self.grown.emit()
        if self._left:
            self._timer.start()

    def _add_people(self) -> None:
        self.people = SendersBlock(self._facts, self._context)
        self._column.addWidget(self.people)

    def _add_groups(self) -> None:
        self.groups = GroupsBlock(self._facts, self._context)
        self._column.addWidget(self.groups)

    def _add_toolsets(self) -> None:
        draft, key = self._context.draft, self._facts.toolsets_key
        row = self.toolsets = FieldRow(draft.views[key], draft, self._context.theme, first=False)
        draft.key_changed.connect(lambda changed: row.refresh() if changed == key else None)
        self._column.addWidget(row)

    def _add_home(self) -> None:
        self.home = HomeChannelRow(self._facts, self._context)
        self._column.addWidget(padded(self.home))
