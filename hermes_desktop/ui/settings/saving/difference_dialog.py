"""A dialog for the difference between two texts of a file before it is written or restored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QVBoxLayout, QWidget

from hermes_desktop.ui.widgets.control_corrections import remove_icons
from hermes_desktop.ui.widgets.difference_text import DifferenceText
from hermes_desktop.ui.widgets.section_parts import LeadingLabel, heading_label
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, SPACE_16, SPACE_24

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_desktop.ui.widgets.theme import Theme

_SIZE = QSize(620, 440)


class DifferenceDialog(QDialog):
    """A title, facts, a diff, and a button that names the result.

    Open it with ``open()``. Accepted means that the action is to be carried out.

    Args:
        title: What the difference is about.
        difference: The output of ``difflib.unified_diff``; "" for none.
        facts: Further remarks, one label each.
        action: Label of the button that accepts; "" for a read-only dialog.
        theme: Colors.
    """

    def __init__(
        self,
        title: str,
        difference: str,
        *,
        facts: Sequence[str] = (),
        action: str = "",
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Settings"))
        self.resize(_SIZE)
        self.setAccessibleDescription(" ".join(facts))
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_24, SPACE_24, SPACE_24, SPACE_16)
        column.setSpacing(SPACE_12)
        column.addWidget(heading_label(title, share=1.1))
        for fact in facts:
            column.addWidget(LeadingLabel(fact))
        self.text = DifferenceText(difference, theme)
        self.text.setVisible(bool(difference))
        column.addWidget(self.text, 1)
        column.addSpacing(SPACE_8)
        kind = QDialogButtonBox.StandardButton
        buttons = QDialogButtonBox(kind.Cancel if action else kind.Close)
        self.agree = None
        if action:
            self.agree = buttons.addButton(action, QDialogButtonBox.ButtonRole.AcceptRole)
        remove_icons(buttons)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column.addWidget(buttons)
