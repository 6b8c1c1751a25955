"""What would be forgotten, said on the page of sessions while one fills it in."""

from datetime import datetime as local
from datetime import timedelta

import pytest
from PySide6.QtCore import QLocale

from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import Platform, SessionResetPolicy
from hermes_desktop.gateway.session import SessionStore
from hermes_desktop.gateway.sessions.session_records import SessionSource
from hermes_desktop.services.assembly.forgetting_preview import (
    ChatName,
    DeletedSessionsPreview,
    ExpiringChats,
    ResetRulePreview,
)
from hermes_desktop.services.assembly.history_upkeep import LastPrune
from hermes_desktop.services.settings.settings_repository import SettingsRepository
from hermes_desktop.state import SessionDB
from hermes_desktop.state.sessions.bulk_selection import SparedCounts
from hermes_desktop.ui.settings.forgetting_part import RetentionPart, RetentionText
from tests.fakes.clock import MovableClock
from tests.ui.settings.conftest import SettingsStage


def at(*numbers: int) -> local:
    """A moment as the routing index has it: local, without a zone."""
    return local(*numbers)  # noqa: DTZ001


NOW = at(2026, 3, 10, 12, 0)
LOCALE = QLocale(QLocale.Language.English, QLocale.Country.UnitedKingdom)
DAYS = "session_store_max_age_days"


def words(gateway="running") -> RetentionText:
    return RetentionText(NOW, gateway, LOCALE)


ANNA = ChatName("Anna", "telegram", at(2025, 12, 1, 8, 0))


@pytest.mark.parametrize(
    ("gateway", "when"),
    [
        ("running", "at the next sweep (within the hour)"),
        ("stopped", "when the gateway runs again"),
        ("attached", "by the gateway of the other program, if it uses this limit"),
    ],
)
def test_who_forgets_and_when(gateway, when) -> None:
    said = words(gateway).chats(ExpiringChats(90, 48, 12, ANNA))
    assert said == (
        f"With 90 days, 12 of 48 chats would be forgotten {when}; the oldest is Anna on Telegram, "
        "inactive since Monday, 1 December 2025. Their transcripts stay in the session list."
    )


def test_nobody_is_forgotten() -> None:
    say = words().chats
    assert say(ExpiringChats(90, 0, 0)) == "The gateway has no chats yet."
    assert say(ExpiringChats(0, 1200, 0)) == "Chats are never forgotten. Number of chats: 1,200."
    assert say(ExpiringChats(1, 3, 0, None, at(2026, 3, 11, 9, 30))) == (
        "With 1 day, none of 3 chats would be forgotten now. "
        "The first one would be tomorrow at 09:30, unless it is used before."
    )


def test_rules() -> None:
    both = SessionResetPolicy(mode="both", idle_minutes=90, at_hour=4)
    never = SessionResetPolicy(mode="none")
    said = words().rules(
        (
            ResetRulePreview("all", "", both, 10, 2, 1, at(2026, 3, 10, 14, 0)),
            ResetRulePreview("type", "group", never, 1),
            ResetRulePreview("platform", "matrix", both, 0),
        )
    )
    assert said == [
        (
            "All other chats: 3 of 10 start a new session with the next message (2 inactive for "
            "more than 90 minutes; 1 inactive since before 4:00). The next one would do so today "
            "at 14:00, unless it is used before."
        ),
        "Groups: 1 chat never starts a new session automatically.",
    ]


def test_stored_sessions() -> None:
    say = words().stored
    off = say(DeletedSessionsPreview(on=False, days=90, sessions=3000, count=120))
    assert "With 90 days, it would delete 120 of 3,000 stored sessions." in off
    oldest, due = at(2024, 1, 2).timestamp(), (NOW + timedelta(hours=3)).timestamp()
    on = say(DeletedSessionsPreview(True, 90, 3000, 120, oldest, due))
    assert on == (
        "With 90 days, 120 of 3,000 stored sessions would be deleted today at 15:00; the oldest "
        "started on Tuesday, 2 January 2024. They are deleted with all their messages and do not "
        "go to the trash. `hermes` 0.19 counts from the start and ignores pins."
    )
    assert "would be deleted within a few minutes" in say(
        DeletedSessionsPreview(True, 90, 3, 1, oldest)
    )
    other = words("attached").stored(DeletedSessionsPreview(True, 90, 3, 1, oldest, due))
    assert "now the other gateway decides" in other


