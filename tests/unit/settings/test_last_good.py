"""config.yaml for turns: what could be understood last counts while somebody writes."""

import os
from pathlib import Path

import pytest

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.files.atomic_files import write_text_atomic
from hermes_desktop.settings.last_valid_config import EMPTY_S, SETTLE_S, LastValidConfig
from tests.fakes.clock import MovableClock


class Stage:
    def __init__(self, folder: Path) -> None:
        self.file, self.clock = folder / "config.yaml", MovableClock()
        self.waited: list[float] = []
        self.meanwhile: list[str] = []
        self.config = LastValidConfig(self.file, self.clock, self.wait)

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.clock.advance(seconds + 0.001)
        if self.meanwhile:
            self.write(self.meanwhile.pop(0))

    def write(self, text: str) -> None:
        """In its place, now."""
        self.file.write_text(text)
        now = int(self.clock.time() * 1e9)
        os.utime(self.file, ns=(now, now))


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_broken_file_counts_as_it_was_before(stage: Stage) -> None:
    stage.write("a: [\n")
    with pytest.raises(ConfigError):
        stage.config.read()
    stage.write("a: 1\n")
    assert stage.config.read() == {"a": 1}
    stage.write("a: [1\n")
    stage.clock.advance(1)
    assert stage.config.read() == {"a": 1}
    stage.write("a: 22\n")
    stage.clock.advance(1)
    assert stage.config.read() == {"a": 22}


def test_a_file_that_is_written_in_its_place_is_read_when_that_is_over(stage: Stage) -> None:
    stage.write("a: 1\n")
    assert stage.config.read() == {"a": 1}
    stage.write("a: 2\n")
    stage.meanwhile.append("a: 2\nb: 3\n")
    assert stage.config.read() == {"a": 1}
    assert stage.waited == [pytest.approx(SETTLE_S)]
    stage.clock.advance(SETTLE_S + 0.01)
    assert stage.config.read() == {"a": 2, "b": 3}
    stage.write("")
    stage.clock.advance(EMPTY_S - 1)
    assert stage.config.read() == {"a": 2, "b": 3}
    stage.clock.advance(1.1)
    assert stage.config.read() == {}


def test_what_was_written_right_before_is_waited_for(stage: Stage) -> None:
    stage.write("a: 1\n")
    assert stage.config.read() == {"a": 1}
    stage.clock.advance(5)
    stage.write("a: 2\nb: 3\n")
    assert stage.config.read() == {"a": 2, "b": 3}
    assert stage.waited == [pytest.approx(SETTLE_S)]


def test_a_file_that_is_replaced_counts_at_once(stage: Stage) -> None:
    stage.write("a: 1\n")
    assert stage.config.read() == {"a": 1}
    write_text_atomic(stage.file, "a: 2\n")
    assert stage.config.read() == {"a": 2}
    stage.file.unlink()
    assert stage.config.read() == {}


def test_a_home_without_one(stage: Stage) -> None:
    assert stage.config.read() == {}
    stage.write("a: 1\n")
    assert stage.config.read() == {"a": 1}
