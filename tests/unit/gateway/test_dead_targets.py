"""Chats that cannot be written to any more."""

import json
from pathlib import Path

from hermes_desktop.gateway.delivery.delivery_ledger import DeadTargets, means_unreachable
from tests.fakes.clock import MovableClock


def test_marked_seen_by_others_and_cleared(tmp_path: Path) -> None:
    dead, other = DeadTargets(tmp_path, MovableClock()), DeadTargets(tmp_path)
    assert not dead.is_dead("telegram", "1")
    assert not dead.clear("telegram", "1")
    dead.mark("telegram", "1", "forbidden: " + "x" * 300)
    assert other.is_dead("Telegram", " 1 ")
    path = tmp_path / "gateway" / "dead_targets.json"
    entry = json.loads(path.read_text())["telegram:1"]
    assert entry["marked_at"] == MovableClock().time()
    assert (entry["platform"], entry["chat_id"], len(entry["reason"])) == ("telegram", "1", 200)
    assert path.stat().st_mode & 0o777 == 0o600
    assert other.clear("telegram", "1")
    assert not dead.is_dead("telegram", "1")


def test_what_others_wrote_stays(tmp_path: Path) -> None:
    path = tmp_path / "gateway" / "dead_targets.json"
    path.parent.mkdir()
    path.write_text('{"x:1": {"odd": 1}, "y:2": 3}')
    DeadTargets(tmp_path).mark("telegram", "1", "")
    assert {"x:1": {"odd": 1}, "y:2": 3}.items() <= json.loads(path.read_text()).items()


def test_files_that_make_no_sense(tmp_path: Path) -> None:
    path = tmp_path / "gateway" / "dead_targets.json"
    path.parent.mkdir()
    path.write_text("[1]")
    assert not DeadTargets(tmp_path).is_dead("telegram", "1")
    path.unlink()
    path.mkdir()
    dead = DeadTargets(tmp_path)
    dead.mark("telegram", "1", "cannot be written")
    assert dead.is_dead("telegram", "2") is False


def test_which_answers_mean_it() -> None:
    assert means_unreachable("forbidden")
    assert means_unreachable("not_found")
    assert not means_unreachable("unknown")
    assert not means_unreachable(None)
