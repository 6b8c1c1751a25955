"""The senders authorized on one platform: the list, additions by variables, pairing requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from hermes_desktop.core.errors import HermesError
from hermes_desktop.ui.gateway.gateway_questions import revoke_question
from hermes_desktop.ui.gateway.people_list import Offer, SenderList
from hermes_desktop.ui.settings.fields.field_row import FieldRow
from hermes_desktop.ui.settings.secrets.lines import MessageLine
from hermes_desktop.ui.widgets.section_parts import SecondaryLabel, heading_label
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_16
from hermes_desktop.ui.words.gateway_words import listed, plain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hermes_desktop.services.secrets.platform_facts import PlatformFacts
    from hermes_desktop.services.settings.platform_settings import PlatformSettings
    from hermes_desktop.ui.gateway.gateway_protocols import Person
    from hermes_desktop.ui.settings.fields.parts import SettingsContext

_NAMED = 6


class SendersBlock(QWidget):
    """Shows who is authorized, and approves further senders; all others are rejected.

    Args:
        facts: The platform.
        context: Context of the settings.
    """

    def __init__(self, facts: PlatformFacts, context: SettingsContext) -> None:
        super().__init__()
        self._facts = facts
        self._context = context
        self._standing: PlatformSettings | None = None
        self._undo: Callable[[], None] | None = None
        theme, draft = context.theme, context.draft
        self.about = SecondaryLabel(theme)
        self.warning = MessageLine(theme)
        self.rows = [
            FieldRow(draft.views[key], draft, theme, first=True)
            for key in (facts.people_key, facts.strangers_key)
            if key in draft.views
        ]
        self.listed = SecondaryLabel(theme)
        self.said = MessageLine(theme)
        self.requests_title = SecondaryLabel(theme, self.tr("Pairing requests"))
        self.requests = SenderList(
            (
                Offer(self.tr("Approve"), self.tr("Approve {name}"), self._approve),
                Offer(self.tr("Deny"), self.tr("Deny {name}"), self._deny),
            ),
            verb=self.tr("asked"), one_platform=True, nothing="", theme=theme,
        )  # fmt: skip
        self.people_title = SecondaryLabel(theme, self.tr("Approved people"))
        self.people = SenderList(
            (Offer(self.tr("Revoke…"), self.tr("Revoke {name}"), self._revoke),),
            verb=self.tr("approved"), one_platform=True, nothing="", theme=theme,
        )  # fmt: skip
        self._arrange()
        self.said.acted.connect(self._take_back)
        draft.key_changed.connect(self._key_changed)
        self.show_people((), (), 0.0)
        self._tell()

    def show_standing(self, standing: PlatformSettings) -> None:
        """Show which senders are authorized by variables."""
        self._standing = standing
        self._tell()

    def show_people(self, waiting: Sequence[Person], let_in: Sequence[Person], now: float) -> None:
        """Show pending requests and paired senders of this platform."""
        self.requests.show_people(waiting, now)
        self.people.show_people(let_in, now)
        for title, people, shown in (
            (self.requests_title, self.requests, waiting),
            (self.people_title, self.people, let_in),
        ):
            title.setVisible(bool(shown))
            people.setVisible(bool(shown))

    def tell_ages(self, now: float) -> None:
        """Refresh the texts on elapsed time."""
        self.requests.tell_ages(now)
        self.people.tell_ages(now)

    def ages(self, now: float) -> list[float]:
        """Return the seconds from now to each moment that is shown."""
        return self.requests.ages(now) + self.people.ages(now)

    def row(self, key: str) -> FieldRow | None:
        """Return the field of a setting."""
        return next((row for row in self.rows if row.key == key), None)

    def set_locked(self, reason: str) -> None:
        """Disable the lists of config.yaml; requests can still be answered."""
        for row in self.rows:
            row.set_locked(reason)

    # --------------------------------------------------------------------------------- internals

    def _arrange(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        title = heading_label(self.tr("Who can write"))
        column.addWidget(padded(title, self.about, self.warning))
        for row in self.rows:
            column.addWidget(row)
        below = (self.listed, self.requests_title, self.requests, self.people_title, self.people)
        column.addWidget(padded(*below, self.said))

    def _key_changed(self, key: str) -> None:
        row = self.row(key)
        if row is not None:
            row.refresh()
            self._tell()

    def _tell(self) -> None:
        facts, standing = self._facts, self._standing
        words = self.tr(
            "Only people listed here by {ids}, and those you approve below, can write to the "
            "assistant."
        ).format(ids=facts.ids)
        if facts.id_sample:
            words += self.tr(" An ID looks like {sample}.").format(sample=facts.id_sample)
        if facts.find_id:
            words += f" {facts.find_id}"
        self.about.setText(words)
        self.warning.say("warning", self._too_open())
        found = standing.listed if standing is not None else ()
        lines = [
            self.tr("{variable} in {where} also allows {names}.").format(
                variable=each.variable,
                where=_where(each.where),
                names=listed(each.names, most=_NAMED),
            )
            for each in found
        ]
        self.listed.setText("\n".join(lines))
        self.listed.setVisible(bool(lines))

    def _too_open(self) -> str:
        """Return a warning about settings that admit everyone; "" for none."""
        draft, key, standing = self._context.draft, self._facts.people_key, self._standing
        everybody = standing.everybody if standing is not None else ()
        stars = [each for each in (standing.listed if standing else ()) if "*" in each.names]
        if everybody or stars:
            name, where = everybody[0] if everybody else (stars[0].variable, stars[0].where)
            words = self.tr(
                "Anyone can write to the assistant and use its tools: {name} is set in {where}."
            )
            return words.format(name=name, where=_where(where))
        if key in draft.views and "*" in (draft.value_of(key) or ()):
            return self.tr(
                "“*” lets anyone write to the assistant and use its tools, at your expense."
            )
        return ""

    def _approve(self, person: Person) -> None:
        pairing = self._context.services.pairing
        words = self.tr("{name} can now write on {place}.")

        def undo() -> None:
            revoked = self.tr("{name} can no longer write on {place}.")
            self._start(pairing.revoke(person.platform, person.user_id), person, revoked, None)

        self._start(pairing.approve(person.platform, person.entry_id), person, words, undo)

    def _deny(self, person: Person) -> None:
        pairing = self._context.services.pairing
        words = self.tr("Access denied for {name}. They can request it again.")
        self._start(pairing.deny(person.platform, person.entry_id), person, words, None)

    def _revoke(self, person: Person) -> None:
        self._context.slots.start(self._ask_and_revoke(person), doing=self.tr("Revoking access"))

    async def _ask_and_revoke(self, person: Person) -> None:
        question = revoke_question(person.name, person.platform, self._context.theme, self)
        try:
            answer = await self._context.slots.ask(question)
        finally:
            question.deleteLater()
        if answer == QDialog.DialogCode.Accepted:
            words = self.tr("{name} can no longer write on {place}.")
            revoking = self._context.services.pairing.revoke(person.platform, person.user_id)
            await self._do(revoking, person, words, None)

    def _start(
        self,
        work: Awaitable[object],
        person: Person,
        words: str,
        undo: Callable[[], None] | None,
    ) -> None:
        self._context.slots.start(
            self._do(work, person, words, undo), doing=self.tr("Answering a request")
        )

    async def _do(
        self,
        work: Awaitable[object],
        person: Person,
        words: str,
        undo: Callable[[], None] | None,
    ) -> None:
        try:
            await work
        except HermesError as error:
            self.said.say("error", plain(str(error)))
            return
        self._undo = undo
        said = words.format(name=person.name, place=self._facts.title)
        self.said.say("ok", said, action=self.tr("Undo") if undo else "")

    def _take_back(self) -> None:
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()


def padded(*widgets: QWidget) -> QWidget:
    """Return a column of widgets with the margins of fields."""
    holder = QWidget()
    column = QVBoxLayout(holder)
    column.setContentsMargins(SPACE_16, SPACE_4, SPACE_16, SPACE_4)
    column.setSpacing(SPACE_8)
    for widget in widgets:
        column.addWidget(widget)
    return holder


def _where(where: str) -> str:
    return "the environment" if where == "environment" else where