def test_what_is_spared_and_what_was_done_last() -> None:
    say, due = words().stored, (NOW + timedelta(hours=3)).timestamp()
    yesterday = (NOW - timedelta(days=1)).timestamp()
    spared = SparedCounts(pinned=1, used_since=7)
    said = say(DeletedSessionsPreview(True, 90, 30, 0, None, due, spared, LastPrune(yesterday, 4)))
    assert said == (
        "With 90 days, none of 30 stored sessions would be deleted today at 15:00. 1 pinned "
        "session is kept. 7 started earlier but were used since. `hermes` 0.19 counts from the "
        "start and ignores pins. The last deletion was yesterday at 12:00: 4 sessions deleted."
    )
    by_hermes = say(
        DeletedSessionsPreview(True, 90, 30, 0, None, due, SparedCounts(), LastPrune(yesterday))
    )
    assert by_hermes.endswith(" Another program last did this yesterday at 12:00.")
    failed = LastPrune(yesterday, 0, "the disk is full")
    said = say(DeletedSessionsPreview(True, 90, 30, 0, None, due, SparedCounts(), failed))
    assert said.endswith(": no sessions deleted. It failed: the disk is full")
    jumped = LastPrune(believed_at=(NOW + timedelta(days=1)).timestamp())
    said = say(DeletedSessionsPreview(True, 90, 30, 0, None, due, SparedCounts(), jumped))
    assert said.endswith(
        "The clock of this computer jumped. Nothing is deleted until it is correct again, or until "
        "tomorrow at 12:00 if it runs evenly."
    )


def fill(home) -> None:
    """Ten chats, silent for 5, 15, … 95 days."""
    clock, paths = MovableClock(), HermesPaths(home, home)
    away = (local.now() - clock.now()).total_seconds()  # noqa: DTZ005 - as the index has it
    db = SessionDB(paths.state_db, clock=clock)
    config = SettingsRepository(paths, {}, clock).preview_after([]).gateway
    store = SessionStore(paths.sessions_dir, config, db=db, clock=clock)
    clock.advance(away - 95 * 86_400)
    for number in range(10):
        store.get_or_create_session(
            SessionSource(Platform.TELEGRAM, str(number), user_name=f"P{number}")
        )
        clock.advance(10 * 86_400)
    db.close()


async def shown(stage: SettingsStage) -> RetentionPart:
    stage.view.show_page("sessions")
    part = stage.view.findChild(RetentionPart)
    await stage.until(lambda: part.seen is not None)
    return part


@pytest.mark.asyncio
async def test_the_numbers_follow_what_is_filled_in(home, stage) -> None:
    fill(home)
    async with stage:
        part = await shown(stage)
        assert part.chats.text().startswith("With 90 days, 1 of 10 chats would be forgotten when")
        assert "saved settings" in part.basis.text()
        for text in ("3", "30"):
            stage.view.draft.give(DAYS, text, typing=True)
        await stage.until(lambda: "With 30 days, 7 of 10" in part.chats.text())
        assert "not saved yet" in part.basis.text()
        assert "oldest is P0 on Telegram" in part.chats.text()
        stage.view.draft.give(DAYS, "many")
        await stage.until(lambda: "With 90 days" in part.chats.text())
        stage.view.draft.give("session_reset.mode", "daily")
        await stage.until(lambda: "10 of 10 start a new session" in part.rules.text())
        stage.view.draft.give("reset_by_platform.telegram.mode", "none", insist=True)
        await stage.until(lambda: part.rules.text().startswith("Telegram: 10 chats never start"))
        stage.view.saving.discard()
        await stage.until(lambda: "10 chats never start" in part.rules.text())


@pytest.mark.asyncio
async def test_a_history_that_cannot_be_read_is_said(home, stage) -> None:
    async with stage:
        part = await shown(stage)
        assert "has no chats yet" in part.chats.text()
        stage.write("a: [1\n")
        part._count()
        await stage.until(lambda: "cannot be parsed" in part.chats.text())
        assert part.rules.isHidden()
