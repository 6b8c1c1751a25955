"""One platform: a line with its state, and its settings folded below."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QToolButton, QWidget
from typing_extensions import override

from hermes_desktop.services.settings.settings_repository import Change
from hermes_desktop.ui.settings.platforms.people_block import padded
from hermes_desktop.ui.settings.platforms.platform_body import PlatformBody
from hermes_desktop.ui.settings.platforms.platform_state import health_line, trouble_level
from hermes_desktop.ui.settings.secrets.lines import MessageLine
from hermes_desktop.ui.widgets.resource_files import icon, pixmap
from hermes_desktop.ui.widgets.section_parts import Block, SecondaryLabel, heading_label
from hermes_desktop.ui.widgets.state_shapes import StateShape
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_16
from hermes_desktop.ui.words.gateway_words import plain
from hermes_desktop.ui.words.platform_words import UNAVAILABLE_WORDS
from hermes_desktop.ui.words.source_names import source_icon

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hermes_desktop.core.errors import HermesError
    from hermes_desktop.core.events import GatewayStatusChanged
    from hermes_desktop.services.secrets.platform_facts import PlatformFacts
    from hermes_desktop.services.secrets.secrets_repository import SecretView
    from hermes_desktop.services.settings.platform_settings import PlatformSettings
    from hermes_desktop.ui.settings.fields.parts import SettingsContext
    from hermes_desktop.ui.settings.platforms.people_block import SendersBlock
    from hermes_desktop.ui.settings.secrets.lines import Level
    from hermes_desktop.ui.settings.secrets.secret_field import SecretField

_ICON = 20


class CardHead(QWidget):
    """Name, state and switch; a click elsewhere on the line folds or unfolds.

    Signals:
        fold_wanted: The line was clicked.
    """

    fold_wanted = Signal()

    def __init__(self, facts: PlatformFacts, context: SettingsContext) -> None:
        super().__init__()
        self._facts = facts
        self._theme = context.theme
        self._drawing = QLabel()
        self.title = heading_label(facts.title)
        self.title.setWordWrap(False)
        self.shape = StateShape(context.theme)
        self.state = SecondaryLabel(context.theme)
        self.state.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        self.switch = QCheckBox(self.tr("On"))
        self.switch.setAccessibleName(self.tr("{name} is on").format(name=facts.title))
        self.fold = QToolButton()
        self.fold.setAutoRaise(True)
        self.fold.clicked.connect(self.fold_wanted)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_16, SPACE_8, SPACE_8, SPACE_8)
        row.setSpacing(SPACE_8)
        row.addWidget(self._drawing)
        row.addWidget(self.title)
        row.addSpacing(SPACE_8)
        row.addWidget(self.shape)
        row.addWidget(self.state, 1)
        row.addWidget(self.switch)
        row.addWidget(self.fold)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        context.theme.changed.connect(self._colour)
        self.show_open(opened=False)

    def show_open(self, *, opened: bool) -> None:
        """Show whether the card is unfolded."""
        self._opened = opened
        words = self.tr("Close {name}") if opened else self.tr("Set up {name}")
        words = words.format(name=self._facts.title)
        self.fold.setToolTip(words)
        self.fold.setAccessibleName(words)
        self._colour()

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.pos()):
            self.fold_wanted.emit()

    def _colour(self) -> None:
        palette = self._theme.palette
        ratio = self.devicePixelRatioF()
        drawing = pixmap(source_icon(self._facts.name), palette.secondary_text, _ICON, ratio)
        self._drawing.setPixmap(drawing)
        self.fold.setIcon(icon("chevron-up" if self._opened else "chevron-down", palette))


class PlatformCard(Block):
    """A card that keeps pasted secrets and the switch until the settings are saved.

    Args:
        facts: The platform.
        context: Context of the settings.

    Signals:
        grown: A block was added that must be filled.
        pending_changed: The pending changes are different.
        secret_wanted: Carries the action on a secret, and its variable.
    """

    grown = Signal()
    pending_changed = Signal()
    secret_wanted = Signal(str, str)

    def __init__(self, facts: PlatformFacts, context: SettingsContext) -> None:
        super().__init__(context.theme)
        self.facts = facts
        self._context = context
        self._switched: bool | None = None
        self._has_secrets = False
        self._secrets_known = False
        self._locked = ""
        self._opened = False
        self.served = context.services.settings.serves(facts.name)
        self.head = CardHead(facts, context)
        self.body: PlatformBody | None = None
        self._why = ""
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(0)
        self.column.addWidget(self.head)
        self.trouble = MessageLine(context.theme)
        self._trouble_holder = padded(self.trouble)
        self._trouble_holder.setContentsMargins(0, 0, 0, SPACE_8)
        self._trouble_holder.hide()
        self.column.addWidget(self._trouble_holder)
        self.head.fold_wanted.connect(lambda: self.show_open(opened=not self._opened))
        self.head.switch.clicked.connect(self._switch)

    # ------------------------------------------------------------------------------- pending

    @property
    def is_open(self) -> bool:
        """Whether the card is unfolded."""
        return self._opened

    @property
    def fields(self) -> Mapping[str, SecretField]:
        """The fields of its secrets, by variable; empty before the card was first opened."""
        return self.body.fields if self.body is not None else {}

    @property
    def people(self) -> SendersBlock | None:
        """The block of authorized senders, once it was added."""
        return self.body.people if self.body is not None else None

    @property
    def is_on(self) -> bool:
        """Whether the platform is on, pending changes included; a token alone switches it on."""
        if self._switched is not None:
            return self._switched
        view = self._context.draft.views.get(self.facts.switch_key)
        if view is None or not view.is_explicit:
            return self._has_secrets or not self._secrets_known
        return bool(view.value)

    @property
    def _is_switched_off(self) -> bool:
        """Whether the platform is switched off explicitly."""
        if self._switched is not None:
            return not self._switched
        view = self._context.draft.views.get(self.facts.switch_key)
        return view is not None and view.is_explicit and not view.value

    def changes(self) -> tuple[Change, ...]:
        """Return pending changes of its settings besides those in the draft."""
        view = self._context.draft.views.get(self.facts.switch_key)
        if self._switched is None or view is None:
            return ()
        return (Change(self.facts.switch_key, self._switched, seen=view.seen),)

    def pasted(self) -> dict[str, str]:
        """Return pasted secrets that are valid."""
        found = {name: field.pasted.value for name, field in self.fields.items()}
        return {name: value for name, value in found.items() if value}

    def faulty(self) -> int:
        """Return how many fields hold an invalid value."""
        return sum(1 for field in self.fields.values() if field.pasted.problem)

    def revert(self) -> None:
        """Drop the pending changes."""
        for field in self.fields.values():
            field.clear()
        self.saved()

    def saved(self) -> None:
        """Reset the pending state of the switch after a save."""
        self._switched = None
        if self.body is not None:
            self.body.said.clear()
        self._settle()

    # ------------------------------------------------------------------------------- display

    def show_secrets(
        self, views: Mapping[str, SecretView], managed: str, *, known: bool = True
    ) -> None:
        """Show where its secrets are, once that is known."""
        self._secrets_known = known
        needed = [each for each in self.facts.secrets if each.required]
        counts = {name for name, view in views.items() if view.places}
        instead = {each.instead_of for each in self.facts.secrets if each.variable in counts}
        wanted = {each.variable for each in needed}
        self._has_secrets = bool(needed) and wanted <= counts | instead
        if self.body is not None:
            self.body.show_secrets(views, managed, known=known)
        self._settle()

    def show_standing(self, standing: PlatformSettings) -> None:
        """Show the values that variables set."""
        if self.body is not None:
            self.body.show_standing(standing)

    def show_status(self, status: GatewayStatusChanged, now: float) -> None:
        """Show the state of the platform."""
        shape, words, why = health_line(
            self.facts.name,
            status,
            now,
            on=self.is_on,
            served=self.served,
            missing=not self.is_on and not self._is_switched_off,
        )
        self.head.shape.show_shape(shape)
        self.head.state.setText(words)
        if not self.served:
            why = UNAVAILABLE_WORDS
        level = trouble_level(self.facts.name, status, shape)
        self._show_why(why, level)
        name = f"{self.facts.title}, {words}"
        if name != self.accessibleName():
            self.setAccessibleName(name)

    def _show_why(self, why: str, level: Level | None) -> None:
        """Show the reason for the state: trouble even while the card is folded."""
        self._why = "" if level else why
        if self.body is not None:
            self.body.show_why(self._why)
        self._trouble_holder.setVisible(bool(level and why))
        self.trouble.say(level or "info", why if level else "")
        self.setAccessibleDescription(self.trouble.text)

    def show_open(self, *, opened: bool) -> None:
        """Unfold or fold the card."""
        self._opened = opened
        if opened:
            self._body()
        if self.body is not None:
            self.body.setVisible(opened)
        self.head.show_open(opened=opened)

    def set_locked(self, reason: str) -> None:
        """Disable the settings; secrets in the keyring can still be changed."""
        self._locked = reason
        if self.body is not None:
            self.body.set_locked(reason)
        self._settle()

    def focus_key(self, key: str) -> bool:
        """Unfold the card and put the focus on a setting or variable."""
        self.show_open(opened=True)
        body = self._body()
        row, field = body.row(key), body.fields.get(key)
        if row is not None:
            row.focus()
        elif field is not None:
            field.focus()
        elif key == self.facts.switch_key:
            self.head.switch.setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            return False
        return True

    def say(self, error: HermesError) -> None:
        """Show an error of the switch."""
        self.show_open(opened=True)
        self._body().said.say("error", plain(str(error)))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._opened and self.body is not None:
            painter = QPainter(self)
            painter.setPen(QColor(self._theme.palette.separator))
            y = self.body.geometry().top()
            painter.drawLine(1, y, self.width() - 2, y)

    # --------------------------------------------------------------------------------- internals

    def _body(self) -> PlatformBody:
        """Return the folded content, created on first use."""
        if self.body is None:
            body = self.body = PlatformBody(self.facts, self._context)
            self.column.addWidget(body)
            body.set_locked(self._locked)
            body.show_why(self._why)
            body.check.wanted.connect(self._test)
            body.check.refused_at.connect(self._refused_at)
            for name, field in body.fields.items():
                field.edited.connect(self._edited)
                field.wanted.connect(lambda what, name=name: self.secret_wanted.emit(what, name))
            body.grown.connect(self.grown)
            self._settle()
            self.grown.emit()
        return self.body

    def _switch(self, on: bool) -> None:  # noqa: FBT001 - a slot of one meaning
        self._switched = None
        self._switched = on if on != self.is_on else None
        self._settle()
        self.pending_changed.emit()

    def _edited(self) -> None:
        self._body().check.forget()
        self._settle()
        self.pending_changed.emit()

    def _settle(self) -> None:
        """Update what depends on secrets, switch and lock."""
        switch = self.head.switch
        switch.setChecked(self.is_on)
        switch.setEnabled(not self._locked and self.facts.switch_key in self._context.draft.views)
        switch.setToolTip(plain(self._locked))
        words = self.tr("On") if self._switched is None else self.tr("On, not saved yet")
        if self._switched is False:
            words = self.tr("Off, not saved yet")
        switch.setText(words)
        if self.body is not None:
            self.body.check.show_ready(
                has_token=self._has_secrets,
                pasted=bool(self.pasted()),
                unknown=not self._secrets_known,
            )

    def _test(self) -> None:
        names = (f"platforms.{self.facts.name}.", f"{self.facts.name}.")
        draft = self._context.draft
        drafted = [
            change
            for change in draft.changes()
            if change.key.startswith(names) and change.key not in draft.faulty
        ]
        changes = [replace(change, seen=()) for change in (*drafted, *self.changes())]
        self._body().check.run(self.pasted(), changes)

    def _refused_at(self, key: str, error: object) -> None:
        field = self.fields.get(key)
        if field is not None:
            field.show_problem(plain(str(error)))
