"""config.yaml changed beside others who change it, too."""

import threading
from pathlib import Path

import pytest

from hermes_desktop.core.errors import BusyError, ConfigError, RefusedError
from hermes_desktop.settings.config_patch import Edit
from hermes_desktop.settings.config_store import ChangedElsewhereError, ConfigStore, Seen
from hermes_desktop.settings.safe_replacement import SharedFile
from hermes_desktop.settings.secret_masking import is_secret_key, masked_config, remove_values
from hermes_desktop.settings.yaml_tree import ConfigText
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


class Meddled(SharedFile):
    """Somebody writes between our reading and our replacing, so many times."""

    times = 1

    def read(self) -> bytes | None:
        found = super().read()
        if self.times:
            self.times -= 1
            self.path.write_text(f"# {self.times}\n" + BEFORE)
        return found


@pytest.mark.parametrize(("times", "ends"), [(1, True), (99, False)])
def test_a_write_in_between_is_noticed(store: ConfigStore, times: int, ends: bool) -> None:
    store._careful = meddled = Meddled(store.file, MovableClock())
    meddled.times = times
    if ends:
        store.save([Edit(("a",), 9)])
        assert store.file.read_text() == "# 0\na: 9\nb:\n  c: 2\n"
        assert [each.path.read_text() for each in store.versions()] == ["# 0\n" + BEFORE]
    else:
        with pytest.raises(BusyError):
            store.save([Edit(("a",), 9)])
        assert store.file.read_text().endswith(BEFORE)
        assert store.versions() == []


def test_many_at_once_lose_nothing(store: ConfigStore) -> None:
    def change(number: int) -> None:
        other = ConfigStore(store.file, store.file.parent / "desktop", MovableClock())
        other.save([Edit(("many", f"k{number}"), number)])

    threads = [threading.Thread(target=change, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    data = store.read().values
    assert data == {"a": 1, "b": {"c": 2}, "many": {f"k{n}": n for n in range(12)}} | data
    assert len(data["many"]) == 12


def test_a_write_that_fails_leaves_the_old_file(store: ConfigStore) -> None:
    (store.file.parent / "desktop").mkdir()
    (store.file.parent / "desktop" / "config-versions").write_text("in the way")
    with pytest.raises(ConfigError, match="config-versions"):
        store.save([Edit(("a",), 9)])
    assert store.file.read_text() == BEFORE
    assert sorted(each.name for each in store.file.parent.iterdir()) == ["config.yaml", "desktop"]


def test_versions_are_the_bytes_that_stood_there_and_come_back_as_they_were(
    store: ConfigStore,
) -> None:
    first = b"\xef\xbb\xbfa: 1\r\n"
    store.file.write_bytes(first)
    store.save([Edit(("a",), 2)])
    store.file.write_bytes(b"a: \xff\xfe\n")
    found = store.restore(store.find_version("1"))
    assert "+a: 1" in found.diff
    assert store.file.read_bytes() == first
    assert store.find_version("1").path.read_bytes() == b"a: \xff\xfe\n"


def test_a_version_comes_back_over_what_is_too_large_to_be_read(store: ConfigStore) -> None:
    store.save([Edit(("a",), 2)])
    store.file.write_bytes(b"x: 1\n" * 2_000_000)
    found = store.restore(store.find_version("1"))
    assert found.diff == "The file is too large to compare; it is replaced as a whole.\n"
    assert store.file.read_text() == BEFORE


def test_five_versions_are_kept_also_when_the_clock_was_set_back(store: ConfigStore) -> None:
    clock = MovableClock()
    store = ConfigStore(store.file, store.file.parent / "desktop", clock)
    for number in range(8):
        store.save([Edit(("a",), 100 + number)])
        clock.advance(-3600)
    contents = [each.path.read_text() for each in store.versions()]
    assert [text.splitlines()[0] for text in contents] == [f"a: {n}" for n in range(106, 101, -1)]
    assert {each.path.stat().st_mode & 0o777 for each in store.versions()} == {0o600}


def test_what_is_part_of_something_that_failed_is_taken_back(store: ConfigStore) -> None:
    store.save([Edit(("a",), 2)])
    store.take_back()
    assert store.file.read_text() == BEFORE
    assert store.versions() == []
    store.save([Edit(("a",), 2)])
    store.file.write_text("theirs: 1\n")
    store.take_back()
    assert store.file.read_text() == "theirs: 1\n"
    store.file.unlink()
    store.save([Edit(("a",), 2)])
    store.take_back()
    assert not store.file.exists()


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
    def masked(text: str) -> str:
        return masked_config(ConfigText(text, Path()))

    text = "a: {token: abc, x: 1}\nb:\n- api_key: 'def'\n- key: ${REF}\n"
    assert masked(text) == "a: {token: [secret], x: 1}\nb:\n- api_key: [secret]\n- key: ${REF}\n"
    assert masked("h: Bearer abcdefghijkl # x\n") == "h: Bearer ab…[secret] # x\n"
    assert masked("api_keys: [abc, '${R}']\nsecrets:\n- def # x\n- {key: ghi, y: 1}\n") == (
        "api_keys: [[secret], '${R}']\nsecrets:\n- [secret] # x\n- {key: [secret], y: 1}\n"
    )
    assert masked("a: 1\n#  old_token: abc\n  # - 'api_key' = def\n# key: ${R}\n# x: y\n") == (
        "a: 1\n#  old_token: [secret]\n  # - 'api_key' = [secret]\n# key: ${R}\n# x: y\n"
    )
    assert masked("a: [") == "[secret]\n"
    assert remove_values("a: [ secret", {"secret"}) == "a: [ "
