"""Dialogs that confirm a stop, a take-over, a forced start, or revoking access."""

from collections.abc import Sequence

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QVBoxLayout, QWidget

from hermes_desktop.core.events import HostingRefusal, OtherGateway
from hermes_desktop.core.text.capitals import capitalized
from hermes_desktop.ui.widgets.control_corrections import remove_icons
from hermes_desktop.ui.widgets.section_parts import LeadingLabel, SecondaryLabel, heading_label
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_12, SPACE_16, SPACE_24, Theme
from hermes_desktop.ui.words.ages import format_span
from hermes_desktop.ui.words.gateway_words import plain, running_text
from hermes_desktop.ui.words.source_names import source_name

_WIDTH = 440
_INNER = _WIDTH - 2 * SPACE_24
_NAMED = 5
_NOT_DONE = (
    "Other programs expect a running gateway to do this work, but Hermes Desktop cannot do it yet."
)
DRAIN_WORDS = (
    "They have 15 seconds to finish. Then they are interrupted; the text written so far is kept."
)


class ConfirmationDialog(QDialog):
    """A title, the affected items, the consequences, and a button that names the result.

    Open it with ``open()``. Accepted means yes; Enter presses Cancel.

    Args:
        title: The question.
        about: The affected items, as a list.
        facts: The consequences.
        action: Label of the button.
        theme: Colors.
    """

    def __init__(
        self,
        title: str,
        *,
        facts: Sequence[str],
        action: str,
        theme: Theme,
        about: Sequence[str] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Gateway"))
        self.setMinimumWidth(_WIDTH)
        self.setAccessibleDescription(" ".join((*about, *facts)))
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_24, SPACE_24, SPACE_24, SPACE_16)
        column.setSpacing(SPACE_12)
        heading = heading_label(title, share=1.1)
        heading.setMinimumWidth(_INNER)
        column.addWidget(heading)
        if about:
            column.addLayout(self._about(about, theme))
        for fact in facts:
            line = LeadingLabel(fact)
            line.setMinimumWidth(_INNER)
            column.addWidget(line)
        column.addSpacing(SPACE_8)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.agree = buttons.addButton(action, QDialogButtonBox.ButtonRole.AcceptRole)
        self.agree.setAutoDefault(False)
        cancel = buttons.button(QDialogButtonBox.StandardButton.Cancel)
        cancel.setDefault(True)
        remove_icons(buttons)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column.addWidget(buttons)
        cancel.setFocus()

    def _about(self, about: Sequence[str], theme: Theme) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setContentsMargins(SPACE_12, 0, 0, 0)
        column.setSpacing(SPACE_4)
        shown = list(about[:_NAMED])
        if len(about) > _NAMED:
            shown.append(self.tr("and {count} more").format(count=len(about) - _NAMED))
        for each in shown:
            line = SecondaryLabel(theme, f"• {each}")
            line.setMinimumWidth(_INNER - SPACE_12)
            column.addWidget(line)
        return column


def stop_question(
    lines: Sequence[str], theme: Theme, parent: QWidget, *, restart: bool = False
) -> ConfirmationDialog:
    """Return the dialog that confirms a stop of the gateway while replies are running.

    Args:
        lines: The replies.
        theme: Colors.
        parent: The window.
        restart: Whether the gateway starts again afterwards.
    """
    verb = "Restart" if restart else "Stop"
    return ConfirmationDialog(
        f"{verb} the gateway? {running_text(len(lines))}.",
        about=lines,
        facts=(DRAIN_WORDS,),
        action=f"{verb} the gateway",
        theme=theme,
        parent=parent,
    )


def take_over_question(
    other: OtherGateway | None, now: float, theme: Theme, parent: QWidget
) -> ConfirmationDialog:
    """Return the dialog that confirms stopping another gateway."""
    name = other.name if other is not None else "other gateway"
    asked = (
        f"Hermes Desktop asks {_the(name)} to stop, as “hermes gateway stop” does. It may "
        "finish its running replies first, which can take up to two minutes."
    )
    then = (
        "Hermes Desktop then answers the messages from your platforms. It does not force the "
        "other gateway: if that does not stop, or is restarted, it keeps running."
    )
    about: list[str] = []
    if other is not None:
        age = (
            ""
            if other.started_at is None
            else f", running for {format_span(now - other.started_at)}"
        )
        about.append(f"{capitalized(_the(name))}, process {other.pid}{age}")
        served = [source_name(each.name) for each in other.platforms]
        if served:
            about.append(f"It serves {', '.join(served)}")
    return ConfirmationDialog(
        f"Take over from {_the(name)}?",
        about=about,
        facts=(asked, then),
        action="Take over the gateway",
        theme=theme,
        parent=parent,
    )


def insist_question(
    refusal: HostingRefusal, theme: Theme, parent: QWidget, *, take_over: bool = False
) -> ConfirmationDialog:
    """Return the dialog that confirms a start despite a refusal.

    Args:
        refusal: The reasons against a start.
        theme: Colors.
        parent: The window.
        take_over: Whether the gateway is to be taken over from another one.
    """
    verb = "Take over" if take_over else "Start"
    why = plain(" ".join(filter(None, (refusal.title, refusal.detail))))
    return ConfirmationDialog(
        f"{verb} the gateway anyway?",
        about=refusal.would_not_run,
        facts=(_NOT_DONE,) if refusal.would_not_run else (why,),
        action=f"{verb} the gateway anyway",
        theme=theme,
        parent=parent,
    )


def revoke_question(name: str, platform: str, theme: Theme, parent: QWidget) -> ConfirmationDialog:
    """Return the dialog that confirms revoking a sender's access."""
    what_follows = (
        f"Hermes no longer answers messages from {name}. To regain access, they have to "
        "request it again."
    )
    return ConfirmationDialog(
        f"Revoke {name}’s access on {source_name(platform)}?",
        facts=(what_follows,),
        action="Revoke access",
        theme=theme,
        parent=parent,
    )


def _the(name: str) -> str:
    return name if name.lower().startswith(("the ", "another ")) else f"the {name}"
