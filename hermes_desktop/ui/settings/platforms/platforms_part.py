"""The platforms part of the settings: configured, available and unavailable platforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.core.errors import HermesError
from hermes_desktop.services.secrets.platform_facts import PLATFORMS, PlatformFacts
from hermes_desktop.services.settings.platform_settings import PlatformSettings
from hermes_desktop.settings.secrets import SecretStoreError
from hermes_desktop.ui.gateway.gateway_protocols import PairingLists
from hermes_desktop.ui.settings.fields.field_row import FieldRow, heading
from hermes_desktop.ui.settings.fields.parts import (
    Pending,
    SettingHit,
    SettingsContext,
    SettingsPart,
)
from hermes_desktop.ui.settings.platforms.platform_card import PlatformCard
from hermes_desktop.ui.settings.platforms.platform_state import health_of
from hermes_desktop.ui.settings.secrets.lines import MessageLine, WaitLine
from hermes_desktop.ui.settings.secrets.secret_commands import SecretCommands
from hermes_desktop.ui.settings.secrets.secret_field_controller import SecretFieldController
from hermes_desktop.ui.settings.secrets.secrets_feed import SecretsFeed
from hermes_desktop.ui.widgets.age_timer import RelativeTimeTimer
from hermes_desktop.ui.widgets.coalesced_runs import CoalescedRuns
from hermes_desktop.ui.widgets.section_parts import Block, SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_16
from hermes_desktop.ui.words.ages import refresh_interval_ms
from hermes_desktop.ui.words.gateway_words import listed, plain
from hermes_desktop.ui.words.platform_words import distances

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PySide6.QtGui import QHideEvent, QShowEvent

    from hermes_desktop.services.settings.settings_service import Applied
    from hermes_desktop.ui.settings.fields.parts import SettingsContext
    from hermes_desktop.ui.settings.secrets.secret_commands import SecretOutcome
    from hermes_desktop.ui.settings.secrets.secret_field import SecretField

# ------------------------------------------------------------------------------
# The feed of pairing requests and paired senders, read again on every change.


class SendersFeed(QObject):
    """Reads the lists of the pairing service. Main thread only.

    Args:
        context: Context of the settings.
        parent: Qt parent.

    Signals:
        read: :attr:`lists` is up to date.
    """

    read = Signal()

    def __init__(self, context: SettingsContext, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._reads = CoalescedRuns()
        self.lists = PairingLists()
        context.bridge.pairing_changed.connect(lambda _: self.refresh())

    def refresh(self) -> None:
        """Read again; calls during a read result in one more read."""
        self._context.slots.start(self._reads.run(self._read), doing=self.tr("Loading people"))

    async def _read(self) -> None:
        self.lists = await PairingLists.read(self._context.services.pairing, self._context.clock)
        self.read.emit()


PAGE = "platforms"
_MOST_NAMED = 30


class PlatformsPart(SettingsPart):
    """One card for each platform, configured ones first."""

    def __init__(self, context: SettingsContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        theme = context.theme
        self._settings = context.services.settings
        self.feed = SecretsFeed(context, self)
        self.people = SendersFeed(context, self)
        self.commands = SecretCommands(context, self)
        self.field_controller = SecretFieldController(self._fields, self.feed, self.commands, self)
        self.cards: dict[str, PlatformCard] = {}
        self._standings: Mapping[str, PlatformSettings] = {}
        self._added: list[str] = []
        self._locked = ""
        self._known = False
        self._first_look = True
        self._list = QVBoxLayout()
        self._list.setSpacing(SPACE_8)
        self.said = MessageLine(theme)
        self.waiting = WaitLine(theme)
        self.none = SecondaryLabel(
            theme,
            self.tr("No platform is set up yet. Connect one to reach Hermes from your phone."),
        )
        self.add = QPushButton(self.tr("Add a platform…"))
        self.add.setAutoDefault(False)
        self.add_menu = QMenu(self.add)
        self.others = SecondaryLabel(theme)
        self.strangers = self._row("unauthorized_dm_behavior")
        self.timer = RelativeTimeTimer(self._next_look_ms, self)
        self._arrange()
        self._connect()

    @property
    def known(self) -> bool:
        """Whether it is known which platforms are configured."""
        return self._known and self.feed.known

    # ------------------------------------------------------------------------------- part

    @override
    def begin(self) -> None:
        self.refresh()
        self.people.refresh()

    def refresh(self) -> None:
        """Read again where secrets are, and which values variables set."""
        self.feed.refresh()
        self.context.slots.start(self._look(), doing=self.tr("Loading platforms"))

    @override
    def search(self, words: Sequence[str]) -> list[SettingHit]:
        found = []
        for facts in PLATFORMS.values():
            for secret in facts.secrets:
                label = f"{facts.title}: {secret.label}"
                text = f"{label} {secret.variable} token secret login".lower()
                if all(word in text for word in words):
                    found.append(SettingHit(PAGE, secret.variable, label))
        return found

    @override
    def pending(self) -> Pending:
        cards = self.cards.values()
        changes = tuple(change for card in cards for change in card.changes())
        secrets = {name: value for card in cards for name, value in card.pasted().items()}
        return Pending(changes, secrets, sum(card.faulty() for card in cards))

    @override
    def revert(self) -> None:
        for card in self.cards.values():
            card.revert()

    @override
    def saved(self, applied: Applied) -> None:
        del applied
        self.field_controller.saved()
        for card in self.cards.values():
            card.saved()
        self.refresh()

    @override
    def show_error(self, key: str, error: HermesError) -> bool:
        if isinstance(error, SecretStoreError) and not key:
            names = self.field_controller.keyring_failed(error)
        else:
            names = [key] if self.field_controller.refused(key, error) else []
        for card in self.cards.values():
            wrong = key == card.facts.switch_key and bool(card.changes())
            if wrong:
                card.say(error)
            if wrong or any(name in card.fields for name in names):
                card.show_open(opened=True)
                names = names or [key]
        return bool(names)

    @override
    def set_saving(self, *, saving: bool) -> None:
        self.field_controller.wait_for(
            self.tr("Checking the platform and the keyring") if saving else ""
        )

    @override
    def focus_key(self, key: str) -> bool:
        if self.strangers is not None and key == self.strangers.key:
            self.strangers.focus()
            return True
        facts = next((each for each in PLATFORMS.values() if _belongs(key, each)), None)
        if facts is None:
            return False
        if facts.name not in self.cards:
            if not self._known and not self.context.draft.views:
                return False
            self._added.append(facts.name)
            self._settle()
        return self.cards[facts.name].focus_key(key)

    @override
    def set_locked(self, reason: str) -> None:
        """Disable the settings; secrets in the keyring can be changed in a managed home, too."""
        self._locked = reason
        if self.strangers is not None:
            self.strangers.set_locked(reason)
        for card in self.cards.values():
            card.set_locked(reason)
            card.show_secrets(self.feed.views, self._settings.managed, known=self.feed.known)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.timer.set_visible(True)

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.timer.set_visible(False)

    # ------------------------------------------------------------------------------- reading

    async def _look(self) -> None:
        try:
            self._standings = await self._settings.look_at_platforms()
        except HermesError as error:
            self.said.say("error", plain(str(error)))
            return
        self._known = True
        self._settle()

    def _show_people(self) -> None:
        now = self.context.clock.time()
        for name, card in self.cards.items():
            if card.people is not None:
                card.people.show_people(
                    [each for each in self.people.lists.pending if each.platform == name],
                    [each for each in self.people.lists.approved if each.platform == name],
                    now,
                )
        self.timer.settle()

    # ------------------------------------------------------------------------------- display

    def _wanted(self) -> list[PlatformFacts]:
        """Return the platforms with a card: configured ones, then those just added."""
        found = [facts for facts in PLATFORMS.values() if self._is_set_up(facts)]
        names = [facts.name for facts in found]
        added = dict.fromkeys(name for name in self._added if name not in names)
        return [*found, *(PLATFORMS[name] for name in added)]

    def _is_set_up(self, facts: PlatformFacts) -> bool:
        view = self.context.draft.views.get(facts.switch_key)
        if view is not None and not view.is_default:
            return True
        standing = self._standings.get(facts.name)
        if standing is not None and standing.mentioned:
            return True
        if any(self.feed.view(each.variable).places for each in facts.secrets):
            return True
        status = self.context.services.gateway.status
        health = health_of(facts.name, status)
        return health is not None and health.state != "disabled"

    def _settle(self) -> None:
        """Create, order and remove cards; cards that remain keep what was typed."""
        wanted = self._wanted()
        for place, facts in enumerate(wanted):
            card = self.cards.get(facts.name)
            if card is None:
                card = self._make(facts)
            self._list.removeWidget(card)
            self._list.insertWidget(place, card)
        for name in [name for name in self.cards if name not in {each.name for each in wanted}]:
            if not self.cards[name].pasted() and not self.cards[name].changes():
                card = self.cards.pop(name)
                card.hide()
                card.deleteLater()
        for card in self.cards.values():
            self._fill(card)
        if self.known and self._first_look:
            self._first_look = False
            if len(wanted) == 1:
                self.cards[wanted[0].name].show_open(opened=True)
        self._show_status()
        self._show_people()
        self._offer(wanted)

    def _fill(self, card: PlatformCard) -> None:
        """Show in a card where secrets are, and which values variables set."""
        name = card.facts.name
        card.show_secrets(self.feed.views, self._settings.managed, known=self.feed.known)
        card.show_standing(self._standings.get(name, PlatformSettings(name)))

    def _grown(self, card: PlatformCard) -> None:
        self._fill(card)
        self._show_people()
        self._show_status()

    def _offer(self, wanted: Sequence[PlatformFacts]) -> None:
        """Show which further platforms there are."""
        names = {each.name for each in wanted}
        left = [each for each in PLATFORMS.values() if each.name not in names]
        served = [each for each in left if self._settings.serves(each.name)]
        others = [each.title for each in left if not self._settings.serves(each.name)]
        self.add_menu.clear()
        for facts in served:
            action = self.add_menu.addAction(facts.title)
            action.triggered.connect(lambda _=False, name=facts.name: self._add(name))
        self.add.setVisible(bool(served) and self.known)
        self.none.setVisible(not wanted and self.known)
        words = self.tr(
            "Supported by “hermes” only, not by this version of Hermes Desktop: {names}. To "
            "set them up, run “hermes gateway setup” in a terminal."
        ).format(names=listed(others, most=_MOST_NAMED))
        self.others.setText(words)
        self.others.setVisible(bool(others) and self.known)

    def _add(self, name: str) -> None:
        self._added.append(name)
        self._settle()
        card = self.cards[name]
        card.show_open(opened=True)
        for field in card.fields.values():
            field.focus()
            break

    def _make(self, facts: PlatformFacts) -> PlatformCard:
        card = PlatformCard(facts, self.context)
        card.set_locked(self._locked)
        card.grown.connect(lambda: self._grown(card))
        card.pending_changed.connect(self.pending_changed)
        card.pending_changed.connect(self._show_status)
        card.secret_wanted.connect(self.field_controller.run)
        self.cards[facts.name] = card
        return card

    def _show_status(self, *_: object) -> None:
        status, now = self.context.services.gateway.look(), self.context.clock.time()
        for card in self.cards.values():
            card.show_status(status, now)
            if card.people is not None:
                card.people.tell_ages(now)
        self.timer.settle()

    def _next_look_ms(self) -> int:
        status, now = self.context.services.gateway.status, self.context.clock.time()
        platforms = status.other.platforms if status.other is not None else status.platforms
        ages = distances(platforms, now)
        for card in self.cards.values():
            if card.people is not None and card.is_open:
                ages += card.people.ages(now)
        return refresh_interval_ms(ages)

    def _fields(self) -> Mapping[str, SecretField]:
        return {name: each for card in self.cards.values() for name, each in card.fields.items()}

    def _told(self, told: SecretOutcome) -> None:
        self.said.say("ok" if told.good else "error", told.words)

    # --------------------------------------------------------------------------------- internals

    def _arrange(self) -> None:
        self.add.setMenu(self.add_menu)
        row = QHBoxLayout()
        row.addWidget(self.add)
        row.addStretch(1)
        for widget in (self.said, self.waiting, self.none):
            self.column.addWidget(widget)
        self.column.addLayout(self._list)
        self.column.addLayout(row)
        self.column.addWidget(self.others)
        if self.strangers is not None:
            title = heading(self.tr("On all platforms"))
            title.setContentsMargins(0, SPACE_16, 0, 0)
            self.column.addWidget(title)
            block = Block(self.context.theme)
            block.column.setContentsMargins(0, 0, 0, 0)
            block.column.addWidget(self.strangers)
            self.column.addWidget(block)
        self.none.hide()
        self.add.hide()
        self.others.hide()

    def _row(self, key: str) -> FieldRow | None:
        draft = self.context.draft
        if key not in draft.views:
            return None
        row = FieldRow(draft.views[key], draft, self.context.theme, first=True)
        draft.key_changed.connect(lambda changed: row.refresh() if changed == key else None)
        return row

    def _connect(self) -> None:
        context = self.context
        self.feed.looked.connect(self._settle)
        self.feed.slow.connect(lambda: self.waiting.begin(self.tr("Checking the keyring")))
        self.feed.over.connect(self.waiting.end)
        self.feed.broken.connect(lambda error: self.said.say("error", plain(str(error))))
        self.waiting.given_up.connect(self.waiting.end)
        self.field_controller.told_elsewhere.connect(self._told)
        self.field_controller.emptied.connect(self.pending_changed)
        context.draft.loaded.connect(self._draft_loaded)
        context.bridge.gateway_status_changed.connect(self._status_changed)
        self.people.read.connect(self._show_people)
        self.timer.beat.connect(self._show_status)

    def _draft_loaded(self) -> None:
        if self._known:
            self._settle()

    def _status_changed(self, _: object) -> None:
        if self._known and self.isVisible():
            self._show_status()


def _belongs(key: str, facts: PlatformFacts) -> bool:
    keys = (facts.switch_key, facts.people_key, facts.strangers_key, facts.toolsets_key)
    return key in (*keys, *facts.group_keys) or any(key == each.variable for each in facts.secrets)
