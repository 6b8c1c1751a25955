"""All secrets of the home: place, state and use of each, and the state of the keyring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QTableView, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.services.secrets.platform_facts import PLATFORMS, SecretFacts
from hermes_desktop.settings.secret_masking import is_secret_key
from hermes_desktop.settings.secrets import SecretStoreError
from hermes_desktop.ui.settings.fields.parts import (
    Pending,
    SettingHit,
    SettingsContext,
    SettingsPart,
)
from hermes_desktop.ui.settings.secrets.lines import MessageLine, WaitLine, small_button
from hermes_desktop.ui.settings.secrets.secret_commands import SecretCommands
from hermes_desktop.ui.settings.secrets.secret_field import SecretField
from hermes_desktop.ui.settings.secrets.secret_field_controller import SecretFieldController
from hermes_desktop.ui.settings.secrets.secret_model import (
    LABEL,
    STATE,
    USED_BY,
    VIEW_ROLE,
    WHERE,
    Index,
    SecretFilterModel,
    SecretModel,
)
from hermes_desktop.ui.settings.secrets.secret_text import QUIET_STATES, STATE_WORDS, label_words
from hermes_desktop.ui.settings.secrets.secrets_feed import SecretsFeed
from hermes_desktop.ui.widgets.flow_row import FlowRow
from hermes_desktop.ui.widgets.quiet_table import fit_height, style_table, wanted_width
from hermes_desktop.ui.widgets.section_parts import Block, SecondaryLabel, heading_label
from hermes_desktop.ui.widgets.state_shapes import StateShape
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, SPACE_16, Palette, Theme
from hermes_desktop.ui.words.gateway_words import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PySide6.QtCore import QAbstractItemModel
    from PySide6.QtGui import QFocusEvent, QResizeEvent

    from hermes_desktop.core.errors import HermesError
    from hermes_desktop.services.secrets.secrets_repository import SecretView
    from hermes_desktop.services.settings.settings_service import Applied
    from hermes_desktop.settings.secrets import ReadState
    from hermes_desktop.ui.settings.secrets.secret_commands import SecretOutcome
    from hermes_desktop.ui.widgets.theme import Theme

# ------------------------------------------------------------------------------
# The table of secrets: rows of one height, sorted by a click on a header.

_MOST_ROWS = 10
_LEAST_LABEL = 120
_LEAST_USED = 76


class SecretTable(QTableView):
    """A table with one selected row.

    Signals:
        chosen: The selection has changed; carries the view of the row, or None.
    """

    chosen = Signal(object)

    def __init__(self, model: QAbstractItemModel, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Secrets"))
        style_table(self, theme, _colour)
        self.horizontalHeader().setStretchLastSection(True)
        self.setModel(model)
        self.sortByColumn(LABEL, Qt.SortOrder.AscendingOrder)
        self.selectionModel().currentRowChanged.connect(self._tell)
        for signal in (model.modelReset, model.layoutChanged, model.dataChanged):
            signal.connect(self.fit)

    def choose(self, row: int) -> None:
        """Select a row of the visible ones; an invalid row clears the selection."""
        index = self.model().index(row, LABEL)
        self.setCurrentIndex(index)
        if index.isValid():
            self.scrollTo(index)

    def fit(self) -> None:
        """Fit the height to the rows, and each column to its text."""
        fit_height(self, _MOST_ROWS)
        left = self.viewport().width()
        state, used = self._wanted_width(STATE), self._wanted_width(USED_BY)
        label = max(_LEAST_LABEL, self._wanted_width(LABEL))
        where = self._wanted_width(WHERE)
        self.setColumnHidden(USED_BY, left - state - where - _LEAST_LABEL < _LEAST_USED)
        if not self.isColumnHidden(USED_BY):
            left -= used
        over = max(0, label + where + state - left)
        cut = min(over, max(0, label - _LEAST_LABEL))
        for column, width in ((LABEL, label - cut), (WHERE, where - (over - cut)), (STATE, state)):
            self.setColumnWidth(column, max(width, 48))

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        """Select the first row if none is current, so that the keyboard has a place to start."""
        super().focusInEvent(event)
        if not self.currentIndex().isValid():
            self.choose(0)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def _wanted_width(self, column: int) -> int:
        return wanted_width(self, column) + SPACE_8 + SPACE_12

    def _tell(self, current: QModelIndex, _: QModelIndex) -> None:
        self.chosen.emit(current.data(VIEW_ROLE) if current.isValid() else None)


def _colour(index: Index, palette: Palette) -> str:
    """Return the color of a cell; trouble has the color of warnings."""
    if index.column() == STATE and str(index.data() or "") not in QUIET_STATES:
        return palette.warning
    return palette.text if index.column() == LABEL else palette.secondary_text


PAGE = "privacy"


class KeyringLine(QWidget):
    """The state of the keyring, with a button to check or unlock it.

    Args:
        theme: Colors.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.shape = StateShape(theme)
        self.words = SecondaryLabel(theme)
        self.check = small_button(self.tr("Check the keyring"), lambda: None, self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_8)
        row.addWidget(self.shape)
        row.addWidget(self.words, 1)
        row.addWidget(self.check)
        self.show_state(None, "")

    def show_state(self, state: ReadState | None, backend: str) -> None:
        """Show the state; None: the keyring has not been used yet."""
        if state is None:
            self.shape.show_shape("stopped")
            self.words.setText(self.tr("The keyring has not been used yet."))
        elif state == "stored":
            self.shape.show_shape("running")
            words = self.tr("The keyring works: {name}.") if backend else STATE_WORDS[state][1]
            self.words.setText(words.format(name=backend))
        else:
            self.shape.show_shape("attention")
            self.words.setText(STATE_WORDS[state][1])
        locked = state == "locked"
        self.check.setText(self.tr("Unlock…") if locked else self.tr("Check the keyring"))


