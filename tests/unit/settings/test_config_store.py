"""config.yaml changed beside others who change it, too."""

import threading
from pathlib import Path

import pytest

from hermes_desktop.core.errors import BusyError, ConfigError, RefusedError
from hermes_desktop.settings.config_patch import Edit
from hermes_desktop.settings.config_store import ChangedElsewhereError, ConfigStore, Seen
from hermes_desktop.settings.secret_marks import is_secret_key, masked, without_values
from tests.fakes.clock import MovableClock

BEFORE = "a: 1\nb:\n  c: 2\n"


@pytest.fixture
def store(tmp_path: Path) -> ConfigStore:
    (tmp_path / "config.yaml").write_text(BEFORE)
    return ConfigStore(tmp_path / "config.yaml", tmp_path / "desktop", MovableClock())


def test_what_others_wrote_elsewhere_is_kept(store: ConfigStore) -> None:
    seen = [Seen(("a",), present=True, value=1)]
    store.file.write_text("# theirs\na: 1\nb:\n  c: 3\n")
    store.save([Edit(("a",), 9)], seen)
    assert store.file.read_text() == "# theirs\na: 9\nb:\n  c: 3\n"


@pytest.mark.parametrize("theirs", ["a: 2\n", "a: '1'\n", "b: 1\n"])
def test_the_same_setting_changed_by_others_is_refused(store: ConfigStore, theirs: str) -> None:
    store.file.write_text(theirs)
    with pytest.raises(ChangedElsewhereError) as caught:
        store.save([Edit(("a",), 9)], [Seen(("a",), present=True, value=1)])
    assert caught.value.key == "a"
    assert store.file.read_text() == theirs


class Meddled(ConfigStore):
    """Somebody writes between our reading and our replacing, so many times."""

    times = 1

    def _raw(self) -> str:
        found = super()._raw()
        if self.times and getattr(self, "read_once", False):
            self.times -= 1
            self.file.write_text(f"# {self.times}\n" + BEFORE)
            found = super()._raw()
        self.read_once = not getattr(self, "read_once", False)
        return found


@pytest.mark.parametrize(("times", "ends"), [(1, True), (99, False)])
def test_a_write_in_between_is_noticed(store: ConfigStore, times: int, ends: bool) -> None:
    meddled = Meddled(store.file, store.file.parent / "desktop", MovableClock())
    meddled.times = times
    if ends:
        meddled.save([Edit(("a",), 9)])
        assert store.file.read_text() == "# 0\na: 9\nb:\n  c: 2\n"
    else:
        with pytest.raises(BusyError):
            meddled.save([Edit(("a",), 9)])
        assert store.file.read_text().endswith(BEFORE)


def test_many_at_once_lose_nothing(store: ConfigStore) -> None:
    def change(number: int) -> None:
        other = ConfigStore(store.file, store.file.parent / "desktop", MovableClock())
        other.save([Edit(("many", f"k{number}"), number)])

    threads = [threading.Thread(target=change, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _, data = store.read()
    assert data == {"a": 1, "b": {"c": 2}, "many": {f"k{n}": n for n in range(12)}} | data
    assert len(data["many"]) == 12


def test_a_write_that_fails_leaves_the_old_file(store: ConfigStore) -> None:
    (store.file.parent / "desktop").mkdir()
    (store.file.parent / "desktop" / "config-versions").write_text("in the way")
    with pytest.raises(ConfigError, match="config-versions"):
        store.save([Edit(("a",), 9)])
    assert store.file.read_text() == BEFORE
    assert sorted(each.name for each in store.file.parent.iterdir()) == ["config.yaml", "desktop"]


def test_managed_is_previewed_and_not_written(store: ConfigStore) -> None:
    managed = ConfigStore(
        store.file, store.file.parent / "desktop", MovableClock(), managed="It is."
    )
    assert "+a: 9" in managed.preview([Edit(("a",), 9)]).diff
    with pytest.raises(RefusedError, match="managed"):
        managed.save([Edit(("a",), 9)])
    assert not (store.file.parent / "desktop").exists()


def test_moved_secrets_go_from_the_versions(store: ConfigStore) -> None:
    store.file.write_text("t: 'secret-value'\n# was secret-value\nu: x\n")
    store.save([Edit(("u",), "y")])
    store.forget_values({"secret-value"})
    (version,) = store.versions()
    assert version.path.read_text() == 't: ""\n# was \nu: x\n'


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("token", True), ("api_key", True), ("bot_token", True), ("TELEGRAM_BOT_TOKEN", True),
        ("password", True), ("key", True), ("api", True), ("max_tokens", False),
        ("key_env", False), ("monkey", False), ("keyboard", False), ("allow_from", False),
    ],
)  # fmt: skip
def test_secrets_are_known_by_their_names(name: str, secret: bool) -> None:
    assert is_secret_key(name) is secret


def test_hidden_in_any_shape() -> None:
    text = "a: {token: abc, x: 1}\nb:\n- api_key: 'def'\n- key: ${REF}\n"
    assert masked(text) == "a: {token: [secret], x: 1}\nb:\n- api_key: [secret]\n- key: ${REF}\n"
    assert masked("h: Bearer abcdefghijkl # x\n") == "h: Bearer ab…[secret] # x\n"
    assert masked("a: [") == "[secret]\n"
    assert without_values("a: [ secret", {"secret"}) == "a: [ "
