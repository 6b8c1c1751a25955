"""The list of messages that show a reply which is still being written."""

from pathlib import Path

import pytest

from hermes_desktop.gateway.turns.stream_replies import FILE, IncompleteMessages

ONE, TWO, THREE = ("telegram", "42", "1"), ("telegram", "42", "2"), ("discord", "9", "3")


def test_the_next_run_hears_of_what_was_left_until_it_is_away(tmp_path: Path) -> None:
    files = IncompleteMessages(tmp_path)
    for place in (ONE, TWO, THREE):
        files.add(place)
    files.remove(TWO)
    assert files.left_behind("telegram") == []  # they are this run's own

    later = IncompleteMessages(tmp_path)
    later.add(TWO)
    assert later.left_behind("telegram") == [ONE]
    later.taken_away(ONE)
    later.taken_away(ONE)
    assert later.left_behind("telegram") == []
    later.remove(TWO)
    last = IncompleteMessages(tmp_path)
    assert last.left_behind("discord") == [THREE]
    assert IncompleteMessages(tmp_path).left_behind("discord") == [THREE]  # until it is away


def test_what_was_not_changed_for_the_last_time_is_to_be_taken_away(tmp_path: Path) -> None:
    files = IncompleteMessages(tmp_path)
    for place in (ONE, TWO):
        files.add(place)
    files.leave(ONE)
    files.leave(ONE)
    assert files.left_behind("telegram") == [ONE]
    assert IncompleteMessages(tmp_path).left_behind("telegram") == [ONE, TWO]
    files.taken_away(ONE)
    files.remove(TWO)
    assert IncompleteMessages(tmp_path).left_behind("telegram") == []


@pytest.mark.parametrize("text", ["", "{", "{}", "null", '[1, ["a"], ["a", 2, 3]]', "\x00"])
def test_nonsense_in_the_file_is_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / FILE
    path.parent.mkdir()
    path.write_text(text)
    files = IncompleteMessages(tmp_path)
    assert files.left_behind("telegram") == []
    files.add(ONE)
    assert IncompleteMessages(tmp_path).left_behind("telegram") == [ONE]


def test_a_folder_that_cannot_be_written_holds_up_nothing(tmp_path: Path) -> None:
    (tmp_path / "desktop").write_text("no folder")
    files = IncompleteMessages(tmp_path)
    files.add(ONE)
    files.remove(ONE)
    assert files.left_behind("telegram") == []
