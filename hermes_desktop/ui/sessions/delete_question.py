"""Confirmation dialogs with their texts: what a deletion removes, whether to keep a large copy."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLabel,
    QMessageBox,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from hermes_desktop.services.sessions.delete_plan import DeletePlan, PlannedConversation
from hermes_desktop.services.sessions.live_actions import DeletePreview
from hermes_desktop.ui.widgets.control_corrections import remove_icons
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.resource_files import pixmap
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, SPACE_16, SPACE_24, Theme
from hermes_desktop.ui.words.source_names import source_icon, source_name

KEPT_WORDS = "Kept in the trash for 30 days. Undo restores everything."
_LONGEST_NAME = 60


def quoted(label: str) -> str:
    """Return a session's name in quotation marks, on one line and cut to a maximum length."""
    flat = " ".join(label.split())
    return f"“{flat if len(flat) <= _LONGEST_NAME else flat[: _LONGEST_NAME - 1] + '…'}”"


def sessions_text(count: int) -> str:
    """Return ``1 session``, ``1,200 sessions``."""
    return _counted(count, "session")


def what_goes(plan: DeletePlan) -> str:
    """Return the name of a single conversation, or the number of conversations."""
    if len(plan.conversations) == 1:
        return quoted(plan.conversations[0].label)
    return sessions_text(len(plan.conversations))


def about(conversation: PlannedConversation) -> str:
    """Return ``Telegram · 42 messages``."""
    return f"{source_name(conversation.source)} · {_counted(conversation.messages, 'message')}"


def facts_about(preview: DeletePreview) -> list[str]:
    """Return sentences about what is deleted too: sources, messages, parts, subagents."""
    plan = preview.plan
    facts: list[str] = []
    if len(plan.conversations) > 1:
        sources = ", ".join(f"{count:,} {source_name(s)}" for s, count in plan.by_source.items())
        facts.append(f"{sources}. {_counted(plan.messages, 'message')} in total.")
    facts += _about_pins(plan)
    facts += _about_parts(plan)
    if plan.subagents:
        facts.append(_about_subagents(preview))
    if plan.missing:
        gone = sessions_text(len(plan.missing))
        facts.append(f"{gone} no longer {'exists' if len(plan.missing) == 1 else 'exist'}.")
    return facts


def _about_pins(plan: DeletePlan) -> list[str]:
    if not plan.pinned:
        return []
    if len(plan.conversations) == 1:
        return ["It is pinned."]
    return [f"{plan.pinned:,} of them {'is' if plan.pinned == 1 else 'are'} pinned."]


def _about_parts(plan: DeletePlan) -> list[str]:
    chains = [each for each in plan.conversations if len(each.segments) > 1]
    if not chains:
        return []
    parts = sum(len(each.segments) for each in chains)
    if len(plan.conversations) == 1:
        return [f"It was compressed. All {parts} parts are deleted."]
    which = "One" if len(chains) == 1 else f"{len(chains):,}"
    was = "was" if len(chains) == 1 else "were"
    return [f"{which} of them {was} compressed. All {parts} parts are deleted."]


def _about_subagents(preview: DeletePreview) -> str:
    count = len(preview.plan.subagents)
    names = [quoted(name) for name in preview.subagents]
    if count > len(names):
        names.append(f"{count - len(names):,} more")
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{_counted(count, 'subagent')} {'is' if count == 1 else 'are'} also deleted: {listed}."


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


_NAMED = 5
_WIDTH = 440
_ICON = 18


class DeleteDialog(QDialog):
    """A dialog that lists what would be deleted. Open it with ``open()``; accepted means: delete.

    Args:
        preview: What would be deleted.
        theme: Colors.
    """

    def __init__(self, preview: DeletePreview, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        plan = preview.plan
        self.setWindowTitle(self.tr("Delete"))
        self.setMinimumWidth(_WIDTH)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_24, SPACE_24, SPACE_24, SPACE_16)
        column.setSpacing(SPACE_12)
        title = _line(self.tr("Delete {what}?").format(what=what_goes(plan)))
        font = QFont(title.font())
        font.setWeight(QFont.Weight.DemiBold)
        font.setPointSizeF(font.pointSizeF() * 1.1)
        title.setFont(font)
        column.addWidget(title)
        column.addLayout(self._names(plan.conversations))
        for fact in facts_about(preview):
            column.addWidget(_line(fact))
        kept = _line(KEPT_WORDS)
        tint(kept, theme.palette.secondary_text)
        column.addWidget(kept)
        column.addSpacing(SPACE_8)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.delete_button = self.buttons.addButton(
            self.tr("Delete {count}").format(count=sessions_text(len(plan.conversations))),
            QDialogButtonBox.ButtonRole.AcceptRole,
        )
        self.delete_button.setDefault(True)
        remove_icons(self.buttons)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        column.addWidget(self.buttons)
        self.delete_button.setFocus()

    def _names(self, conversations: tuple[PlannedConversation, ...]) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_8)
        grid.setVerticalSpacing(SPACE_8)
        grid.setColumnStretch(1, 1)
        quiet = self._theme.palette.secondary_text
        alone = len(conversations) == 1
        for row, each in enumerate(conversations[:_NAMED]):
            icon = QLabel()
            icon.setPixmap(pixmap(source_icon(each.source), quiet, _ICON, self.devicePixelRatioF()))
            icon.setAccessibleName(source_name(each.source))
            grid.addWidget(icon, row, 0)
            facts = QLabel(about(each))
            tint(facts, quiet)
            if alone:
                grid.addWidget(facts, row, 1)
                continue
            name = QLabel(" ".join(each.label.split()))
            name.setTextFormat(Qt.TextFormat.PlainText)
            name.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            name.setAlignment(Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignAbsolute)
            name.setToolTip(name.text())
            grid.addWidget(name, row, 1)
            grid.addWidget(facts, row, 2, Qt.AlignmentFlag.AlignRight)
        more = len(conversations) - _NAMED
        if more > 0:
            rest = QLabel(self.tr("and {count} more").format(count=f"{more:,}"))
            tint(rest, quiet)
            grid.addWidget(rest, _NAMED, 1)
        return grid


class LargeTrashQuestion(QMessageBox):
    """A dialog that asks whether to keep a very large trash copy. Open it with ``open()``."""

    def __init__(self, title: str, detail: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setIcon(QMessageBox.Icon.Question)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(title)
        self.setInformativeText(detail)
        self.go_on = self.addButton(
            self.tr("Keep the copy and delete"), QMessageBox.ButtonRole.AcceptRole
        )
        cancel = self.addButton(QMessageBox.StandardButton.Cancel)
        self.setDefaultButton(cancel)
        self.setEscapeButton(cancel)

    @property
    def agreed(self) -> bool:
        """Whether the user agreed to continue."""
        return self.clickedButton() is self.go_on


def _line(text: str) -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    return label
