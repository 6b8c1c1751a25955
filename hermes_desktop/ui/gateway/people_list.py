"""Lists of pairing requests and approved senders: one row each, with its actions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from hermes_desktop.ui.gateway.gateway_protocols import Person
from hermes_desktop.ui.widgets.resource_files import pixmap
from hermes_desktop.ui.widgets.section_parts import Block, LeadingLabel, SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, Theme
from hermes_desktop.ui.words.ages import format_ago
from hermes_desktop.ui.words.source_names import source_icon, source_name

_ICON = 18


@dataclass(frozen=True, slots=True)
class Offer:
    """A button of a row.

    Attributes:
        words: The label.
        spoken: The accessible name, with the sender's name: "Approve {name}".
        do: The action.
    """

    words: str
    spoken: str
    do: Callable[[Person], object]


class PersonLine(QWidget):
    """The row of one sender: name, platform, age, and buttons."""

    def __init__(
        self, person: Person, offers: Sequence[Offer], theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self.person = person
        name = person.name
        self._icon = QLabel()
        self._name = LeadingLabel(name)
        self._name.setWordWrap(False)
        self._name.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._name.setToolTip(f"{name}\n{person.user_id}" if name != person.user_id else name)
        self._facts = SecondaryLabel(theme)
        self._facts.setWordWrap(False)
        self.buttons = [self._button(offer, name) for offer in offers]
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_8)
        row.addWidget(self._icon)
        row.addWidget(self._name, 1)
        row.addWidget(self._facts)
        for button in self.buttons:
            row.addWidget(button)
        theme.changed.connect(self._colour)
        self._colour()

    def show_facts(self, words: str) -> None:
        """Show platform and time."""
        if words != self._facts.text():
            self._facts.setText(words)
            self.setAccessibleName(f"{self._name.text()}, {words}")

    def _button(self, offer: Offer, name: str) -> QPushButton:
        button = QPushButton(offer.words, self)
        button.setAutoDefault(False)
        button.setAccessibleName(offer.spoken.format(name=name))
        button.clicked.connect(lambda: self._press(offer))
        return button

    def _press(self, offer: Offer) -> None:
        offer.do(self.person)

    def _colour(self) -> None:
        colour, ratio = self._theme.palette.secondary_text, self.devicePixelRatioF()
        self._icon.setPixmap(pixmap(source_icon(self.person.platform), colour, _ICON, ratio))
        self._icon.setAccessibleName(source_name(self.person.platform))


class SenderList(Block):
    """A list of senders; rows that remain keep their widgets, and so the focus.

    Args:
        offers: The buttons of each row.
        verb: The text before the age: "asked".
        nothing: The text for an empty list.
        theme: Colors.
        one_platform: Whether all are of one platform, which is named outside the list.
    """

    def __init__(
        self,
        offers: Sequence[Offer],
        *,
        verb: str,
        nothing: str,
        theme: Theme,
        one_platform: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(theme, parent)
        self._one_platform = one_platform
        self._offers = tuple(offers)
        self._verb = verb
        self._lines: dict[tuple[str, str], PersonLine] = {}
        self.nothing = SecondaryLabel(theme, nothing)
        self._column = QVBoxLayout()
        self._column.setSpacing(SPACE_8)
        self.column.addWidget(self.nothing)
        self.column.addLayout(self._column)

    @property
    def lines(self) -> list[PersonLine]:
        """The rows, from top to bottom."""
        return list(self._lines.values())

    def show_people(self, people: Sequence[Person], now: float) -> None:
        """Show these senders, in this order."""
        wanted = {each.key: each for each in people}
        if list(wanted) == list(self._lines):
            self.tell_ages(now)
            return
        had_focus = self._focused_place()
        for key in [key for key in self._lines if key not in wanted]:
            line = self._lines.pop(key)
            self._column.removeWidget(line)
            line.hide()
            line.deleteLater()
        kept, self._lines = self._lines, {}
        for place, (key, person) in enumerate(wanted.items()):
            line = kept.get(key) or PersonLine(person, self._offers, self._theme, self)
            line.person = person
            self._lines[key] = line
            self._column.insertWidget(place, line)
        self.nothing.setVisible(not wanted)
        self.tell_ages(now)
        if had_focus is not None:
            self._restore_focus(*had_focus)

    def tell_ages(self, now: float) -> None:
        """Refresh the texts on elapsed time."""
        for line in self._lines.values():
            person = line.person
            when = f"{self._verb} {format_ago(now - person.when)}" if person.when else ""
            place = "" if self._one_platform else source_name(person.platform)
            line.show_facts(" · ".join(filter(None, (place, when))))

    def ages(self, now: float) -> list[float]:
        """Return the seconds from now to each moment that is shown."""
        return [line.person.when - now for line in self._lines.values() if line.person.when]

    def _focused_place(self) -> tuple[int, int] | None:
        focused = self.window().focusWidget()
        for place, line in enumerate(self._lines.values()):
            for number, button in enumerate(line.buttons):
                if button is focused:
                    return place, number
        return None

    def _restore_focus(self, place: int, number: int) -> None:
        """Move the focus to the same button of the next row after a request was answered."""
        lines = self.lines
        if lines and self._focused_place() is None:
            buttons = lines[min(place, len(lines) - 1)].buttons
            buttons[min(number, len(buttons) - 1)].setFocus(Qt.FocusReason.OtherFocusReason)
