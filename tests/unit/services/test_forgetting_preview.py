"""What is counted before is what happens afterwards: the counts against the functions that act."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.errors import CancelledError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.session import SessionStore
from hermes_desktop.gateway.sessions.session_records import SessionSource
from hermes_desktop.services.assembly.forgetting_preview import (
    FRESH_S,
    RetentionCounts,
    RetentionPreview,
)
from hermes_desktop.services.settings.settings_repository import Change, SettingsRepository
from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock

DAY = 86_400.0
DAYS = "session_store_max_age_days"


class Home:
    """A home with chats that were silent for 0, 10, 20 … 90 days, and their sessions."""

    def __init__(self, folder: Path, environ: dict[str, str] | None = None) -> None:
        self.paths, self.clock = HermesPaths(folder, folder), MovableClock()
        self.db = SessionDB(self.paths.state_db, clock=self.clock)
        self.book = SettingsRepository(self.paths, environ or {}, self.clock)
        store = self.store()
        for number in range(10):
            platform = Platform.TELEGRAM if number % 2 else Platform.MATRIX
            kind = "group" if number < 4 else "dm"
            name = f"Person {number}"
            store.get_or_create_session(
                SessionSource(platform, str(number), chat_type=kind, user_name=name)
            )
            self.clock.advance(10 * DAY)
        self.clock.advance(-10 * DAY)
        self.preview = RetentionPreview(self.paths, self.db, self.clock)

    def store(self) -> SessionStore:
        """As the gateway reads it, with the settings as they stand in the files."""
        config = self.book.preview_after([]).gateway
        store = SessionStore(self.paths.sessions_dir, config, db=self.db, clock=self.clock)
        store.list_sessions()  # the gateway looks before it forgets
        return store

    def with_values(self, **values: object) -> RetentionCounts:
        changes = [Change(key.replace("__", "."), value) for key, value in values.items()]
        return self.preview.count_now(self.book.preview_after(changes))

    def save(self, **values: object) -> None:
        self.book.save([Change(key.replace("__", "."), value) for key, value in values.items()])

    def close(self) -> None:
        self.preview.close()
        self.db.close()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    found = Home(tmp_path)
    yield found
    found.close()


@pytest.mark.parametrize("days", [1, 9, 10, 45, 89, 90, 91, 36_500])
def test_as_many_are_forgotten_as_was_said(home: Home, days: int) -> None:
    said = home.with_values(session_store_max_age_days=days).chats
    assert (said.chats, said.days) == (10, days)
    home.save(session_store_max_age_days=days)
    assert home.store().prune_old_entries(days) == said.count


def test_never_is_never(home: Home) -> None:
    said = home.with_values(session_store_max_age_days=0).chats
    assert (said.count, said.oldest, said.next) == (0, None, None)


def test_the_oldest_is_named_and_the_next_one_dated(home: Home) -> None:
    said = home.with_values(session_store_max_age_days=45).chats
    assert said.oldest is not None
    assert (said.oldest.label, said.oldest.platform) == ("Person 0", "matrix")
    store = home.store()
    assert store.prune_old_entries(45) == said.count == 5
    assert said.next is not None
    home.clock.advance((said.next - home.clock.now()).total_seconds() - 2)
    assert store.prune_old_entries(45) == 0
    home.clock.advance(2)
    assert store.prune_old_entries(45) == 1


def test_what_is_kept_is_not_counted(home: Home) -> None:
    store = home.store()
    assert store.suspend_session(store.list_sessions()[0].session_key)
    home.clock.advance(200 * DAY)
    said = home.with_values(session_store_max_age_days=90).chats
    assert said.count == 9
    busy = RetentionPreview(home.paths, home.db, home.clock, has_work=lambda _: True)
    assert busy.count_now(home.book.preview_after([])).chats.count == 0
    busy.close()


@pytest.mark.parametrize(
    "values",
    [
        {"session_reset__mode": "idle", "session_reset__idle_minutes": 60 * 24 * 25},
        {"session_reset__mode": "daily", "session_reset__at_hour": 4},
        {"session_reset__mode": "both", "session_reset__idle_minutes": 1},
        {"session_reset__mode": "idle", "reset_by_platform__telegram__mode": "none"},
        {"session_reset__mode": "none", "reset_by_type__group__mode": "daily"},
    ],
)
def test_as_many_begin_anew_as_was_said(home: Home, values: dict[str, object]) -> None:
    said = home.with_values(**values).rules
    home.save(**values)
    store = home.store()
    anew = {"all": 0, "type": 0, "platform": 0}
    for entry in [*store.list_sessions()]:
        assert entry.origin is not None
        before, kind = entry.session_id, _kind(entry.platform, entry.chat_type, store)
        anew[kind] += store.get_or_create_session(entry.origin).session_id != before
    assert sum(rule.chats for rule in said) == 10
    for kind, count in anew.items():
        assert sum(rule.idle + rule.daily for rule in said if rule.kind == kind) == count


def _kind(platform: Platform | None, chat_type: str, store: SessionStore) -> str:
    if platform in store.config.reset_by_platform:
        return "platform"
    return "type" if chat_type in store.config.reset_by_type else "all"


def test_the_next_reset_is_dated(home: Home) -> None:
    (rule,) = home.with_values(session_reset__mode="daily", session_reset__at_hour=4).rules
    assert rule.daily == 9
    assert rule.next is not None
    assert (rule.next.hour, rule.next.minute) == (4, 0)
    assert (rule.next - home.clock.now()).total_seconds() < DAY
    (rule,) = home.with_values(session_reset__mode="idle", session_reset__idle_minutes=60).rules
    assert rule.idle == 9
    assert rule.next is not None
    assert 3600 <= (rule.next - home.clock.now()).total_seconds() <= 3602


def test_a_variable_that_wins_is_counted_with(tmp_path: Path) -> None:
    home = Home(tmp_path, {"SESSION_IDLE_MINUTES": str(60 * 24 * 75)})
    (rule,) = home.with_values(session_reset__mode="idle", session_reset__idle_minutes=1).rules
    assert rule.idle == 2
    home.close()


def test_stored_sessions_are_deleted_as_was_said(home: Home) -> None:
    for entry in home.store().list_sessions():
        home.db.end_session(entry.session_id, "session_reset")
    said = home.with_values(sessions__auto_prune=True, sessions__retention_days=60).stored
    assert (said.on, said.sessions, said.not_before) == (True, 10, 0.0)
    rows = home.db.prune_selection(60).candidates
    assert (said.count, said.oldest) == (len(rows), min(row.started_at for row in rows))
    done = home.db.maybe_auto_prune_and_vacuum(60, 24, False)
    assert done["pruned"] == said.count > 0
    again = home.with_values(sessions__auto_prune=True, sessions__retention_days=60).stored
    assert again.count == 0
    assert again.not_before == home.clock.time() + DAY
    assert home.db.maybe_auto_prune_and_vacuum(1, 24, False)["skipped"]


def test_nothing_is_changed_by_counting(home: Home) -> None:
    files = [home.paths.sessions_dir / ".sessions.json.x.tmp", home.paths.config_yaml]
    files[0].write_text("half")
    rows = home.db.load_gateway_routing_entries(scope=str(home.paths.sessions_dir.resolve()))
    home.with_values(session_store_max_age_days=1, session_reset__mode="daily")
    assert files[0].exists()
    assert not files[1].exists()
    assert rows == home.db.load_gateway_routing_entries(
        scope=str(home.paths.sessions_dir.resolve())
    )


def test_chats_are_read_again_after_a_while(home: Home) -> None:
    assert home.with_values().chats.chats == 10
    home.store().get_or_create_session(SessionSource(Platform.SIGNAL, "new"))
    assert home.with_values().chats.chats == 10
    home.clock.advance(FRESH_S + 1)
    assert home.with_values().chats.chats == 11


def test_stopped_counting_ends(home: Home) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(CancelledError):
        home.preview.count_now(home.book.preview_after([]), stop)


async def _cancel(home: Home) -> None:
    counting = asyncio.ensure_future(home.preview.count(home.book.preview_after([])))
    await asyncio.sleep(0)
    counting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await counting
    found = await home.preview.count(home.book.preview_after([]))
    assert found.chats.chats == 10


def test_a_count_that_was_cancelled_holds_no_other_up(home: Home) -> None:
    asyncio.run(_cancel(home))


def test_a_home_without_chats(tmp_path: Path) -> None:
    paths, clock = HermesPaths(tmp_path, tmp_path), MovableClock()
    db = SessionDB(paths.state_db, clock=clock)
    preview = RetentionPreview(paths, db, clock)
    found = preview.count_now(SettingsRepository(paths, {}, clock).preview_after([]))
    assert (found.chats.chats, found.chats.count, found.stored.sessions) == (0, 0, 0)
    assert [rule.kind for rule in found.rules] == ["all"]
    preview.close()
    db.close()
