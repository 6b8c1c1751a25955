"""The small files by which one run of the gateway tells the next how it ended."""

import json
from pathlib import Path

import pytest

from hermes_desktop.gateway.runtime_files.restart_files import (
    CLEAN_END,
    FAILURE_COUNTS,
    LOOP,
    NOTIFY,
    RestartFiles,
)


@pytest.fixture
def files(tmp_path: Path) -> RestartFiles:
    return RestartFiles(tmp_path)


def test_an_end_in_order_is_found_once(files: RestartFiles) -> None:
    assert not files.take_clean_end()
    files.note_clean_end()
    files.note_clean_end()
    assert files.take_clean_end()
    assert not files.take_clean_end()


def test_starts_are_counted_within_a_minute(files: RestartFiles, tmp_path: Path) -> None:
    assert [files.record_start(float(now)) for now in (0, 30, 59, 61, 200)] == [1, 2, 3, 3, 1]
    assert json.loads((tmp_path / LOOP).read_text()) == {"boots": [200.0]}


def test_counts_of_chats(files: RestartFiles, tmp_path: Path) -> None:
    assert files.failure_counts() == {}
    files.set_failure_counts({"k": 2})
    assert files.failure_counts() == {"k": 2}
    files.set_failure_counts({})
    files.set_failure_counts({})
    assert not (tmp_path / FAILURE_COUNTS).exists()


def test_the_chat_to_be_told_is_taken_once(files: RestartFiles, tmp_path: Path) -> None:
    files.store_notice_chat({"platform": "telegram", "chat_id": "c1", "chat_type": "dm"})
    assert files.pop_notice_chat() == {"platform": "telegram", "chat_id": "c1", "chat_type": "dm"}
    assert files.pop_notice_chat() == {}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"boots": "7", "k": "x", "t": true}'])
def test_files_that_make_no_sense_count_as_absent(
    files: RestartFiles, tmp_path: Path, text: str
) -> None:
    (tmp_path / "gateway").mkdir()
    for name in (LOOP, FAILURE_COUNTS, NOTIFY):
        (tmp_path / name).write_text(text)
    assert files.record_start(1.0) == 1
    assert files.failure_counts() == {}
    files.pop_notice_chat()
    assert files.pop_notice_chat() == {}


def test_a_home_that_cannot_be_written_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = RestartFiles(tmp_path / "gone")
    files.note_clean_end()
    files.set_failure_counts({"k": 1})
    assert files.record_start(1.0) == 1
    assert not (tmp_path / "gone").exists()
    assert f"{CLEAN_END} cannot be written" in caplog.text


def test_what_cannot_be_read_or_removed_is_logged(
    files: RestartFiles, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in (CLEAN_END, NOTIFY):
        (tmp_path / name / "inside").mkdir(parents=True)
    assert files.take_clean_end()
    assert files.pop_notice_chat() == {}
    assert f"{NOTIFY} cannot be removed" in caplog.text
