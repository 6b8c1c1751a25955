"""What is told about the history that was opened."""

import contextlib
from pathlib import Path

import pytest

from hermes_desktop.services.sessions.condition_watch import notice_of
from hermes_desktop.state import SCHEMA_VERSION, SessionDB
from hermes_desktop.state.records.records import StoreCondition


def condition_with_version(path: Path, version: int) -> StoreCondition:
    with contextlib.closing(SessionDB(path)) as db:
        db._execute_write(
            lambda conn: conn.execute("UPDATE schema_version SET version = ?", (version,))
        )
    with contextlib.closing(SessionDB(path)) as db:
        return db.condition


def test_nothing_is_told_about_an_ordinary_history(tmp_path: Path) -> None:
    assert notice_of(condition_with_version(tmp_path / "state.db", SCHEMA_VERSION)) is None


@pytest.mark.parametrize("version", [19, 30])
def test_another_version_is_told_and_named(tmp_path: Path, version: int) -> None:
    notice = notice_of(condition_with_version(tmp_path / "state.db", version))
    assert notice is not None
    assert notice.level == "info"
    assert str(version) in notice.detail


def test_a_history_for_reading_says_why_and_what_to_do(tmp_path: Path) -> None:
    notice = notice_of(condition_with_version(tmp_path / "state.db", 5))
    assert notice is not None
    assert notice.level == "warning"
    assert "5" in notice.detail
    assert notice.hint
