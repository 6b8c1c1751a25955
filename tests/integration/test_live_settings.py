"""Settings changed while the gateway runs: what follows at once, and what is left alone."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import Notice, NoticeCleared
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.services.assembly.assembly import build_gateway
from hermes_desktop.services.settings.platform_checks import RefusedByPlatformError
from hermes_desktop.services.settings.settings_repository import Change
from hermes_desktop.settings.config_store import ChangedElsewhereError
from hermes_desktop.settings.secret_index import SecretIndex
from hermes_desktop.settings.secrets import KeyringSecretStore, SecretStoreError
from tests.fakes.hosting import write_config
from tests.fakes.live_stage import FIRST, SECOND, VARIABLE, LiveStage, live_stage
from tests.fakes.model_server import ModelServer
from tests.fakes.socket_platform import chat_server, socket_registry
from tests.support.waiting import until


@pytest_asyncio.fixture
async def stage(tmp_path: Path) -> AsyncIterator[LiveStage]:
    async with live_stage(tmp_path) as stage:
        yield stage


@pytest.mark.asyncio
async def test_the_next_sweep_uses_another_age_and_no_adapter_restarts(stage: LiveStage) -> None:
    runner = stage.runner
    await stage.talk(stage.telegram, "hello")
    (entry,) = runner.session_store._entries.values()
    entry.updated_at -= timedelta(days=5)
    runner._last_session_store_prune_ts = 0.0
    await runner.parts.housekeeping.check()
    assert list(runner.session_store._entries.values()) == [entry]
    applied = await stage.settings.apply(
        [Change("session_store_max_age_days", 3), Change("session_reset.idle_minutes", 7)]
    )
    assert applied.at_once == ("session_store_max_age_days", "session_reset.idle_minutes")
    assert (applied.reconnected, applied.after_restart) == ((), ())
    assert stage.runner is runner
    assert runner.config.session_store_max_age_days == 3
    assert runner.session_store.config.default_reset_policy.idle_minutes == 7
    runner._last_session_store_prune_ts = 0.0
    await runner.parts.housekeeping.check()
    assert runner.session_store._entries == {}
    assert (stage.telegram.logins, stage.discord.logins) == (1, 1)
    assert len(stage.news) == 1


@pytest.mark.asyncio
async def test_another_token_restarts_exactly_that_adapter(stage: LiveStage) -> None:
    assert await stage.talk(stage.discord, "before") == "You said: before"
    await stage.begin_long_turn(stage.discord)
    applied = await stage.settings.apply([], {VARIABLE: SECOND})
    assert [(each.platform, each.ok) for each in applied.reconnected] == [("telegram", True)]
    assert [each.answer.name for each in applied.checked] == ["@bot-oken"]
    assert stage.telegram.tokens == [FIRST, SECOND]
    assert stage.host.host.status.running_turns == 1  # not touched
    await stage.host.until(lambda: len(stage.discord.sent) == 2)
    assert stage.discord.sent[-1].text == "It took a while."
    assert stage.discord.logins == 1
    assert await stage.talk(stage.telegram, "after") == "You said: after"
    assert len(list(stage.host.locks.glob("*.lock"))) == 2  # that of the old token was given back
    assert SECOND not in stage.host.paths.config_yaml.read_text()


@pytest.mark.asyncio
async def test_a_reply_that_is_being_written_arrives_all_the_same(
    stage: LiveStage,
) -> None:
    await stage.begin_long_turn(stage.telegram)
    await stage.settings.apply([], {VARIABLE: SECOND})
    await stage.host.until(lambda: stage.telegram.sent)
    assert stage.telegram.texts() == ["It took a while."]
    await stage.host.until(lambda: not stage.telegram.pending)


@pytest.mark.asyncio
async def test_a_token_that_is_refused_changes_nothing(stage: LiveStage) -> None:
    stage.telegram.set(bad_token=SECOND)
    changes = [Change("agent.max_turns", 5)]
    with pytest.raises(RefusedByPlatformError) as caught:
        await stage.settings.apply(changes, {VARIABLE: SECOND})
    assert caught.value.key == VARIABLE
    assert caught.value.detail == "The service said bad_token."
    assert (stage.keyring.values, stage.news, stage.telegram.logins) == ({}, [], 1)
    assert "max_turns" not in stage.host.paths.config_yaml.read_text()
    assert await stage.talk(stage.telegram, "still there?") == "You said: still there?"


@pytest.mark.asyncio
async def test_refused_at_the_connection_although_the_check_passed(stage: LiveStage) -> None:
    stage.telegram.set(bad_login=SECOND)
    applied = await stage.settings.apply([], {VARIABLE: SECOND})
    assert [each.answer.kind for each in applied.checked] == ["ok"]
    assert [(each.platform, each.ok, each.words) for each in applied.reconnected] == [
        ("telegram", False, "The service said bad_token.")
    ]
    assert stage.host.host.state == "degraded"
    stage.telegram.set(bad_login="")
    applied = await stage.settings.apply([], {VARIABLE: FIRST})
    assert [each.ok for each in applied.reconnected] == [True]
    assert await stage.talk(stage.telegram, "again") == "You said: again"


@pytest.mark.asyncio
async def test_one_that_cannot_be_reached_is_stored_and_that_is_said(stage: LiveStage) -> None:
    port = stage.telegram.port
    await stage.telegram.stop()
    applied = await stage.settings.apply([], {VARIABLE: SECOND})
    assert [each.answer.kind for each in applied.checked] == ["unreachable"]
    assert [each.ok for each in applied.reconnected] == [False]
    await stage.telegram.start(port)
    await stage.host.until(lambda: stage.telegram.tokens == [FIRST, SECOND])
    assert stage.discord.logins == 1


@pytest.mark.asyncio
async def test_a_platform_is_left_and_connected_without_a_restart(stage: LiveStage) -> None:
    runner = stage.runner
    off = await stage.settings.apply([Change("platforms.telegram.enabled", value=False)])
    assert [(each.platform, each.left) for each in off.reconnected] == [("telegram", True)]
    assert [each.name for each in stage.host.host.status.platforms] == ["discord"]
    state = "gateway_state.json"
    await stage.host.until(lambda: list(stage.host.file(state)["platforms"]) == ["discord"])
    assert stage.telegram.look()["bots"] == 0
    stage.telegram.say("while it was off")
    on = await stage.settings.apply([Change("platforms.telegram.enabled", value=True)])
    assert [(each.platform, each.ok) for each in on.reconnected] == [("telegram", True)]
    await stage.host.until(lambda: stage.telegram.texts() == ["You said: while it was off"])
    assert stage.runner is runner
    assert stage.discord.logins == 1


@pytest.mark.asyncio
async def test_who_is_taken_off_a_list_is_out_with_the_next_message(stage: LiveStage) -> None:
    assert await stage.talk(stage.telegram, "hello") == "You said: hello"
    changes = [
        Change("telegram.allow_from", ["u2"]),
        Change("telegram.unauthorized_dm_behavior", "ignore"),
    ]
    applied = await stage.settings.apply(changes)
    assert applied.at_once == tuple(change.key for change in changes)
    stage.telegram.say("still in?")
    stage.telegram.say("I am new", chat="c2", user="u2")
    await stage.host.until(lambda: not stage.telegram.pending)
    assert stage.telegram.texts() == ["You said: hello", "You said: I am new"]
    assert stage.telegram.logins == 1


@pytest.mark.asyncio
async def test_a_paused_platform_takes_its_new_token_later(
    stage: LiveStage,
) -> None:
    await stage.host.host.pause("telegram")
    await stage.host.until(lambda: stage.telegram.look()["bots"] == 0)
    applied = await stage.settings.apply([], {VARIABLE: SECOND})
    assert [(each.platform, each.ok) for each in applied.reconnected] == [("telegram", True)]
    assert stage.telegram.logins == 1
    await stage.host.host.resume("telegram")
    await stage.host.until(lambda: stage.telegram.tokens == [FIRST, SECOND])


# ----------------------------------------------------------------------- changed by somebody else


@pytest.mark.asyncio
async def test_an_editor_is_followed(stage: LiveStage) -> None:
    stage.edit(session_store_max_age_days=5)
    await stage.host.until(lambda: stage.runner.config.session_store_max_age_days == 5)
    assert stage.keys() == ["session_store_max_age_days"]
    data = yaml.safe_load(stage.host.paths.config_yaml.read_text())
    data["platforms"]["telegram"]["token"] = SECOND
    stage.edit(platforms=data["platforms"])
    await stage.host.until(lambda: stage.telegram.tokens == [FIRST, SECOND])
    assert stage.keys() == ["session_store_max_age_days", VARIABLE]
    assert stage.discord.logins == 1
    stage.host.paths.env_file.write_text(f"{VARIABLE}={FIRST}\n")
    await stage.host.until(lambda: stage.telegram.tokens == [FIRST, SECOND, FIRST])


@pytest.mark.asyncio
async def test_a_broken_file_changes_nothing_and_is_named_with_its_line(stage: LiveStage) -> None:
    file = stage.host.paths.config_yaml
    good = file.read_text()
    file.write_text(good + "agent:\n  max_turns: [1\n")
    await stage.host.until(lambda: "config.yaml cannot be parsed." in stage.titles())
    notice = next(each for each in stage.host.notices if isinstance(each, Notice))
    assert "line " in notice.detail
    assert await stage.talk(stage.telegram, "hello") == "You said: hello"
    assert (stage.news, stage.telegram.logins) == ([], 1)
    file.write_text(good + "agent:\n  max_turns: 7\n")
    await stage.host.until(lambda: stage.runner.config.running.max_iterations == 7)
    assert NoticeCleared(notice.key) in stage.host.notices
    assert stage.keys() == ["agent.max_turns"]


@pytest.mark.asyncio
async def test_what_would_let_everybody_in_is_not_taken(stage: LiveStage) -> None:
    stage.edit(telegram={"dm_policy": "open"})
    await stage.host.until(lambda: "Anyone could write to the assistant." in stage.titles())
    assert "dm_policy" not in stage.runner.config.platforms[Platform.TELEGRAM].extra
    assert stage.telegram.logins == 1


@pytest.mark.asyncio
async def test_what_chats_are_built_on_waits_for_a_restart_and_is_named(stage: LiveStage) -> None:
    stage.edit(group_sessions_per_user=False, agent={"max_turns": 6})
    await stage.host.until(lambda: stage.runner.config.running.max_iterations == 6)
    assert stage.runner.config.group_sessions_per_user
    waits = "Some changed settings take effect when the gateway restarts."
    await stage.host.until(lambda: waits in stage.titles())
    await stage.settings.restart_gateway()
    assert not stage.runner.config.group_sessions_per_user


@pytest.mark.asyncio
async def test_our_own_change_is_told_once(stage: LiveStage) -> None:
    await stage.settings.apply([Change("agent.max_turns", 5)], {VARIABLE: SECOND})
    stage.edit(session_store_max_age_days=5)
    await stage.host.until(lambda: stage.runner.config.session_store_max_age_days == 5)
    assert stage.keys() == ["agent.max_turns", VARIABLE, "session_store_max_age_days"]
    assert stage.telegram.tokens == [FIRST, SECOND]


@pytest.mark.asyncio
async def test_a_gateway_without_a_window_follows_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    environ = {"HERMES_GATEWAY_LOCK_DIR": str(tmp_path / "locks"), "PATH": ""}
    with ModelServer() as model:
        async with chat_server() as chat:
            write_config(home, model, chat.port)
            services = build_gateway(
                HermesPaths(home, home),
                redactor=SecretRedactor(),
                clock=SystemClock(),
                environ=environ,
                registry=socket_registry(),
            )
            try:
                await services.start()
                await services.gateway.start(insist=True)
                assert services.gateway.state == "running"
                text = (home / "config.yaml").read_text()
                (home / "config.yaml").write_text(text.replace("123:socket-token", SECOND))
                await until(lambda: chat.tokens[-1] == SECOND)
            finally:
                await services.close(drain_s=0.0)


# ------------------------------------------------------------------------------------- the keyring


@pytest.mark.asyncio
async def test_a_keyring_pulled_away_leaves_nothing_half_saved(stage: LiveStage) -> None:
    before = stage.host.paths.config_yaml.read_text()

    def pulled_away(what: str) -> None:
        if what == "set DISCORD_BOT_TOKEN":
            stage.keyring.locked = True

    stage.keyring.before = pulled_away
    with pytest.raises(SecretStoreError):
        await stage.settings.apply(
            [Change("agent.max_turns", 5)],
            {VARIABLE: SECOND, "DISCORD_BOT_TOKEN": "556:other"},
        )
    assert stage.host.paths.config_yaml.read_text() == before
    assert (stage.news, stage.telegram.logins, stage.discord.logins) == ([], 1, 1)
    assert stage.runner.config.running.max_iterations != 5


@pytest.mark.asyncio
async def test_a_file_that_cannot_be_written_brings_the_secret_back(stage: LiveStage) -> None:
    await stage.settings.apply([], {VARIABLE: SECOND})
    views = await stage.settings.look("agent.max_turns")
    (view,) = [each for each in views if each.key == "agent.max_turns"]
    stage.edit(agent={"max_turns": 9})
    with pytest.raises(ChangedElsewhereError):
        await stage.settings.apply(
            [Change("agent.max_turns", 5, seen=view.seen)], {VARIABLE: "777:third-token"}
        )
    assert list(stage.keyring.values.values()) == [SECOND]
    assert "777:third-token" not in stage.telegram.tokens
    assert await stage.talk(stage.telegram, "hello") == "You said: hello"


@pytest.mark.asyncio
async def test_a_token_that_another_process_keeps_is_taken(stage: LiveStage) -> None:
    index = SecretIndex(stage.host.paths.desktop_dir)
    other = KeyringSecretStore(index, "test", SystemClock(), open_keyring=lambda: stage.keyring)
    await asyncio.to_thread(other.store, VARIABLE, SECOND)
    other.close()
    await stage.host.until(lambda: stage.telegram.tokens == [FIRST, SECOND])
    assert stage.keys() == [VARIABLE]


@pytest.mark.asyncio
async def test_a_restart_does_not_wait_for_a_platform_that_hangs(stage: LiveStage) -> None:
    applying = asyncio.ensure_future(stage.settings.apply([], {VARIABLE: SECOND}))
    await stage.host.until(lambda: stage.telegram.asked == [SECOND])
    stage.telegram.set(hang_login=True)
    restarting = asyncio.ensure_future(stage.settings.restart_gateway())
    applied = await applying
    assert [each.platform for each in applied.reconnected] in (["telegram"], [])
    stage.telegram.set(hang_login=False)
    await restarting
    await stage.host.until(lambda: stage.telegram.tokens[-1] == SECOND)


@pytest.mark.asyncio
async def test_a_keyring_that_locks_later_breaks_no_connection(stage: LiveStage) -> None:
    await stage.settings.apply([], {VARIABLE: SECOND})
    index = stage.host.paths.desktop_dir / "secrets.json"
    stage.keyring.locked = True
    index.write_text(index.read_text() + " ")  # as if another process had kept something
    stage.edit(agent={"max_turns": 9})
    await stage.host.until(lambda: stage.runner.config.running.max_iterations == 9)
    assert stage.telegram.tokens == [FIRST, SECOND]
    assert stage.keys() == [VARIABLE, "agent.max_turns"]
    assert await stage.talk(stage.telegram, "hello") == "You said: hello"
