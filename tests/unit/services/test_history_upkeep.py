"""Old sessions are deleted by themselves only where a person has set that."""

import asyncio
from pathlib import Path

import pytest

from hermes_desktop.core.background_tasks import WorkerThreads
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.history_options import UpkeepSettings
from hermes_desktop.services.history_upkeep import HistoryUpkeep
from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock

_DAY = 86_400.0


class Stage:
    def __init__(self, home: Path) -> None:
        self.paths, self.clock = HermesPaths(home, home), MovableClock()
        self.db = SessionDB(self.paths.state_db, clock=self.clock)
        for name in ("old", "open", "new"):
            self.db.create_session(name, source="cli")
            self.db.append_message(name, role="user", content="hello")
            if name != "open":
                self.db.end_session(name, "cli_close")
            if name == "open":
                self.clock.advance(100 * _DAY)
        self.worker = WorkerThreads("state-bulk")
        self.upkeep = HistoryUpkeep(self.paths, self.db, self.worker)

    def left(self) -> list[str]:
        return [name for name in ("old", "open", "new") if self.db.get_session(name)]

    def close(self) -> None:
        self.worker.close()
        self.db.close()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sessions:\n  retention_days: 1\n",
        "sessions:\n  auto_prune: 'true'\n",
        "sessions:\n  auto_prune: true\n  retention_days: 0\n",
        "sessions:\n  auto_prune: true\n  retention_days: soon\n",
        "sessions: true\n",
        "sessions: [\n",
    ],
)
def test_nothing_is_deleted_unless_it_is_set_and_makes_sense(tmp_path: Path, text: str) -> None:
    stage = Stage(tmp_path)
    stage.paths.config_yaml.write_text(text)
    assert stage.upkeep.do() == {}
    assert stage.left() == ["old", "open", "new"]
    stage.close()


def test_what_ended_long_ago_goes_once_in_a_while(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.paths.config_yaml.write_text("sessions:\n  auto_prune: true\n")
    assert stage.upkeep.do()["pruned"] == 1
    assert stage.left() == ["open", "new"]
    assert stage.upkeep.do()["skipped"]
    stage.close()


@pytest.mark.asyncio
async def test_nobody_waits_for_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.paths.config_yaml.write_text("sessions:\n  auto_prune: true\n")
    doing = asyncio.ensure_future(stage.upkeep.do_later(after_s=0.01))
    assert stage.left() == ["old", "open", "new"]
    await doing
    assert stage.left() == ["open", "new"]
    stage.close()


def test_what_is_read() -> None:
    config = {"sessions": {"auto_prune": True, "vacuum_after_prune": False}}
    assert UpkeepSettings.from_mapping(config) == UpkeepSettings(auto_prune=True, vacuum=False)
