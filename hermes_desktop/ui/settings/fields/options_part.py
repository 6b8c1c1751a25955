"""Options of a settings section as blocks of fields, generated from their declarations."""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from typing_extensions import override

from hermes_desktop.ui.settings.fields.field_row import FieldRow, heading
from hermes_desktop.ui.settings.fields.field_text import label_parts, plain
from hermes_desktop.ui.settings.fields.parts import SettingsContext, SettingsPart
from hermes_desktop.ui.settings.fields.policy_fold import OWN_RULES, ResetRuleSection
from hermes_desktop.ui.widgets.section_parts import Block, SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_16

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hermes_desktop.core.errors import HermesError
    from hermes_desktop.services.settings.settings_reading import SettingView


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
