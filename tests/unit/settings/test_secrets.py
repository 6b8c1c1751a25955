"""Secrets in a keyring that may be locked, silent or gone, and nobody waits for it for ever."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.services.agents.agent_builder import read_agent_settings
from hermes_desktop.services.settings.gateway_settings import load_gateway_config
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets
from hermes_desktop.settings.secret_index import PlainTextSecretStore, SecretIndex
from hermes_desktop.settings.secrets import (
    KeyringSecretStore,
    NoKeyring,
    SecretStoreError,
)
from tests.fakes.clock import MovableClock
from tests.fakes.keyring import FakeKeyring

TOKEN = "TELEGRAM_BOT_TOKEN"
SHORT_S = 0.05


class Desk:
    """A home with a keyring."""

    def __init__(self, home: Path) -> None:
        self.paths = HermesPaths(home, home)
        self.keyring = FakeKeyring()
        self.clock = MovableClock()
        self.index = SecretIndex(home / "desktop")
        self.stores: list[KeyringSecretStore] = []
        self.store = self.another()

    def another(self) -> KeyringSecretStore:
        """As another process has it."""
        store = KeyringSecretStore(
            self.index, "hermes-desktop:test", self.clock, open_keyring=lambda: self.keyring
        )
        self.stores.append(store)
        return store

    def environment(self, **process: str) -> EnvironmentWithSecrets:
        return EnvironmentWithSecrets(process, self.store, PlainTextSecretStore(self.index))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.keyring.answers.set()
    for store in desk.stores:
        store.close()


def test_a_home_without_secrets_asks_no_keyring(desk: Desk) -> None:
    assert desk.store.read(TOKEN).state == "not stored"
    assert desk.environment().get(TOKEN) is None
    assert desk.keyring.calls == []
    assert not desk.index.folder.exists()


def test_what_is_kept_is_read_back_and_no_file_has_it(desk: Desk) -> None:
    desk.store.store(TOKEN, "123456:kept")
    assert desk.another().read(TOKEN).value == "123456:kept"
    assert desk.store.backends()[TOKEN] == "Fake Keyring"
    assert "123456:kept" not in repr(desk.store.read(TOKEN))
    for file in desk.index.folder.rglob("*"):
        assert b"123456:kept" not in file.read_bytes()


def test_the_keyring_is_asked_once_until_something_changes(desk: Desk) -> None:
    desk.store.store(TOKEN, "one")
    desk.store.read(TOKEN)
    asked = len(desk.keyring.calls)
    for _ in range(5):
        assert desk.store.read(TOKEN).value == "one"
    assert len(desk.keyring.calls) == asked
    desk.another().store(TOKEN, "two")
    assert desk.store.read(TOKEN).value == "two"
    desk.another().remove(TOKEN)
    assert desk.store.read(TOKEN).state == "not stored"


def test_names_that_are_outdated_hide_no_secret(desk: Desk) -> None:
    desk.store.store(TOKEN, "one")
    names = desk.store.names()
    desk.another().store("OTHER_TOKEN", "two")
    assert {each.value for each in desk.store.read_all(names).values()} == {"one"}
    assert desk.store.read("OTHER_TOKEN").value == "two"


def test_a_silent_keyring_is_waited_for_once_and_a_late_answer_counts(desk: Desk) -> None:
    desk.store.store(TOKEN, "late")
    desk.keyring.answers.clear()
    fresh = desk.another()
    assert fresh.read(TOKEN, wait_s=SHORT_S).state == "not answering"
    asked = len(desk.keyring.calls)
    desk.clock.advance(SHORT_S)
    assert fresh.read(TOKEN, wait_s=SHORT_S).state == "not answering"
    assert len(desk.keyring.calls) == asked
    desk.keyring.answers.set()
    assert fresh.read(TOKEN, wait_s=20).value == "late"


def test_a_person_is_not_held_up_by_an_earlier_question(desk: Desk) -> None:
    desk.store.store(TOKEN, "x")
    desk.keyring.answers.clear()
    fresh = desk.another()
    assert fresh.read(TOKEN, wait_s=SHORT_S).state == "not answering"
    unlocking = threading.Timer(2 * SHORT_S, desk.keyring.answers.set)
    unlocking.start()
    fresh.store("OTHER_TOKEN", "y")
    unlocking.join()
    assert fresh.names() == {TOKEN, "OTHER_TOKEN"}
    assert fresh.read(TOKEN, wait_s=20).value == "x"


def test_who_gives_up_hears_so_at_once_and_nothing_is_changed_later(desk: Desk) -> None:
    desk.store.store(TOKEN, "before")
    for change in (lambda: desk.store.store(TOKEN, "after"), lambda: desk.store.remove(TOKEN)):
        desk.keyring.answers.clear()
        asked = len(desk.keyring.calls)
        leaving = threading.Thread(target=_leave, args=(desk, asked))
        leaving.start()
        with pytest.raises(SecretStoreError, match="not answering"):
            change()
        leaving.join()
        desk.keyring.answers.set()
        assert desk.store.demand(TOKEN) == "before"


def _leave(desk: Desk, asked: int) -> None:
    while len(desk.keyring.calls) == asked:
        threading.Event().wait(0.01)
    desk.store.give_up()


@pytest.mark.parametrize("before", ["before", ""])
def test_what_the_keyring_does_after_the_person_left_is_undone(desk: Desk, before: str) -> None:
    if before:
        desk.store.store(TOKEN, before)
    desk.keyring.before = lambda what: _hang_once(desk, what)
    with pytest.raises(SecretStoreError, match="not answering"):
        desk.store.store(TOKEN, "after")
    desk.keyring.before = lambda _: None
    desk.keyring.answers.set()
    desk.store.check()  # the one thread of the keyring is through with it
    assert set(desk.keyring.values.values()) == ({before} if before else set())
    assert desk.store.names() == ({TOKEN} if before else set())


def _hang_once(desk: Desk, what: str) -> None:
    """While it writes the keyring stops answering, and the person leaves."""
    if what == f"set {TOKEN}":
        desk.keyring.before = lambda _: None
        desk.keyring.answers.clear()
        desk.store.give_up()


def test_a_list_that_cannot_be_written_brings_the_old_secret_back(desk: Desk) -> None:
    desk.store.store(TOKEN, "before")
    (desk.index.folder / "secrets.lock").unlink()
    (desk.index.folder / "secrets.lock").mkdir()
    with pytest.raises(ConfigError):
        desk.store.store(TOKEN, "after")
    with pytest.raises(ConfigError):
        desk.store.store("NEW_TOKEN", "after")
    assert desk.another().demand(TOKEN) == "before"
    assert list(desk.keyring.values.values()) == ["before"]


def test_one_that_goes_away_right_after_it_took_a_secret_says_so(desk: Desk) -> None:
    desk.store.store(TOKEN, "before")
    desk.keyring.before = lambda what: _lock_after_setting(desk, what)
    with pytest.raises(SecretStoreError) as caught:
        desk.store.store(TOKEN, "after")
    assert "Check which value it has" in caught.value.detail


def _lock_after_setting(desk: Desk, what: str) -> None:
    desk.keyring.locked = what.startswith("get") and "after" in desk.keyring.values.values()


def test_nobody_waits_and_giving_up_is_harmless(desk: Desk) -> None:
    desk.store.give_up()
    desk.store.store(TOKEN, "x")
    desk.store.give_up()
    assert desk.store.demand(TOKEN) == "x"


def test_one_that_lost_a_part_is_damaged_and_keeps_no_other_away(desk: Desk) -> None:
    store = KeyringSecretStore(
        desk.index, "x", desk.clock, open_keyring=lambda: desk.keyring, system="win32"
    )
    desk.stores.append(store)
    store.store("LONG_TOKEN", "l" * 4000)
    store.store(TOKEN, "short")
    assert store.read("LONG_TOKEN").value == "l" * 4000
    del desk.keyring.values[next(key for key in desk.keyring.values if key[1].endswith("/3"))]
    store.store(TOKEN, "other")  # so that all are asked for again
    reading = store.read("LONG_TOKEN")
    assert (reading.state, reading.value) == ("damaged", None)
    assert reading.detail == "3 of 4 parts are there."
    assert store.read(TOKEN).value == "other"
    with pytest.raises(SecretStoreError, match="is incomplete") as caught:
        store.demand("LONG_TOKEN")
    assert caught.value.state == "damaged"
    store.store("LONG_TOKEN", "m" * 4000)
    assert store.demand("LONG_TOKEN") == "m" * 4000
    store.remove("LONG_TOKEN")
    assert set(desk.keyring.values) == {("x", TOKEN)}


def test_a_locked_keyring_is_not_asked_at_every_turn(desk: Desk) -> None:
    desk.store.store(TOKEN, "x")
    desk.keyring.locked = True
    fresh = desk.another()
    assert fresh.read(TOKEN).state == "locked"
    asked = len(desk.keyring.calls)
    assert fresh.read(TOKEN).detail == "Prompt dismissed"
    assert len(desk.keyring.calls) == asked
    desk.keyring.locked = False
    desk.clock.advance(61)
    assert fresh.read(TOKEN).value == "x"


def test_what_the_keyring_lost_is_missing_not_empty(desk: Desk) -> None:
    desk.store.store(TOKEN, "x")
    desk.keyring.values.clear()
    assert desk.another().read(TOKEN).state == "missing"
    desk.store.remove(TOKEN)
    assert desk.store.names() == frozenset()


def test_a_value_that_does_not_come_back_whole_is_an_error(desk: Desk) -> None:
    desk.keyring.forgets = True
    assert desk.store.check().state == "stored" or desk.store.check().detail
    with pytest.raises(SecretStoreError) as caught:
        desk.store.store(TOKEN, "x" * 3000)
    assert "too long" in caught.value.detail
    assert desk.store.names() == frozenset()


def test_no_keyring_is_said_in_words(desk: Desk) -> None:
    def nothing() -> FakeKeyring:
        raise NoKeyring

    store = KeyringSecretStore(desk.index, "x", desk.clock, open_keyring=nothing)
    desk.stores.append(store)
    with pytest.raises(SecretStoreError, match="There is no keyring on this desktop") as caught:
        store.store(TOKEN, "x")
    assert caught.value.state == "no keyring"
    assert store.check().state == "no keyring"


def test_a_service_without_a_keyring_is_told_from_one_that_is_locked(desk: Desk) -> None:
    class PromptDismissedException(Exception):  # noqa: N818 - the library's name
        pass

    def refuse(_: str) -> None:
        cause = PromptDismissedException("Prompt dismissed.")
        raise RuntimeError(f"Failed to create the collection: {cause}.") from cause

    desk.keyring.before = refuse
    with pytest.raises(SecretStoreError, match="No keyring exists yet") as caught:
        desk.store.store(TOKEN, "x")
    assert caught.value.state == "no keyring yet"
    assert "--plain" in caught.value.hint
    assert desk.store.check().state == "no keyring yet"


def test_plain_ones_are_only_for_their_owner(desk: Desk) -> None:
    plain = PlainTextSecretStore(desk.index)
    plain.store(TOKEN, "in the clear")
    (file,) = desk.index.folder.glob("plain*.json")
    assert file.stat().st_mode & 0o777 == 0o600
    assert desk.environment()[TOKEN] == "in the clear"
    plain.remove(TOKEN)
    assert not file.exists()


def test_plain_ones_of_several_processes_stand_side_by_side(desk: Desk) -> None:
    names = [f"TOKEN_{number}" for number in range(12)]
    threads = [
        threading.Thread(
            target=PlainTextSecretStore(desk.index).store, args=(name, f"in the clear {name}")
        )
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert PlainTextSecretStore(desk.index).read() == {
        name: f"in the clear {name}" for name in names
    }
    assert desk.index.read()["plain"].keys() == set(names)


def test_a_plain_file_that_makes_no_sense_is_not_written_over(desk: Desk) -> None:
    plain = PlainTextSecretStore(desk.index)
    plain.store(TOKEN, "in the clear")
    (file,) = desk.index.folder.glob("plain*.json")
    file.write_text(file.read_text()[:-5])
    broken = file.read_bytes()
    for change in (lambda: plain.store("OTHER_TOKEN", "x"), lambda: plain.remove(TOKEN)):
        with pytest.raises(ConfigError, match="cannot be parsed"):
            change()
    assert file.read_bytes() == broken


# ------------------------------------------------------------------------------- who gets them


def test_the_environment_wins_and_children_get_no_secret(desk: Desk) -> None:
    desk.store.store(TOKEN, "from the keyring")
    assert desk.environment(**{TOKEN: "set"})[TOKEN] == "set"
    assert desk.environment(**{TOKEN: " "})[TOKEN] == "from the keyring"
    seen = desk.environment(PATH="/bin")
    assert seen.get(TOKEN) == "from the keyring"
    assert dict(seen) == {"PATH": "/bin"}
    assert len(seen) == 1


def test_gateway_and_agent_use_what_the_keyring_holds(desk: Desk) -> None:
    home = desk.paths.home
    (home / ".env").write_text(f"{TOKEN}=222222:from_env\nOPENROUTER_API_KEY=env\n")
    (home / "config.yaml").write_text(
        "model: {default: a/b, provider: openrouter}\n"
        "platforms: {telegram: {token: 333333:from_config}}\n"
    )
    desk.store.store(TOKEN, "111111:from_keyring")
    desk.store.store("OPENROUTER_API_KEY", "sk-keyring")
    redactor = SecretRedactor()
    loaded = load_gateway_config(desk.paths, desk.environment(), redactor)
    assert loaded.config.platforms[Platform.TELEGRAM].token == "111111:from_keyring"
    assert loaded.config.platforms[Platform.TELEGRAM].enabled
    settings = read_agent_settings(desk.paths, desk.environment(), redactor)
    assert settings.choice.api_key == "sk-keyring"
    assert "from_keyring" not in redactor.clean("a 111111:from_keyring b")


def test_a_secret_that_cannot_be_had_is_named_not_waited_for(desk: Desk) -> None:
    (desk.paths.home / ".env").write_text(f"{TOKEN}=222222:from_env\n")
    desk.store.store("DISCORD_BOT_TOKEN", "x")
    desk.store.store(TOKEN, "y")
    desk.keyring.locked = True
    desk.store = desk.another()
    loaded = load_gateway_config(desk.paths, desk.environment())
    assert "DISCORD_BOT_TOKEN could not be read: the keyring is locked." in loaded.warnings
    discord = loaded.config.platforms[Platform.DISCORD]
    assert discord.enabled
    assert discord.trouble == "DISCORD_BOT_TOKEN could not be read: the keyring is locked."
    assert loaded.config.platforms[Platform.TELEGRAM].token == "222222:from_env"
    (desk.paths.home / "config.yaml").write_text("discord: {enabled: false}\n")
    loaded = load_gateway_config(desk.paths, desk.environment())
    assert not loaded.config.platforms[Platform.DISCORD].enabled


def test_the_library_is_not_loaded_for_looking() -> None:
    import subprocess

    code = (
        "import sys, hermes_desktop.settings.secrets\n"
        "import hermes_desktop.services.secrets.secret_access\n"
        "assert 'keyring' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
