"""Tokens changed in the window while the gateway of this home runs, with a service that answers."""

from datetime import timedelta
from pathlib import Path

import pytest
from PySide6.QtTest import QTest

from hermes_desktop.ui.settings.fields.field_row import FieldRow
from tests.fakes.private_bus import NEEDS_KEYRING, PrivateBus
from tests.ui.settings_platforms.conftest import BETTER, GOOD, TOKEN, PlatformsStage
from tests.ui.settings_platforms.test_real_keyring import Pulled, bus

__all__ = ["bus"]

DAYS = "session_store_max_age_days"

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.two_processes,
    # The library leaves the sockets of calls that failed to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def running(stage: PlatformsStage, tmp_path: Path) -> PlatformsStage:
    stage.hosts = True
    stage.environ = {"HERMES_GATEWAY_LOCK_DIR": str(tmp_path / "locks"), "PATH": ""}
    stage.more = "      expected_silence_s: 30\n      allow_from: u1\n"
    return stage


async def connected(stage: PlatformsStage, token: str) -> None:
    await stage.until(lambda: stage.chat.tokens[-1:] == [token])
    await stage.until(lambda: stage.telegram.head.state.text().startswith("Connected"))


async def test_a_new_token_is_taken_into_the_running_gateway(running: PlatformsStage) -> None:
    running.kept(**{TOKEN: GOOD})
    async with running as stage:
        await stage.services.gateway.start()
        card = await stage.card()
        await connected(stage, GOOD)
        stage.chat.set(bad_token=BETTER)
        stage.paste(BETTER)
        await stage.save()
        await stage.until(lambda: "Telegram rejected" in stage.field.message.text)
        assert stage.chat.tokens == [GOOD]
        assert stage.services.gateway.status.platforms[0].state == "connected"
        stage.chat.set(bad_token="")
        await stage.save()
        await stage.until(lambda: stage.field.message.text == "It is stored in the keyring.")
        await connected(stage, BETTER)
        assert "Telegram is connected with the new settings" in stage.shown_text()
        card.head.switch.click()
        assert card.head.switch.text() == "Off, not saved yet"
        await stage.save()
        await stage.until(lambda: card.head.state.text() in {"Turned off", "Gateway stopped"})


async def test_removing_it_leaves_the_platform_and_bringing_it_back_connects(running) -> None:
    running.kept(**{TOKEN: GOOD})
    async with running as stage:
        await stage.services.gateway.start()
        await stage.card()
        await connected(stage, GOOD)
        await stage.offer("remove")
        await stage.agree()
        await stage.until(lambda: stage.field.origin.text() == "Not set.")
        await stage.until(lambda: "Telegram is disconnected" in stage.shown_text())
        await stage.undo()
        await stage.until(lambda: stage.chat.tokens == [GOOD, GOOD])
        await connected(stage, GOOD)


async def test_a_test_does_not_disturb_the_connection(running: PlatformsStage) -> None:
    running.kept(**{TOKEN: GOOD})
    async with running as stage:
        await stage.services.gateway.start()
        card = await stage.card()
        await connected(stage, GOOD)
        stage.press(card.body.check.button)
        await stage.until(lambda: "accepts the token" in card.body.check.answer.text)
        assert stage.chat.tokens == [GOOD]
        assert stage.chat.asked == [GOOD]


async def talk(stage: PlatformsStage, words: str) -> None:
    before = len(stage.chat.sent)
    stage.chat.say(words)
    await stage.until(lambda: len(stage.chat.sent) > before)


def row(stage: PlatformsStage, key: str) -> FieldRow:
    stage.view.show_setting(key)
    return next(each for each in stage.view.findChildren(FieldRow) if each.key == key)


async def test_the_next_sweep_uses_the_age_that_was_filled_in_and_no_adapter_restarts(
    running: PlatformsStage,
) -> None:
    running.kept(**{TOKEN: GOOD})
    async with running as stage:
        await stage.services.gateway.start()
        await stage.card()
        await connected(stage, GOOD)
        await talk(stage, "hello")
        runner = stage.services.gateway._hosted.runner
        await stage.until(lambda: not stage.services.gateway.status.running_turns)
        (entry,) = runner.session_store._entries.values()
        entry.updated_at -= timedelta(days=5)
        line = row(stage, DAYS).editor.line
        for days, left in (("6", [entry]), ("4", [])):
            line.setFocus()
            line.selectAll()
            QTest.keyClicks(line, days)
            await stage.save()
            await stage.until(lambda: stage.view.strip.isVisible() and not stage.view.draft.edits)
            assert f"{DAYS}: {days}" in stage.paths.config_yaml.read_text()
            runner._last_session_store_prune_ts = 0.0
            await runner.parts.housekeeping.check()
            assert list(runner.session_store._entries.values()) == left
        assert stage.services.gateway._hosted.runner is runner
        assert stage.chat.tokens == [GOOD]
        assert stage.chat.look()["bots"] == 1


@NEEDS_KEYRING
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_real_keyring_pulled_away_in_the_middle_disturbs_no_connection(
    running: PlatformsStage, bus: PrivateBus, when: str
) -> None:
    bus.unlocked()
    pulled = Pulled(bus, after=1_000, behind=when == "after")
    running.open_keyring = lambda: pulled
    running.kept(**{TOKEN: GOOD})
    async with running as stage:
        await stage.services.gateway.start()
        await stage.card()
        await connected(stage, GOOD)
        before = stage.paths.config_yaml.read_bytes()
        stage.view.draft.give(DAYS, "7")
        stage.paste(BETTER)
        pulled.left = 0
        await stage.save()
        await stage.until(lambda: stage.field.message.level == "error")
        assert stage.paths.config_yaml.read_bytes() == before
        assert set(stage.view.draft.edits) == {DAYS}
        assert stage.field.line.text() == BETTER
        assert stage.chat.tokens == [GOOD]
        assert stage.services.gateway.status.platforms[0].state == "connected"
        await talk(stage, "still there?")
        pulled.left = 1_000
        bus.unlocked()  # it comes back, with what it had written down
        await stage.save()
        await stage.until(lambda: not stage.view.draft.edits)
        await connected(stage, BETTER)
        assert f"{DAYS}: 7" in stage.paths.config_yaml.read_text()


async def test_a_file_edited_outside_is_followed_by_window_and_gateway(running) -> None:
    running.kept(**{TOKEN: GOOD})
    async with running as stage:
        await stage.services.gateway.start()
        await stage.card()
        await connected(stage, GOOD)
        line = row(stage, DAYS).editor.line
        assert line.text() == "90"
        file = stage.paths.config_yaml
        file.write_text(f"# by hand\n{file.read_text()}{DAYS}: 11\n")
        await stage.until(lambda: line.text() == "11")
        runner = stage.services.gateway._hosted.runner
        await stage.until(lambda: runner.config.session_store_max_age_days == 11)
        assert stage.chat.tokens == [GOOD]