class SecretsPart(SettingsPart):
    """The keyring, the table, and below it the selected secret with its actions."""

    def __init__(self, context: SettingsContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        theme = context.theme
        self.feed = SecretsFeed(context, self)
        self.commands = SecretCommands(context, self)
        self.keyring = KeyringLine(theme)
        self.keyring_said = MessageLine(theme)
        self.waiting = WaitLine(theme)
        self.model = SecretModel(self)
        self.order = SecretFilterModel(self)
        self.order.setSourceModel(self.model)
        self.table = SecretTable(self.order, theme, self)
        self.empty = SecondaryLabel(theme, self.tr("No secret is set yet."))
        self.unset = QCheckBox(self.tr("Include secrets that are not set"))
        self.ends = QCheckBox(self.tr("Show the last four characters"))
        self.detail = Block(theme)
        self.detail_place = QVBoxLayout()
        self._fields: dict[str, SecretField] = {}
        self.field_controller = SecretFieldController(
            lambda: self._fields, self.feed, self.commands, self
        )
        self._chosen = ""
        self._arrange()
        self._connect()

    # ------------------------------------------------------------------------------- part

    @override
    def begin(self) -> None:
        self.feed.refresh()

    @override
    def search(self, words: Sequence[str]) -> list[SettingHit]:
        found = []
        for view in self.feed.views.values():
            text = f"{view.name} {label_words(view)} secret token key keyring".lower()
            if all(word in text for word in words):
                found.append(SettingHit(PAGE, view.name, label_words(view)))
        return found

    @override
    def pending(self) -> Pending:
        pasted = {name: field.pasted for name, field in self._fields.items()}
        secrets = {name: each.value for name, each in pasted.items() if each.value}
        return Pending((), secrets, sum(1 for each in pasted.values() if each.problem))

    @override
    def revert(self) -> None:
        for field in self._fields.values():
            field.clear()

    @override
    def show_error(self, key: str, error: HermesError) -> bool:
        if isinstance(error, SecretStoreError) and not key:
            return bool(self.field_controller.keyring_failed(error))
        return self.field_controller.refused(key, error)

    @override
    def saved(self, applied: Applied) -> None:
        del applied
        if self.field_controller.saved():
            self.feed.refresh()

    @override
    def set_saving(self, *, saving: bool) -> None:
        self.field_controller.wait_for(self.tr("Waiting for the keyring") if saving else "")

    @override
    def focus_key(self, key: str) -> bool:
        row = self.model.row_of(key)
        if row < 0 or not is_secret_key(key):
            return False
        if not self.feed.view(key).places:
            self.unset.setChecked(True)
        index = self.order.mapFromSource(self.model.index(row, 0))
        self.table.choose(index.row())
        self.table.setFocus()
        return index.isValid()

    @override
    def set_locked(self, reason: str) -> None:
        """Lock what is in files; the keyring is not a file of the home and can still be changed."""
        for name, field in self._fields.items():
            field.show_view(self.feed.view(name), managed=reason)

    # --------------------------------------------------------------------------------- internals

    def _arrange(self) -> None:
        self.column.addWidget(heading_label(self.tr("Secrets")))
        about = self.tr(
            "Tokens and keys are stored in the system keyring. The first source that has one "
            "is used: environment, keyring, plain file, .env, config.yaml."
        )
        self.column.addWidget(SecondaryLabel(self.context.theme, about))
        boxes = FlowRow(gap=SPACE_16)
        for box in (self.unset, self.ends):
            boxes.add(box)
        for widget in (self.keyring, self.keyring_said, self.waiting, self.table, self.empty):
            self.column.addWidget(widget)
        self.column.addWidget(boxes)
        self.detail.column.addLayout(self.detail_place)
        self.column.addWidget(self.detail)
        self.detail.hide()

    def _connect(self) -> None:
        self.feed.looked.connect(self._looked)
        self.feed.slow.connect(lambda: self.waiting.begin(self.tr("Checking the keyring")))
        self.feed.over.connect(self._over)
        self.feed.broken.connect(lambda error: self.keyring_said.say("error", plain(str(error))))
        self.keyring.check.clicked.connect(self.commands.check)
        self.waiting.given_up.connect(self.commands.stop_waiting)
        self.table.chosen.connect(self._choose)
        self.unset.toggled.connect(self._show_unset)
        self.ends.toggled.connect(self.model.show_ends)
        self.commands.busy_changed.connect(self._busy)
        self.field_controller.told_elsewhere.connect(self._told)
        self.field_controller.emptied.connect(self.pending_changed)

    def _looked(self) -> None:
        chosen = self._chosen
        self.model.show_views(self.feed.views.values())
        managed = self.context.services.settings.managed
        for name, field in self._fields.items():
            field.show_view(self.feed.view(name), managed=managed)
        self.keyring.show_state(*_keyring_state(self.feed.views))
        self._settle()
        if chosen:
            row = self.order.mapFromSource(self.model.index(self.model.row_of(chosen), 0)).row()
            self.table.choose(row)

    def _settle(self) -> None:
        rows = self.order.rowCount()
        self.table.setVisible(rows > 0)
        self.empty.setVisible(rows == 0)
        self.table.fit()

    def _show_unset(self, wanted: bool) -> None:  # noqa: FBT001 - a slot of one meaning
        self.order.show_all(wanted)
        self._settle()

    def _choose(self, view: SecretView | None) -> None:
        self._chosen = view.name if view is not None else ""
        field = self._field(view) if view is not None else None
        for each in self._fields.values():
            each.setVisible(each is field)
        self.detail.setVisible(field is not None)

    def _field(self, view: SecretView) -> SecretField:
        """Return the field of a secret, created on first selection."""
        field = self._fields.get(view.name)
        if field is None:
            field = SecretField(_facts(view), self.context.theme)
            if view.name in _ON_PLATFORMS:
                field.lead_elsewhere(PLATFORMS[view.platform].title)
            field.edited.connect(self.pending_changed)
            field.wanted.connect(lambda what, name=view.name: self._run(what, name))
            self.detail_place.addWidget(field)
            self._fields[view.name] = field
        field.show_view(view, managed=self.context.services.settings.managed)
        return field

    def _run(self, what: str, name: str) -> None:
        if what == "elsewhere":
            self.context.show_setting(name)
        else:
            self.field_controller.run(what, name)

    def _busy(self, name: str, what: str) -> None:
        if what and name not in self._fields:
            self.waiting.begin(what)
        else:
            self.waiting.end()
        self.keyring.check.setEnabled(not what)

    def _over(self) -> None:
        if not self.commands.busy:
            self.waiting.end()

    def _told(self, told: SecretOutcome) -> None:
        self.keyring_said.say("ok" if told.good else "error", told.words)


def _keyring_state(views: Mapping[str, SecretView]) -> tuple[ReadState | None, str]:
    """Return the state of the keyring from its answers: if it returned a secret, it works."""
    kept = [place for view in views.values() for place in view.places if place.where == "keyring"]
    asked = [place for place in kept if place.state not in {"missing", "damaged"}]
    found = next((place for place in asked if place.state == "stored"), None)
    found = found or next(iter(asked), None)
    return (found.state, found.place) if found is not None else (None, "")


_ON_PLATFORMS = frozenset(
    secret.variable for facts in PLATFORMS.values() for secret in facts.secrets
)
"""Secrets that are pasted on the platforms page, where they can also be tested."""


def _facts(view: SecretView) -> SecretFacts:
    """Return what is known of a secret; only the name if it is not declared."""
    known = {each.variable: each for facts in PLATFORMS.values() for each in facts.secrets}
    found = known.get(view.name)
    if found is not None:
        return SecretFacts(
            found.variable,
            label_words(view),
            found.where,
            kind=found.kind,
            shape=found.shape,
            looks=found.looks,
        )
    about = (
        "" if view.label else "It is stored in the keyring or in .env, but no setting here uses it."
    )
    return SecretFacts(view.name, label_words(view), about, kind="password")
