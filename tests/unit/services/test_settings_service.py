"""Settings for the window: checked, written, announced, and honest about when they count."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import GatewayState, SettingsChanged
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.config_changes import ConfigReplaced
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.services.settings.desktop_config import read_desktop_config
from hermes_desktop.services.settings.settings_repository import OPTIONS, Change, SettingsRepository
from hermes_desktop.services.settings.settings_service import SettingsService, build_settings
from hermes_desktop.settings.config_store import ChangedElsewhereError
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets
from hermes_desktop.settings.options import InvalidValueError
from hermes_desktop.settings.secret_index import PlainTextSecretStore, SecretIndex
from hermes_desktop.settings.secrets import KeyringSecretStore
from tests.fakes.clock import MovableClock
from tests.fakes.keyring import FakeKeyring

TOKEN = "TELEGRAM_BOT_TOKEN"


class Gateway:
    """Hosts, as far as settings ask."""

    def __init__(self) -> None:
        self.state: GatewayState = "running"
        self.other_follows = False
        self.restarts = 0
        self.configs: list[GatewayConfig] = []
        self.answer = ConfigReplaced()

    async def restart(self) -> None:
        self.restarts += 1

    async def replace_config(self, config: GatewayConfig) -> ConfigReplaced:
        self.configs.append(config)
        return self.answer


class Stage:
    def __init__(self, home: Path, clock: Clock | None = None) -> None:
        self.paths = HermesPaths(home, home)
        self.clock, self.bus, self.gateway = clock or MovableClock(), EventBus(), Gateway()
        self.keyring = FakeKeyring()
        index = SecretIndex(self.paths.desktop_dir)
        self.store = KeyringSecretStore(index, "x", self.clock, open_keyring=lambda: self.keyring)
        environ = EnvironmentWithSecrets(
            {"HOME": str(home)}, self.store, PlainTextSecretStore(index)
        )
        self.settings: SettingsService = build_settings(
            self.paths, environ, self.clock, self.gateway, self.bus
        )
        self.news: list[SettingsChanged] = []
        self.bus.subscribe(SettingsChanged, self.news.append)


@pytest_asyncio.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.settings.close()
    stage.store.close()


@pytest.mark.asyncio
async def test_what_counts_when_is_told(stage: Stage) -> None:
    changes = [
        Change("model.default", "m"),
        Change("session_reset.mode", "idle"),
        Change("desktop.start_hidden", value=True),
    ]
    applied = await stage.settings.apply(changes)
    assert applied.at_once == ("model.default", "session_reset.mode")
    assert applied.after_restart == ()
    assert stage.gateway.configs[-1].default_reset_policy.mode == "idle"
    assert applied.next_start == ("desktop.start_hidden",)
    assert [change.key for change in stage.news[0].changes] == [each.key for each in changes]
    assert stage.paths.config_yaml.read_text() == (
        "model:\n  default: m\nsession_reset:\n  mode: idle\n"
    )
    assert read_desktop_config(stage.paths).start_hidden
    await stage.settings.restart_gateway()
    assert stage.gateway.restarts == 1


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("state", "where"),
    [("attached", "other_gateway"), ("stopped", "at_once"), ("degraded", "at_once")],
)
async def test_it_depends_on_who_is_the_gateway(
    stage: Stage, state: GatewayState, where: str
) -> None:
    stage.gateway.state = state
    applied = await stage.settings.apply([Change("max_concurrent_sessions", 4)])
    assert getattr(applied, where) == ("max_concurrent_sessions",)


@pytest.mark.asyncio
async def test_another_hermes_desktop_follows_by_itself(stage: Stage) -> None:
    stage.gateway.state, stage.gateway.other_follows = "attached", True
    applied = await stage.settings.apply(
        [Change("max_concurrent_sessions", 4), Change("group_sessions_per_user", value=False)]
    )
    assert applied.at_once == ("max_concurrent_sessions",)
    assert applied.other_gateway == ("group_sessions_per_user",)


@pytest.mark.asyncio
async def test_what_has_to_wait_is_named(stage: Stage) -> None:
    applied = await stage.settings.apply([Change("group_sessions_per_user", value=False)])
    assert (applied.at_once, applied.after_restart) == ((), ("group_sessions_per_user",))


@pytest.mark.asyncio
async def test_one_bad_value_changes_nothing_not_even_a_secret(stage: Stage) -> None:
    with pytest.raises(InvalidValueError) as caught:
        await stage.settings.apply(
            [Change("model.default", "m"), Change("agent.max_turns", 0)], {TOKEN: "1234567:x"}
        )
    assert caught.value.key == "agent.max_turns"
    with pytest.raises(HermesError):
        await stage.settings.apply([Change("model.default", "m")], {TOKEN: "two\nlines"})
    assert not stage.paths.config_yaml.exists()
    assert stage.keyring.calls == []
    assert stage.news == []


@pytest.mark.asyncio
async def test_secrets_come_first_and_a_locked_keyring_stops_it(stage: Stage) -> None:
    stage.keyring.locked = True
    with pytest.raises(HermesError, match="locked"):
        await stage.settings.apply([Change("model.default", "m")], {TOKEN: "1234567:secret"})
    assert not stage.paths.config_yaml.exists()
    stage.keyring.locked = False
    applied = await stage.settings.apply([Change("model.default", "m")], {TOKEN: "1234567:secret"})
    assert applied.at_once == ("model.default", TOKEN)
    assert stage.news[-1].changes[-1].platform == "telegram"
    assert "secret" not in stage.paths.config_yaml.read_text()
    (view,) = [each for each in await stage.settings.look_at_secrets() if each.places]
    assert view.counts is not None
    assert view.counts.where == "keyring"
    assert "1234567" not in repr(view)


@pytest.mark.asyncio
async def test_all_secrets_are_kept_or_none(stage: Stage) -> None:
    bot, app = "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"
    stage.store.store(bot, "xoxb-before")
    stage.keyring.fails_at = f"set {app}"
    with pytest.raises(HermesError) as caught:
        await stage.settings.apply(
            [Change("model.default", "m")], {bot: "xoxb-after", app: "xapp-after"}
        )
    assert "was kept" not in caught.value.detail
    assert stage.store.demand(bot) == "xoxb-before"
    assert stage.store.names() == {bot}
    assert not stage.paths.config_yaml.exists()


@pytest.mark.asyncio
async def test_both_files_are_written_or_none(stage: Stage) -> None:
    own = stage.paths.desktop_dir / "settings.yaml"
    own.parent.mkdir()
    own.write_text("x: &all\n  start_hidden: false\n<<: *all\n")
    stage.paths.config_yaml.write_text("model:\n  default: a\n")
    for before in (stage.paths.config_yaml.read_bytes(), None):
        with pytest.raises(HermesError, match="cannot be changed here"):
            await stage.settings.apply(
                [Change("model.default", "b"), Change("desktop.start_hidden", value=True)]
            )
        exists = stage.paths.config_yaml.exists()
        assert (stage.paths.config_yaml.read_bytes() if exists else None) == before
        assert await stage.settings.versions() == []
        stage.paths.config_yaml.unlink(missing_ok=True)
    assert stage.news == []


def test_who_writes_right_after_us_makes_no_error_of_what_was_saved(tmp_path: Path) -> None:
    class Followed(SettingsRepository):
        def _must_count(self, changes: Sequence[Change]) -> None:
            self.config.file.write_text("# theirs\n")
            super()._must_count(changes)

    book = Followed(HermesPaths(tmp_path, tmp_path), {}, MovableClock())
    assert "+model" in book.save([Change("model.default", "b")]).diff
    assert book.config.file.read_text() == "# theirs\n"


@pytest.mark.asyncio
async def test_a_secret_that_cannot_be_taken_out_of_the_file_is_not_moved_at_all(
    stage: Stage,
) -> None:
    text = "platforms:\n  telegram:\n    token: 1:old\n    token: 1234567:abc\n"
    stage.paths.config_yaml.write_text(text)
    stage.paths.env_file.write_text(f"{TOKEN}=1234567:abc\n")
    with pytest.raises(HermesError, match="cannot be changed here"):
        await stage.settings.move_secret(TOKEN)
    assert stage.paths.config_yaml.read_text() == text
    assert stage.paths.env_file.read_text() == f"{TOKEN}=1234567:abc\n"
    assert stage.keyring.values == {}


@pytest.mark.asyncio
async def test_what_was_removed_comes_back_once(stage: Stage) -> None:
    await stage.settings.apply([], {TOKEN: "1234567:secret"})
    await stage.settings.remove_secret(TOKEN)
    assert stage.store.names() == frozenset()
    assert stage.settings.can_bring_back(TOKEN)
    await stage.settings.restore_secret(TOKEN)
    assert stage.store.demand(TOKEN) == "1234567:secret"
    assert not stage.settings.can_bring_back(TOKEN)
    with pytest.raises(HermesError):
        await stage.settings.restore_secret(TOKEN)


@pytest.mark.asyncio
async def test_kept_in_the_clear_only_when_asked_for(stage: Stage) -> None:
    applied = await stage.settings.keep_plain(TOKEN, "1234567:secret")
    assert applied.at_once == (TOKEN,)
    assert stage.keyring.calls == []
    (view,) = [each for each in await stage.settings.look_at_secrets() if each.places]
    assert [place.where for place in view.places] == ["plain file"]
    await stage.settings.remove_secret(TOKEN)
    await stage.settings.restore_secret(TOKEN)
    (view,) = [each for each in await stage.settings.look_at_secrets() if each.places]
    assert [place.where for place in view.places] == ["plain file"]
    await stage.settings.apply([], {TOKEN: "1234567:better"})
    (view,) = [each for each in await stage.settings.look_at_secrets() if each.places]
    assert [place.where for place in view.places] == ["keyring"]


@pytest.mark.asyncio
async def test_waiting_for_the_keyring_is_ended_by_a_person(stage: Stage) -> None:
    stage.keyring.answers.clear()
    saving = asyncio.ensure_future(stage.settings.apply([], {TOKEN: "1234567:secret"}))
    while not stage.keyring.calls:
        await asyncio.sleep(0.01)
    stage.settings.stop_waiting()
    with pytest.raises(HermesError, match="not answering"):
        await saving
    stage.keyring.answers.set()
    assert (await stage.settings.check_keyring()).state == "stored"
    assert stage.keyring.values == {}
    assert stage.store.names() == frozenset()


@pytest.mark.asyncio
async def test_what_somebody_else_changed_is_not_overwritten(stage: Stage) -> None:
    stage.paths.config_yaml.write_text("model:\n  default: a\nagent:\n  max_turns: 1\n")
    views = {view.key: view for view in await stage.settings.look()}
    stage.paths.config_yaml.write_text("model:\n  default: b\nagent:\n  max_turns: 1\n")
    with pytest.raises(ChangedElsewhereError) as caught:
        await stage.settings.apply([Change("model.default", "c", seen=views["model.default"].seen)])
    assert caught.value.key == "model.default"
    await stage.settings.apply([Change("agent.max_turns", 2, seen=views["agent.max_turns"].seen)])
    text = stage.paths.config_yaml.read_text()
    assert text == "model:\n  default: b\nagent:\n  max_turns: 2\n"


@pytest.mark.asyncio
async def test_a_version_comes_back_and_is_announced(stage: Stage) -> None:
    await stage.settings.apply([Change("agent.max_turns", 2)])
    await stage.settings.apply([Change("agent.max_turns", 3)])
    (version,) = await stage.settings.versions()
    applied = await stage.settings.restore(version)
    assert applied.at_once == ("agent.max_turns",)
    assert "max_turns: 2" in stage.paths.config_yaml.read_text()


@pytest.mark.slow
@pytest.mark.asyncio
async def test_every_setting_can_be_set_is_read_back_and_can_be_unset(stage: Stage) -> None:
    samples = {"yes_no": True, "whole_number": 5, "number": 2.5, "text": "x", "texts": ["1", "on"]}
    for key, option in OPTIONS.items():
        value = samples.get(option.kind, "http://127.0.0.1:1/v1")
        if option.kind == "choice":
            value = list(option.choices or {})[-1]
        if option.kind in {"number", "whole_number"}:
            value = min(max(value, option.minimum), option.maximum)  # type: ignore[type-var]
        await stage.settings.apply([Change(key, value)])
        (view,) = [each for each in await stage.settings.look(key) if each.key == key]
        assert (view.value, view.is_set) == (value, True), key
        await stage.settings.apply([Change(key, unset=True)])
        (view,) = [each for each in await stage.settings.look(key) if each.key == key]
        assert view.is_default, key
    assert stage.paths.config_yaml.read_text().strip() == ""
