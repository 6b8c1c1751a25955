"""Values longer than an entry of a keyring: whole, or known to be damaged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.settings.split_secrets import (
    WINDOWS_LIMIT,
    DamagedSecretError,
    SplittingKeyring,
    keyring_for_platform,
)
from tests.fakes.keyring import FakeKeyring

HOME, NAME = "hermes-desktop:x", "TELEGRAM_BOT_TOKEN"


class ShortEntries(FakeKeyring):
    """Takes what Windows takes, and can be pulled away after so many changes."""

    def __init__(self) -> None:
        super().__init__()
        self.changes_left = 1_000_000

    def _change(self) -> None:
        if not self.changes_left:
            raise OSError("the keyring is gone")
        self.changes_left -= 1

    def set_password(self, service: str, username: str, password: str) -> None:
        self._change()
        assert len(password.encode("utf-16-le")) <= WINDOWS_LIMIT, "error 1783"
        super().set_password(service, username, password)

    def delete_password(self, service: str, username: str) -> None:
        self._change()
        super().delete_password(service, username)


@pytest.fixture
def entries() -> ShortEntries:
    return ShortEntries()


@pytest.fixture
def keyring(entries: ShortEntries) -> SplittingKeyring:
    kept = keyring_for_platform(entries, "win32")
    assert isinstance(kept, SplittingKeyring)
    return kept


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_other_systems_take_it_whole(entries: ShortEntries, system: str) -> None:
    assert keyring_for_platform(entries, system) is entries


@pytest.mark.parametrize("length", [1, 1279, 1280])
def test_what_fits_is_one_entry(
    entries: ShortEntries, keyring: SplittingKeyring, length: int
) -> None:
    keyring.set_password(HOME, NAME, "x" * length)
    assert entries.values == {(HOME, NAME): "x" * length}
    assert keyring.get_password(HOME, NAME) == "x" * length


@pytest.mark.parametrize("value", ["x" * 1281, "y" * 65_536, "é" * 1281, "🔑" * 641, "a🔑" * 900])
def test_what_does_not_is_split_joined_and_removed_whole(
    entries: ShortEntries, keyring: SplittingKeyring, value: str
) -> None:
    keyring.set_password(HOME, NAME, value)
    assert len(entries.values) > 2
    assert keyring.get_password(HOME, NAME) == value
    keyring.delete_password(HOME, NAME)
    assert entries.values == {}
    assert keyring.get_password(HOME, NAME) is None


@pytest.mark.parametrize("first", ["x" * 5000, "short"])
@pytest.mark.parametrize("second", ["y" * 3000, "z"])
def test_the_parts_of_an_older_value_go(
    entries: ShortEntries, keyring: SplittingKeyring, first: str, second: str
) -> None:
    keyring.set_password(HOME, NAME, first)
    keyring.set_password(HOME, NAME, second)
    assert keyring.get_password(HOME, NAME) == second
    assert len(entries.values) == (4 if len(second) > 1 else 1)
    keyring.set_password(HOME, NAME, second)
    assert keyring.get_password(HOME, NAME) == second


@pytest.mark.parametrize("before", ["", "old", "o" * 4000])
def test_at_every_step_of_keeping_it_the_old_or_the_new_one_is_whole(before: str) -> None:
    new = "n" * 4000
    for changes in range(12):
        entries = ShortEntries()
        keyring = SplittingKeyring(entries, WINDOWS_LIMIT)
        if before:
            keyring.set_password(HOME, NAME, before)
        entries.changes_left = changes
        try:
            keyring.set_password(HOME, NAME, new)
        except OSError:
            assert keyring.get_password(HOME, NAME) in {before or None, new}
        else:
            assert keyring.get_password(HOME, NAME) == new
            return
    raise AssertionError("it was never kept")


def test_at_every_step_of_removing_it_it_is_whole_damaged_or_gone() -> None:
    for changes in range(8):
        entries = ShortEntries()
        keyring = SplittingKeyring(entries, WINDOWS_LIMIT)
        keyring.set_password(HOME, NAME, "o" * 4000)
        entries.changes_left = changes
        try:
            keyring.delete_password(HOME, NAME)
        except OSError:
            if changes:
                with pytest.raises(DamagedSecretError):
                    keyring.get_password(HOME, NAME)
        else:
            assert keyring.get_password(HOME, NAME) is None
            return
    raise AssertionError("it was never removed")


def test_a_missing_or_foreign_part_is_damage_not_a_cut_token(
    entries: ShortEntries, keyring: SplittingKeyring
) -> None:
    keyring.set_password(HOME, NAME, "x" * 3000)
    part = next(key for key in entries.values if key[1].endswith("/2"))
    whole = entries.values[part]
    for wrong in (whole[:-1], "", "z" * len(whole)):
        entries.values[part] = wrong
        with pytest.raises(DamagedSecretError):
            keyring.get_password(HOME, NAME)
    del entries.values[part]
    with pytest.raises(DamagedSecretError, match="2 of 3 parts"):
        keyring.get_password(HOME, NAME)
    keyring.delete_password(HOME, NAME)
    assert entries.values == {}


def test_what_looks_like_a_head_is_a_value_like_others(
    entries: ShortEntries, keyring: SplittingKeyring
) -> None:
    keyring.set_password(HOME, NAME, "x" * 3000)
    head = entries.values[HOME, NAME]
    keyring.set_password(HOME, "OTHER", head)
    assert keyring.get_password(HOME, "OTHER") == head


@given(st.text(min_size=1, max_size=60), st.integers(min_value=2, max_value=9))
def test_any_text_comes_back(value: str, units: int) -> None:
    entries = FakeKeyring()
    keyring = SplittingKeyring(entries, 2 * units)
    keyring.set_password(HOME, NAME, value)
    assert keyring.get_password(HOME, NAME) == value
    parts = [text for (_, name), text in entries.values.items() if "/" in name]
    assert all(len(part.encode("utf-16-le", "surrogatepass")) <= 2 * units for part in parts)
