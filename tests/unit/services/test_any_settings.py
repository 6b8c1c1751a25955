"""Any settings, one after the other, in files as people have them: only their lines change."""

import difflib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.settings.settings_repository import OPTIONS, Change, SettingsRepository
from hermes_desktop.settings.config_patch import CannotPatchError
from hermes_desktop.settings.options import Option
from hermes_desktop.settings.yaml_values import same
from tests.fakes.clock import MovableClock
from tests.fakes.config_corpus import corpus

CORPUS = dict(corpus())
STORED = [option for option in OPTIONS.values() if option.store == "config"]
WORDS = st.sampled_from(
    ["on", "1:30", "42", "007", "a: b", "# c", "it's", 'say "x"', "模型", "0x1f", "null", "~",
     "{a}", "- b", "*x", "&y", "@you:example.org", "two words"]
)  # fmt: skip


def values_of(option: Option) -> st.SearchStrategy[Any]:
    """What the setting may be."""
    low, high = max(option.minimum, -1000), min(option.maximum, 100_000)
    return {
        "yes_no": st.booleans(),
        "choice": st.sampled_from(list(option.choices or [""])),
        "whole_number": st.integers(int(low), int(high)),
        "number": st.floats(low, high).map(lambda found: round(found, 3)),
        "address": st.integers(1, 65535).map(lambda port: f"http://127.0.0.1:{port}/v1"),
        "texts": st.lists(WORDS, min_size=0 if not option.may_be_none else 1, max_size=4),
        "text": WORDS,
    }[option.kind].map(
        lambda found: (
            min(max(found, option.minimum), option.maximum)
            if option.kind in {"number", "whole_number"}
            else found
        )
    )


@st.composite
def changes(draw: st.DrawFn) -> Change:
    option = draw(st.sampled_from(STORED))
    if draw(st.integers(0, 9)) < 3:
        return Change(option.key, unset=True)
    return Change(option.key, draw(values_of(option)))


def test_the_corpus_has_more_than_a_hundred_files() -> None:
    assert len(CORPUS) > 100


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(name=st.sampled_from(sorted(CORPUS)), wanted=st.lists(changes(), min_size=1, max_size=6))
def test_any_settings_change_only_their_lines(
    folder: Path, name: str, wanted: list[Change]
) -> None:
    file = folder / "config.yaml"
    file.write_bytes(CORPUS[name].encode())
    book = SettingsRepository(HermesPaths(folder, folder), {}, MovableClock())
    for change in wanted:
        before, values = file.read_bytes().decode(), book.values()
        try:
            book.save([change])
        except CannotPatchError:
            assert file.read_bytes().decode() == before
            continue
        after, now = file.read_bytes().decode(), book.values()
        option = OPTIONS[change.key]
        meant = option.default if change.unset else option.check(change.value)
        assert same(now[change.key], meant)
        assert {**now, change.key: None} == {**values, change.key: None}
        read = yaml.safe_load(after)
        assert read is None or isinstance(read, dict)
        gone = [line[2:] for line in difflib.ndiff(before.splitlines(), after.splitlines())
                if line.startswith("- ")]  # fmt: skip
        assert not [line for line in gone if line.lstrip().startswith("#")]
        assert len(gone) <= lines_of_a_value(gone)


def lines_of_a_value(gone: list[str]) -> int:
    """A list goes with its entries; everything else is a line, and groups that are empty then."""
    entries = sum(line.lstrip().startswith("-") or not line.strip() for line in gone)
    return 4 + entries
