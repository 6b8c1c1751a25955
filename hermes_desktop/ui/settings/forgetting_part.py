"""The effect of the session settings on the existing chats and sessions, with numbers and dates."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QDate, QLocale, QTime, QTimer
from PySide6.QtWidgets import QVBoxLayout
from typing_extensions import override

from hermes_desktop.core.errors import HermesError
from hermes_desktop.services.assembly.forgetting_preview import RetentionCounts, RetentionPreview
from hermes_desktop.ui.settings.fields.field_row import heading
from hermes_desktop.ui.settings.fields.field_text import kind_name
from hermes_desktop.ui.settings.fields.parts import SettingsContext, SettingsPart
from hermes_desktop.ui.widgets.section_parts import Block, SecondaryLabel, heading_label
from hermes_desktop.ui.words.source_names import source_name

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator, Sequence

    from hermes_desktop.core.events import GatewayState
    from hermes_desktop.services.assembly.forgetting_preview import (
        DeletedSessionsPreview,
        ExpiringChats,
        ResetRulePreview,
    )
    from hermes_desktop.services.assembly.history_upkeep import LastPrune
    from hermes_desktop.services.settings.settings_repository import Change

_RUNS = frozenset({"starting", "running", "working", "degraded"})
_SHORT_DATE = QLocale.FormatType.ShortFormat


class RetentionText:
    """Formats the counts as sentences, relative to a moment.

    Args:
        now: Local time.
        gateway: State of the gateway, which determines who forgets, and when.
        locale: Format of numbers and dates.
    """

    def __init__(self, now: datetime, gateway: GatewayState, locale: QLocale | None = None) -> None:
        self._now = now
        self._gateway = gateway
        self._locale = locale or QLocale()

    def chats(self, found: ExpiringChats) -> str:
        """Return a sentence on the chats that the gateway forgets."""
        if not found.chats:
            return "The gateway has no chats yet."
        if not found.days:
            return f"Chats are never forgotten. Number of chats: {self._number(found.chats)}."
        limit = f"With {self._days(found.days)}"
        of = f"of {self._number(found.chats)} {_plural(found.chats, 'chat')}"
        if not found.count:
            words = f"{limit}, none {of} would be forgotten now."
            if found.next is not None:
                words += (
                    f" The first one would be {self.moment(found.next)}, unless it is used before."
                )
            return words
        return f"{limit}, {self._number(found.count)} {of} would be forgotten {self._sweep()}" + (
            f"{self._oldest(found)}. "
            + ("Its transcript stays" if found.count == 1 else "Their transcripts stay")
            + " in the session list."
        )

    def rules(self, found: Sequence[ResetRulePreview]) -> list[str]:
        """Return a sentence or two on new sessions, for each rule that has chats."""
        shown = [rule for rule in found if rule.chats]
        if not shown:
            return ["There is no chat yet that could start a new session."]
        return [self._rule(rule, alone=len(shown) == 1) for rule in shown]

    def stored(self, found: DeletedSessionsPreview) -> str:
        """Return sentences on the sessions that are permanently deleted."""
        if not found.sessions:
            return "No session is stored yet."
        some = self._number(found.count) if found.count else "none"
        part = (
            f"{some} of {self._number(found.sessions)} stored {_plural(found.sessions, 'session')}"
        )
        if not found.on:
            return (
                f"Automatic deletion is off. With {self._days(found.days)}, it would delete "
                f"{part}.{self._spared(found)}"
            )
        went = f"With {self._days(found.days)}, {part} would be deleted {self._next(found)}"
        if found.oldest is not None:
            oldest = datetime.fromtimestamp(found.oldest)  # noqa: DTZ006 - local, as it is shown
            went += f"; the oldest started {self.moment(oldest)}"
        went += "."
        if found.count:
            went += " They are deleted with all their messages and do not go to the trash."
        return f"{went}{self._spared(found)}{self._last(found.last)}"

    def _next(self, found: DeletedSessionsPreview) -> str:
        """Return when the next deletion takes place, and by which program."""
        if self._gateway == "attached":
            return "if the gateway of this home ran here; now the other gateway decides"
        due = datetime.fromtimestamp(found.not_before)  # noqa: DTZ006 - local, as it is shown
        if not found.not_before or due <= self._now:
            return "within a few minutes"
        return self.moment(due)

    def _spared(self, found: DeletedSessionsPreview) -> str:
        """Return which old sessions are kept, and that another program counts differently."""
        spared, words = found.spared, ""
        if spared.pinned:
            words += f" {self._number(spared.pinned)} pinned "
            words += "session is kept." if spared.pinned == 1 else "sessions are kept."
        if spared.used_since:
            words += (
                f" {self._number(spared.used_since)} started earlier but "
                f"{('was' if spared.used_since == 1 else 'were')} used since."
            )
        if found.count or words:
            words += " `hermes` 0.19 counts from the start and ignores pins."
        return words

    def _last(self, last: LastPrune) -> str:
        """Return when old sessions were last deleted, and how many."""
        words = ""
        if last.at:
            when = self.moment(datetime.fromtimestamp(last.at))  # noqa: DTZ006 - as above
            if last.took is None:
                words = f" Another program last did this {when}."
            else:
                some = self._number(last.took) if last.took else "no"
                words = f" The last deletion was {when}: {some} "
                words += f"{_plural(last.took, 'session')} deleted."
            if last.error:
                words += f" It failed: {last.error}"
        if last.believed_at:
            until = self.moment(datetime.fromtimestamp(last.believed_at))  # noqa: DTZ006 - as above
            words += (
                " The clock of this computer jumped. Nothing is deleted until it is correct "
                f"again, or until {until} if it runs evenly."
            )
        return words

    def moment(self, when: datetime) -> str:
        """Return a moment as text for a sentence: ``today at 14:30``, ``on 3 March 2026``."""
        day = QDate(when.year, when.month, when.day)
        ahead = QDate(self._now.year, self._now.month, self._now.day).daysTo(day)
        clock = self._locale.toString(QTime(when.hour, when.minute), _SHORT_DATE)
        named = {0: "today", 1: "tomorrow", -1: "yesterday"}.get(ahead)
        if named is not None:
            return f"{named} at {clock}"
        return f"on {self._locale.toString(day, QLocale.FormatType.LongFormat)}"

    def _sweep(self) -> str:
        if self._gateway in _RUNS:
            return "at the next sweep (within the hour)"
        if self._gateway == "attached":
            return "by the gateway of the other program, if it uses this limit"
        return "when the gateway runs again"

    def _oldest(self, found: ExpiringChats) -> str:
        oldest = found.oldest
        if oldest is None:
            return ""
        name = oldest.label[:60]
        where = f" on {source_name(oldest.platform)}" if oldest.platform else ""
        since = self.moment(oldest.silent_since).removeprefix("on ")
        return f"; the oldest is {name}{where}, inactive since {since}"

    def _rule(self, rule: ResetRulePreview, *, alone: bool) -> str:
        name = {
            "all": "All chats" if alone else "All other chats",
            "type": kind_name(rule.name),
            "platform": source_name(rule.name),
        }[rule.kind]
        due = rule.idle + rule.daily
        if rule.policy.mode == "none":
            return (
                f"{name}: {self._number(rule.chats)} {_plural(rule.chats, 'chat')} never "
                f"{'starts' if rule.chats == 1 else 'start'} a new session automatically."
            )
        some = self._number(due) if due else "none"
        verb = "starts" if due == 1 else "start"
        words = f"{name}: {some} of {self._number(rule.chats)} {verb} a new session"
        words += " with the next message"
        reasons = "; ".join(self._reasons(rule))
        words += f" ({reasons})." if reasons else "."
        if rule.next is not None:
            words += (
                f" The next one would do so {self.moment(rule.next)}, unless it is used before."
            )
        return words

    def _reasons(self, rule: ResetRulePreview) -> Iterator[str]:
        if rule.idle:
            span = _span(rule.policy.idle_minutes)
            yield f"{self._number(rule.idle)} inactive for more than {span}"
        if rule.daily:
            yield f"{self._number(rule.daily)} inactive since before {rule.policy.at_hour}:00"

    def _days(self, days: float) -> str:
        return f"{self._number(int(days))} {_plural(int(days), 'day')}"

    def _number(self, number: int) -> str:
        return self._locale.toString(number)


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


def _span(minutes: int) -> str:
    for size, noun in ((60 * 24, "day"), (60, "hour")):
        if minutes >= size and not minutes % size:
            count = minutes // size
            return f"{count} {_plural(count, noun)}"
    return f"{minutes} {_plural(minutes, 'minute')}"


_WAIT_MS = 250
"""The delay after a keystroke, so that a number is not evaluated for each of its digits."""
_GREY_MS = 150
_OURS = ("session_reset.", "reset_by_", "session_store_max_age_days", "sessions.")


class RetentionPart(SettingsPart):
    """Three sentences, recomputed whenever a value on this page changes."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(context)
        self._preview: RetentionPreview | None = None
        self._counting: asyncio.Task[None] | None = None
        self._counted: list[Change] | None = None
        self.seen: RetentionCounts | None = None
        self.chats, self.rules, self.stored = (SecondaryLabel(context.theme) for _ in range(3))
        self.basis = SecondaryLabel(context.theme)
        self._wait = _timer(self, _WAIT_MS, self._count)
        self._grey = _timer(self, _GREY_MS, lambda: self._block.setEnabled(False))
        self._arrange()
        context.draft.edits_changed.connect(self._changed)
        context.draft.loaded.connect(self._loaded)
        context.bridge.gateway_status_changed.connect(self._gateway_changed)

    @override
    def begin(self) -> None:
        services = self.context.services
        self._preview = RetentionPreview(
            services.paths, services.db, self.context.clock, services.background.is_busy
        )
        self.destroyed.connect(self._preview.close)
        self._count()

    @override
    def set_locked(self, reason: str) -> None:
        """Keep the part enabled: it changes nothing."""

    @override
    def end(self) -> None:
        self._wait.stop()
        self._grey.stop()
        self._stop()
        if self._preview is not None:
            self._preview.close()
            self._preview = None

    def _loaded(self) -> None:
        self._counted = None
        self._changed()

    def _changed(self) -> None:
        if self._preview is not None and self._wanted() != self._counted:
            self._wait.start()

    def _gateway_changed(self, _: object) -> None:
        if self.seen is not None:
            self._show(self.seen)

    def _wanted(self) -> list[Change]:
        draft = self.context.draft
        faulty = set(draft.faulty)
        return [
            change
            for change in draft.changes()
            if change.key.startswith(_OURS) and change.key not in faulty
        ]

    def _count(self) -> None:
        self._wait.stop()
        self._stop()
        if self._preview is not None:
            self._counted = self._wanted()
            self._grey.start()
            self._counting = self.context.slots.start(
                self._count_for(self._preview, self._counted), doing=self.tr("Counting")
            )

    def _stop(self) -> None:
        """Cancel the count in progress, whose result is outdated."""
        if self._counting is not None:
            self._counting.cancel()
            self._counting = None

    async def _count_for(self, preview: RetentionPreview, changes: list[Change]) -> None:
        try:
            wished = await self.context.services.settings.preview_after(changes)
            found = await preview.count(wished)
        except HermesError as error:
            self.seen = None
            self._say(error.title, (), "")
        else:
            self._show(found)
        self._grey.stop()
        self._block.setEnabled(True)

    def _show(self, found: RetentionCounts) -> None:
        self.seen = found
        state = self.context.services.gateway.state
        words = RetentionText(self.context.clock.now(), state)
        rules = words.rules(found.rules)
        self._say(words.chats(found.chats), rules, words.stored(found.stored))

    def _say(self, chats: str, rules: tuple[str, ...] | list[str], stored: str) -> None:
        self.chats.setText(chats)
        self.rules.setText("\n".join(rules))
        self.stored.setText(stored)
        for title, label in self._lines:
            title.setVisible(bool(label.text()))
            label.setVisible(bool(label.text()))
        self.basis.setText(
            self.tr("Based on the values below, which are not saved yet.")
            if self._counted
            else self.tr("Based on the saved settings.")
        )
        self.setAccessibleDescription(" ".join((chats, *rules, stored)))

    def _arrange(self) -> None:
        self.column.addWidget(heading(self.tr("Current effect")))
        self._block = Block(self.context.theme)
        self._lines = [
            (heading_label(self.tr("Forgotten chats")), self.chats),
            (heading_label(self.tr("New sessions")), self.rules),
            (heading_label(self.tr("Deleted sessions")), self.stored),
        ]
        for title, label in self._lines:
            pair = QVBoxLayout()
            pair.setSpacing(2)
            pair.addWidget(title)
            pair.addWidget(label)
            title.hide()
            self._block.column.addLayout(pair)
        self.basis.setText(self.tr("Counting…"))
        self._block.column.addWidget(self.basis)
        self.column.addWidget(self._block)


def _timer(parent: SettingsPart, after_ms: int, slot: object) -> QTimer:
    timer = QTimer(parent)
    timer.setSingleShot(True)
    timer.setInterval(after_ms)
    timer.timeout.connect(slot)
    return timer
