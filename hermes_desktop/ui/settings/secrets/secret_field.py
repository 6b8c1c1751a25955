"""The field of one secret: its place, a line to paste a new value into, and its actions.

The stored value is never shown; its last four characters only on request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QToolButton, QVBoxLayout, QWidget

from hermes_desktop.services.settings.pasted_secret import PastedSecret, validate_pasted
from hermes_desktop.ui.settings.secrets.lines import MessageLine, WaitLine, small_button
from hermes_desktop.ui.settings.secrets.secret_text import (
    also_words,
    can_move_back,
    conflict_words,
    is_fixed,
    movable,
    origin_words,
    removable,
)
from hermes_desktop.ui.widgets.control_corrections import set_text_margins
from hermes_desktop.ui.widgets.flow_row import FlowRow
from hermes_desktop.ui.widgets.section_parts import SecondaryLabel, heading_label
from hermes_desktop.ui.widgets.state_shapes import StateShape
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, Theme

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_desktop.services.secrets.platform_facts import SecretFacts
    from hermes_desktop.services.secrets.secrets_repository import SecretView
    from hermes_desktop.ui.settings.secrets.lines import Level


class SecretField(QWidget):
    """Shows the given state; requests of the user leave as signals.

    Args:
        facts: The secret of the field.
        theme: Colors.

    Signals:
        edited: The pasted value has changed or was removed.
        wanted: ``move``, ``move_back``, ``use_env``, ``overwrite_env``, ``remove``, ``unlock``,
            ``retry``, ``plain``, ``elsewhere``, ``cancel``, or the ``undo:…`` of an outcome.
    """

    edited = Signal()
    wanted = Signal(str)

    def __init__(self, facts: SecretFacts, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.facts = facts
        self._theme = theme
        self._view: SecretView | None = None
        self._end_shown = False
        self._managed = ""
        self._pasted = PastedSecret()
        self._after = ""
        self._elsewhere = ""
        self._known = True
        self._make_parts()
        self._arrange()
        self._connect()
        self.show_view(None)

    # ------------------------------------------------------------------------------- state

    @property
    def view(self) -> SecretView | None:
        """The shown state."""
        return self._view

    @property
    def pasted(self) -> PastedSecret:
        """The pasted value that is not saved yet."""
        return self._pasted

    def show_view(self, view: SecretView | None, *, managed: str = "", known: bool = True) -> None:
        """Show where the secret is; None: it is stored nowhere.

        Args:
            view: The state of the secret.
            managed: Why files of this home are not written; "" if they are.
            known: Whether the state was read already.
        """
        self._known = known
        if view is None or self._view is None or view.places != self._view.places:
            self._end_shown = False
        self._view, self._managed = view, managed
        self._tell()

    def clear(self) -> None:
        """Drop the pasted value."""
        if self.line.text():
            self.line.setText("")  # unlike clear(), this cannot be undone
        self.eye.setChecked(False)
        self.message.clear()

    def show_problem(self, words: str, *, action: str = "", wanted: str = "") -> None:
        """Show why the pasted value could not be saved.

        Args:
            words: One sentence or more.
            action: Label of a button that helps.
            wanted: The action that this button requests.
        """
        self._after = wanted
        self.message.say("error", words, action=action)

    def say(self, level: Level, words: str, *, action: str = "", wanted: str = "") -> None:
        """Show the outcome of an action."""
        self._after = wanted
        self.message.say(level, words, action=action)

    def lead_elsewhere(self, place: str) -> None:
        """Replace the line with a link: a new value is pasted on another page."""
        self._elsewhere = place
        self.offers["elsewhere"].setText(self.tr("Set up {place}…").format(place=place))
        for widget in (self.line, self.eye, self.help):
            widget.hide()
        self._tell()

    def wait_for(self, what: str) -> None:
        """Show that an action takes time; "" ends that."""
        if what:
            self.waiting.begin(what)
        else:
            self.waiting.end()
        for widget in (self.line, self.buttons, self.eye):
            widget.setEnabled(not what and not (widget is not self.buttons and self._is_fixed))

    def hold(self, *, held: bool) -> None:
        """Disable the actions while another secret is changed: one action runs at a time."""
        self.buttons.setEnabled(not held)
        self.message.button.setEnabled(not held)

    def focus(self) -> None:
        """Put the focus on the line to paste into."""
        self.line.setFocus(Qt.FocusReason.ShortcutFocusReason)

    # --------------------------------------------------------------------------------- internals

    @property
    def _is_fixed(self) -> bool:
        return is_fixed(self._view)

    def _make_parts(self) -> None:
        facts, theme = self.facts, self._theme
        self.title = heading_label(facts.label)
        self.optional = SecondaryLabel(theme, "" if facts.required else self.tr("optional"))
        self.shape = StateShape(theme)
        self.origin = SecondaryLabel(theme)
        self.line = QLineEdit()
        set_text_margins(self.line)
        self.line.setEchoMode(QLineEdit.EchoMode.Password)
        self.line.setAccessibleName(facts.label)
        self.line.setInputMethodHints(
            Qt.InputMethodHint.ImhSensitiveData | Qt.InputMethodHint.ImhNoPredictiveText
        )
        self.title.setBuddy(self.line)
        self.eye = QToolButton()
        self.eye.setText(self.tr("Show"))
        self.eye.setCheckable(True)
        self.eye.setToolTip(self.tr("Show what you pasted; stored secrets are never shown"))
        self.eye.setAutoRaise(True)
        self.message = MessageLine(theme)
        self.waiting = WaitLine(theme)
        self.conflict = MessageLine(theme)
        self.help = SecondaryLabel(theme, facts.where)
        self.buttons = FlowRow()
        words = {
            "unlock": self.tr("Unlock…"),
            "retry": self.tr("Try again"),
            "end": self.tr("Show last characters"),
            "move": self.tr("Move to the keyring…"),
            "use_env": self.tr("Use the one in .env…"),
            "overwrite_env": self.tr("Move this one to .env…"),
            "move_back": self.tr("Move to .env…"),
            "remove": self.tr("Remove…"),
            "elsewhere": "",
        }
        self.offers = {
            name: small_button(text, self._presser(name), self) for name, text in words.items()
        }
        for name, button in self.offers.items():
            if words[name]:
                button.setAccessibleName(f"{words[name]} ({facts.label})")
            self.buttons.add(button)

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(SPACE_8)
        head.addWidget(self.title)
        head.addWidget(self.optional)
        head.addStretch(1)
        state = QHBoxLayout()
        state.setSpacing(SPACE_8)
        state.addWidget(self.shape, 0, Qt.AlignmentFlag.AlignTop)
        state.addWidget(self.origin, 1)
        entry = QHBoxLayout()
        entry.setSpacing(SPACE_8)
        entry.addWidget(self.line, 1)
        entry.addWidget(self.eye)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_4 + 2)
        column.addLayout(head)
        column.addLayout(state)
        column.addWidget(self.conflict)
        column.addWidget(self.buttons)
        column.addLayout(entry)
        for widget in (self.message, self.waiting, self.help):
            column.addWidget(widget)
        self.help.setVisible(bool(self.facts.where))
        self.optional.setVisible(not self.facts.required)
        self.eye.hide()

    def _connect(self) -> None:
        self.line.textChanged.connect(lambda _: self._look())
        self.eye.toggled.connect(self._show_pasted)
        self.message.acted.connect(lambda: self.wanted.emit(self._after))
        self.waiting.given_up.connect(lambda: self.wanted.emit("cancel"))

    def _presser(self, name: str) -> Callable[[], None]:
        def press() -> None:
            if name == "end":
                self._end_shown = not self._end_shown
                self._tell()
            else:
                self.wanted.emit(name)

        return press

    def _show_pasted(self, shown: bool) -> None:  # noqa: FBT001 - a slot of one meaning
        modes = QLineEdit.EchoMode
        self.line.setEchoMode(modes.Normal if shown else modes.Password)

    def _look(self) -> None:
        """Check the text of the line."""
        before = self._pasted
        self._pasted = validate_pasted(self.line.text(), self.facts)
        self._after = ""
        self.eye.setVisible(bool(self.line.text()))
        if self._pasted.problem:
            self.message.say("error", self._pasted.problem)
        else:
            self.message.say("info", self._pasted.note)
        if before != self._pasted:
            self.edited.emit()

    def _tell(self) -> None:
        view = self._view
        first = view.places[0] if view is not None and view.places else None
        trouble = first is not None and first.state != "stored"
        words = [origin_words(view, show_end=self._end_shown), also_words(view)]
        nowhere = self.tr("Not set.") if self._known else self.tr("Checking the keyring…")
        self.origin.setText(" ".join(filter(None, words)) or nowhere)
        good = first is not None and not trouble
        otherwise = "stopped" if self._known else "connecting"
        self.shape.show_shape("running" if good else "attention" if trouble else otherwise)
        differ = view is not None and view.differ
        self.conflict.say("warning", conflict_words(view))
        self.line.setPlaceholderText(self._placeholder())
        self.line.setEnabled(not self._is_fixed)
        self.eye.setEnabled(not self._is_fixed)
        in_env = view is not None and any(each.where == ".env" for each in view.places)
        ours = removable(view)
        files = not self._managed
        state = first.state if first is not None else ""
        shown = {
            "unlock": state == "locked",
            "retry": state in {"not answering", "no keyring", "no keyring yet"},
            "end": good and bool(first and first.end),
            "move": movable(view) and not differ and files and not self._is_fixed,
            "use_env": differ and in_env and ours and not self._is_fixed,
            "overwrite_env": differ and in_env and ours and files and not trouble,
            "move_back": can_move_back(view) and files and good and not self._is_fixed,
            "remove": ours and not (differ and in_env),
            "elsewhere": bool(self._elsewhere),
        }
        end = (
            self.tr("Hide last characters") if self._end_shown else self.tr("Show last characters")
        )
        self.offers["end"].setText(end)
        for name, visible in shown.items():
            self.offers[name].setVisible(visible)
        self.buttons.settle()

    def _placeholder(self) -> str:
        view = self._view
        if self._is_fixed:
            return self.tr("Set in the environment")
        if view is not None and view.places:
            return self.tr("Paste a new one to replace it")
        return self.tr("Paste it here")
