"""Options of a settings section as blocks of fields, generated from their declarations.

The reset rule for one type of chat or platform is folded. As long as none of its keys is in the
file, the rule for all chats applies, not the defaults of the keys. The fields are therefore visible
only if there is a separate rule.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.ui.settings.fields.field_row import FieldRow, heading
from hermes_desktop.ui.settings.fields.field_text import label_parts, plain, value_words
from hermes_desktop.ui.settings.fields.parts import SettingsContext, SettingsPart
from hermes_desktop.ui.widgets.section_parts import Block, SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_12, SPACE_16

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hermes_desktop.core.errors import HermesError
    from hermes_desktop.services.settings.settings_reading import SettingView

OWN_RULES = ("reset_by_type.", "reset_by_platform.")
_FOR_ALL = "session_reset"
_NAME_WIDTH = 150


class ResetRuleSection(QWidget):
    """A check box that gives chats a separate rule, with the fields of that rule below.

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


class OptionsPart(SettingsPart):
    """One section: a heading, and a block for each subject of its options.

    Args:
        context: Services, draft and colors.
        title: The heading.
        views: The options, in their order.
    """

    def __init__(self, context: SettingsContext, title: str, views: Sequence[SettingView]) -> None:
        super().__init__(context)
        self.title = title
        self._locked = ""
        self._rows: dict[str, FieldRow] = {}
        self._folds: dict[str, ResetRuleSection] = {}
        self._jobs: deque[Callable[[], None]] = deque()
        self.setAccessibleName(title)
        self.column.addWidget(heading(title))
        groups = [
            (who, list(found))
            for who, found in groupby(views, lambda view: label_parts(view.option).who)
        ]
        folded = [group for group in groups if _has_own_rules(group[1])]
        for who, found in groups:
            if not _has_own_rules(found):
                self._add_block(who if len(groups) > 1 else "", found)
        if folded:
            self._add_folds(folded)
        context.draft.key_changed.connect(self._key_changed)

    @override
    def grow(self) -> bool:
        if self._jobs:
            self._jobs.popleft()()
        return bool(self._jobs)

    def _finish(self) -> None:
        while self.grow():
            pass

    def row(self, key: str) -> FieldRow | None:
        """Return the field of a setting, created if necessary."""
        self._finish()
        fold = self._fold_of(key)
        return self._rows.get(key) if fold is None else fold.rows.get(key)

    @override
    def set_locked(self, reason: str) -> None:
        """Disable all fields and show the reason at each."""
        if reason == self._locked:
            return
        self._locked = reason
        for row in self._rows.values():
            row.set_locked(reason)
        for fold in self._folds.values():
            fold.set_locked(reason)

    @override
    def focus_key(self, key: str) -> bool:
        """Put the focus on a setting."""
        self._finish()
        fold = self._fold_of(key)
        if fold is not None:
            fold.focus(key)
            return True
        if key in self._rows:
            self._rows[key].focus()
        return key in self._rows

    @override
    def show_error(self, key: str, error: HermesError) -> bool:
        """Show at its field why a value was rejected."""
        row, edit = self.row(key), self.context.draft.edits.get(key)
        if row is None or edit is None:
            return False
        words = " ".join(filter(None, (error.title, error.detail, error.hint)))
        row.notes.show_refusal(plain(words), edit.given)
        row.refresh()
        return True

    def _add_block(self, who: str, views: Sequence[SettingView]) -> None:
        if who:
            name = SecondaryLabel(self.context.theme, who)
            name.setContentsMargins(0, SPACE_4, 0, 0)
            self.column.addWidget(name)
        block = Block(self.context.theme)
        block.column.setContentsMargins(0, 0, 0, 0)
        block.column.setSpacing(0)
        self.column.addWidget(block)
        shared = common_hint(views)
        said = {shared}
        for number, view in enumerate(views):
            self._jobs.append(partial(self._add_row, block, view, frozenset(said), not number))
            said.add(view.option.consequence)
        if shared:
            self.column.addWidget(self._hint(shared))

    def _add_row(
        self,
        block: Block,
        view: SettingView,
        said: frozenset[str],
        first: bool,  # noqa: FBT001 - one of several in a queue
    ) -> None:
        draft = self.context.draft
        row = FieldRow(draft.views[view.key], draft, self.context.theme, first=first, said=said)
        if self._locked:
            row.set_locked(self._locked)
        self._rows[view.key] = row
        block.column.addWidget(row)

    def _add_folds(self, groups: Sequence[tuple[str, list[SettingView]]]) -> None:
        everything = [view for _, views in groups for view in views]
        shared = common_hint(everything)
        block = Block(self.context.theme)
        block.column.setContentsMargins(0, 0, 0, 0)
        block.column.setSpacing(0)
        name = SecondaryLabel(self.context.theme, self.tr("Custom rules"))
        name.setContentsMargins(0, SPACE_8, 0, 0)
        self.column.addWidget(name)
        self.column.addWidget(block)
        for number, (who, views) in enumerate(groups):
            self._jobs.append(partial(self._add_fold, block, who, views, not number))
        if shared:
            self.column.addWidget(self._hint(shared))

    def _add_fold(
        self,
        block: Block,
        who: str,
        views: Sequence[SettingView],
        first: bool,  # noqa: FBT001 - one of several in a queue
    ) -> None:
        fold = ResetRuleSection(who, views, self.context, first=first)
        if self._locked:
            fold.set_locked(self._locked)
        self._folds[fold.prefix] = fold
        block.column.addWidget(fold)

    def _hint(self, words: str) -> SecondaryLabel:
        hint = SecondaryLabel(self.context.theme, plain(words))
        hint.setContentsMargins(SPACE_16, 0, SPACE_16, 0)
        return hint

    def _fold_of(self, key: str) -> ResetRuleSection | None:
        return self._folds.get(key.rpartition(".")[0])

    def _key_changed(self, key: str) -> None:
        if key in self._rows:
            self._rows[key].refresh()
        elif (fold := self._fold_of(key)) is not None:
            fold.refresh(key)


def common_hint(views: Sequence[SettingView]) -> str:
    """Return how ``hermes`` treats all of them; "" if that differs or there is only one."""
    hints = {view.option.unknown_to_hermes for view in views}
    return hints.pop() if len(hints) == 1 and len(views) > 1 else ""


def _has_own_rules(views: Sequence[SettingView]) -> bool:
    return all(view.key.startswith(OWN_RULES) for view in views)
