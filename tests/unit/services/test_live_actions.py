"""What the window does to sessions: on workers, seen by the watcher, refused while a turn runs."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from hermes_desktop.core.events import SessionsChanged, TurnFinished, TurnQueued, TurnStarted
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.services.assembly.desktop_services import DesktopServices
from hermes_desktop.services.sessions.live_catalog import ListQuery
from hermes_desktop.services.sessions.session_actions import RunningTurnError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.cancellation import Progress
from hermes_desktop.state.sessions import transit_rows
from hermes_desktop.state.sessions.transit_rows import Mark, Way
from tests.fakes.foreign_program import foreign_program

pytestmark = pytest.mark.asyncio
LONG_AGO = 1_700_000_000.0
LONG_SESSION = [
    {"role": "user", "content": f"word {n}", "timestamp": LONG_AGO + n} for n in range(2_000)
]


def fill(home: Path) -> None:
    db = SessionDB(home / "state.db")
    for number in range(300):
        db.create_session(f"s{number}", ("cli", "telegram")[number % 2])
        db.append_message(f"s{number}", "user", f"word {number}", timestamp=LONG_AGO + number)
        db.append_message(f"s{number}", "assistant", "reply", timestamp=LONG_AGO + number)
    config = {"_delegate_from": "s7"}
    db.create_session("sub", "cli", parent_session_id="s7", model_config=config)
    db.set_session_title("sub", "Looks up trains")
    db.close()


@pytest_asyncio.fixture
async def services(tmp_path: Path) -> AsyncIterator[DesktopServices]:
    fill(tmp_path)
    made = build_services(
        HermesPaths(tmp_path, tmp_path),
        redactor=SecretRedactor(),
        offline=True,
        environ={},
        hosts=False,
    )
    await made.start()
    await made.catalog.page(ListQuery())
    yield made
    await made.close(drain_s=0.0)


async def next_change(services: DesktopServices) -> SessionsChanged:
    found: asyncio.Future[SessionsChanged] = asyncio.get_running_loop().create_future()
    unsubscribe = services.bus.subscribe(
        SessionsChanged, lambda event: found.done() or found.set_result(event)
    )
    try:
        return await asyncio.wait_for(found, 10)
    finally:
        unsubscribe()


async def test_a_delete_is_previewed_done_seen_and_undone(services: DesktopServices) -> None:
    preview = await services.actions.plan_delete(["s7", "s8"])
    assert preview.subagents == ("Looks up trains",)
    assert preview.plan.by_source == {"telegram": 1, "cli": 1}
    waiting = asyncio.ensure_future(next_change(services))
    await asyncio.sleep(0)
    receipt = await services.actions.delete(preview.plan)
    assert (await waiting).removed_ids == {"s7", "s8", "sub"}
    assert (await services.catalog.page(ListQuery())).total == 298
    waiting = asyncio.ensure_future(next_change(services))
    await asyncio.sleep(0)
    restored = await services.actions.undo_delete(receipt)
    assert {each.root_id for each in restored} == {"s7", "s8"}
    await waiting
    assert (await services.catalog.page(ListQuery())).total == 300


async def test_how_far_a_long_delete_is_comes_on_the_loop(
    services: DesktopServices, tmp_path: Path
) -> None:
    db = SessionDB(tmp_path / "state.db")
    db.replace_messages("s9", LONG_SESSION)
    db.close()
    heard: list[tuple[int, int]] = []
    threads: set[threading.Thread] = set()

    def hear(progress: Progress) -> None:
        heard.append((progress.done, progress.total))
        threads.add(threading.current_thread())

    preview = await services.actions.plan_delete(["s9"])
    await services.actions.delete(preview.plan, on_progress=hear)
    told = list(heard)
    await asyncio.sleep(0.05)
    assert threads == {threading.main_thread()}
    assert len(told) > 2
    assert {total for _, total in told} <= {1, 2_000}
    assert heard == told


async def test_what_a_crash_cut_short_is_finished_after_the_start(
    services: DesktopServices, caplog: pytest.LogCaptureFixture
) -> None:
    mark = Mark(Way.FOR_GOOD, "token", LONG_AGO, 10_000)
    services.db._execute_write(lambda conn: transit_rows.hide(conn, ["s7"], mark))
    waiting = asyncio.ensure_future(next_change(services))
    await services.actions.tidy_later(after_s=0.0)
    assert "s7" in (await waiting).removed_ids
    assert services.db.get_session("s7") is None
    services.db._conn.execute("CREATE TABLE notes (about TEXT REFERENCES sessions(id))")
    services.db._conn.execute("INSERT INTO notes VALUES ('s8')")
    services.db._execute_write(lambda conn: transit_rows.hide(conn, ["s8"], mark))
    await services.actions.tidy_later(after_s=0.0)
    assert "The trash was not tidied" in caplog.text
    assert services.db.summary("s8") is not None


async def test_archiving_far_down_the_list_is_seen_at_once(services: DesktopServices) -> None:
    for change, listed, archived in (
        (services.actions.archive, 298, 2),
        (services.actions.unarchive, 300, 0),
    ):
        waiting = asyncio.ensure_future(next_change(services))
        await asyncio.sleep(0)
        assert await change(["s3", "s4"]) == ("s3", "s4")
        assert (await waiting).session_ids >= {"s3", "s4"}
        page = await services.catalog.page(ListQuery())
        assert (page.total, page.archived_total) == (listed, archived)
        assert (await services.catalog.page(ListQuery(archived=True))).total == archived


async def test_a_turn_of_ours_stands_in_the_way_until_it_ends(services: DesktopServices) -> None:
    services.bus.publish(TurnQueued("t", "key", "s5", "Which train arrives before nine?"))
    with pytest.raises(RunningTurnError, match="a turn is running") as refused:
        await services.actions.archive(["s4", "s5"])
    assert "“Which train arrives before nine?” waits for its turn" in refused.value.detail
    services.bus.publish(TurnStarted("t", "key", "s5", "Which train arrives before nine?"))
    with pytest.raises(RunningTurnError) as refused:
        await services.actions.plan_delete(["s5"])
    assert "is being answered in this window" in refused.value.detail
    assert (await services.catalog.page(ListQuery())).total == 300
    services.bus.publish(TurnFinished("t", "key", "s5", None, "failed"))
    assert await services.actions.archive(["s5"]) == ("s5",)


async def test_a_failed_turn_of_ours_leaves_nothing_that_stands_in_the_way(
    services: DesktopServices,
) -> None:
    await asyncio.to_thread(services.db.append_message, "s5", "user", "Anybody there?")
    assert services.chat.turns.find("s5") is None, "nobody else has the file open"
    with (
        foreign_program(services.paths.state_db),
        pytest.raises(RunningTurnError, match="a turn is running") as refused,
    ):
        await services.actions.archive(["s5"])
    assert "“Anybody there?”" in refused.value.detail
    services.bus.publish(TurnFinished("t", "key", "s5", None, "failed"))
    with foreign_program(services.paths.state_db):
        assert await services.actions.archive(["s5"]) == ("s5",)
