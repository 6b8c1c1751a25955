"""The reset rule for chats of one type or platform, where it differs from the rule for all chats.

As long as none of its keys is in the file, the rule for all chats applies, not the defaults of the
keys. The fields are therefore visible only if there is a separate rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.ui.settings.fields.field_row import FieldRow
from hermes_desktop.ui.settings.fields.field_text import value_words
from hermes_desktop.ui.widgets.section_parts import SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_12, SPACE_16

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_desktop.services.settings.settings_reading import SettingView
    from hermes_desktop.ui.settings.fields.parts import SettingsContext

OWN_RULES = ("reset_by_type.", "reset_by_platform.")
_FOR_ALL = "session_reset"
_NAME_WIDTH = 150


class ResetRuleSection(QWidget):
    """A check box that gives chats a rule of their own, with the fields of that rule below.

    Args:
        who: The chats that the rule is for, as declared.
        views: The settings of the rule.
        context: Draft and colors.
        first: Whether it is the first of its block.
    """

    def __init__(
        self, who: str, views: Sequence[SettingView], context: SettingsContext, *, first: bool
    ) -> None:
        super().__init__()
        self.prefix = views[0].key.rpartition(".")[0]
        self.rows: dict[str, FieldRow] = {}
        self._keys = [view.key for view in views]
        self._context = context
        self._first = first
        self._locked = ""
        self.box = QCheckBox(who)
        self.box.setAccessibleDescription(context.draft.tr("Custom rule"))
        self.summary = SecondaryLabel(context.theme)
        self._arrange()
        self.box.clicked.connect(self._switched)
        context.theme.changed.connect(self.update)
        self.refresh()

    def refresh(self, key: str = "") -> None:
        """Show the current state of the draft."""
        on = any(self._is_own(each) for each in self._keys)
        self.box.setChecked(on)
        self.box.setEnabled(not self._locked)
        if on and not self.rows:
            self._add_rows()
        self._holder.setVisible(on)
        for each in [key] if key in self.rows else self.rows:
            self.rows[each].refresh()
        self.summary.setText(self._words(on=on))

    def set_locked(self, reason: str) -> None:
        """Prevent changes for the given reason; "" allows them again."""
        self._locked = reason
        for row in self.rows.values():
            row.set_locked(reason)
        self.refresh()

    def focus(self, key: str) -> None:
        """Put the focus on one of its settings, or on the check box if there is no rule."""
        if key in self.rows and not self._holder.isHidden():
            self.rows[key].focus()
        else:
            self.box.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _is_own(self, key: str) -> bool:
        draft = self._context.draft
        edit = draft.edits.get(key)
        return draft.views[key].is_set if edit is None else not edit.unset

    def _switched(self, on: bool) -> None:  # noqa: FBT001 - a slot of one meaning
        draft = self._context.draft
        if not on:
            draft.reset(*self._keys)
        elif any(draft.views[key].is_set for key in self._keys):
            draft.drop(*self._keys)  # restore the keys of the file
        else:
            mode = draft.value_of(f"{_FOR_ALL}.mode")
            draft.give(f"{self.prefix}.mode", mode, insist=True)
        self.refresh()

    def _words(self, *, on: bool) -> str:
        draft = self._context.draft
        prefix = self.prefix if on else _FOR_ALL
        mode = draft.views[f"{prefix}.mode"].option
        words = value_words(mode, draft.value_of(mode.key))
        self.summary.setToolTip(words)
        return words if on else self.tr("same as all chats")

    def _add_rows(self) -> None:
        draft = self._context.draft
        said: set[str] = set()
        for key in self._keys:
            view = draft.views[key]
            said |= {view.option.unknown_to_hermes}  # the page shows it once for all rules
            row = FieldRow(view, draft, self._context.theme, first=False, said=said)
            said |= {view.option.consequence}
            row.set_locked(self._locked)
            self.rows[key] = row
            self._inside.addWidget(row)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._first:
            painter = QPainter(self)
            painter.setPen(QColor(self._context.theme.palette.separator))
            painter.drawLine(SPACE_16, 0, self.width() - SPACE_16, 0)

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(SPACE_16, SPACE_12, SPACE_16, SPACE_12)
        head.setSpacing(SPACE_16)
        self.box.setMinimumWidth(_NAME_WIDTH)
        head.addWidget(self.box)
        head.addWidget(self.summary, 1)
        self._holder = QWidget()
        self._inside = QVBoxLayout(self._holder)
        self._inside.setContentsMargins(SPACE_16 + SPACE_12, 0, 0, 0)
        self._inside.setSpacing(0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self._holder)
        self._holder.hide()
