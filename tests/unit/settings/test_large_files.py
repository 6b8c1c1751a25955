"""A file that is no file of settings any more keeps nobody waiting."""

from pathlib import Path

import pytest

from hermes_desktop.core.errors import ConfigError, RefusedError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.settings.settings_repository import Change, SettingsRepository
from hermes_desktop.settings.config_file import MOST_BYTES, read_config
from hermes_desktop.settings.config_store import MOST_CHANGED
from hermes_desktop.settings.yaml_tree import Node, parse_tree
from tests.fakes.clock import MovableClock
from tests.fakes.config_corpus import corpus


def large(path: Path, size: int) -> None:
    line = "  - some text that is no setting at all\n"
    path.write_text("model:\n  default: m\nnotes:\n" + line * (size // len(line)))


def test_ten_megabytes_are_refused_at_once_and_named(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    large(file, 10_000_000)
    with pytest.raises(ConfigError) as caught:
        read_config(file)
    assert "10.0 MB" in caught.value.detail
    assert f"the limit is {MOST_BYTES / 1e6:g} MB" in caught.value.detail


def test_what_can_be_read_but_not_changed_in_time_says_so(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    large(file, MOST_CHANGED + 1_000)
    book = SettingsRepository(HermesPaths(tmp_path, tmp_path), {}, MovableClock())
    assert book.find("model.default").value == "m"
    before = file.read_bytes()
    for dry_run in (True, False):
        with pytest.raises(RefusedError, match="too large"):
            book.save([Change("model.default", "x")], dry_run=dry_run)
    assert file.read_bytes() == before


def lines(node: Node) -> list[tuple[str, str, int]]:
    return [(each.kind, each.text, each.line) for each in node.walk()]


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in corpus()])
def test_the_quick_look_finds_the_same_on_the_same_lines(text: str) -> None:
    exact, quick = parse_tree(text)[0], parse_tree(text, exact=False)[0]
    assert (quick and lines(quick)) == (exact and lines(exact))
