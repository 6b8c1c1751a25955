"""The settings for groups of one platform: which are answered, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QVBoxLayout, QWidget

from hermes_desktop.ui.settings.fields.field_row import FieldRow
from hermes_desktop.ui.settings.platforms.people_block import padded
from hermes_desktop.ui.widgets.section_parts import heading_label
from hermes_desktop.ui.widgets.theme import SPACE_4

if TYPE_CHECKING:
    from hermes_desktop.services.secrets.platform_facts import PlatformFacts
    from hermes_desktop.ui.settings.fields.parts import SettingsContext


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
