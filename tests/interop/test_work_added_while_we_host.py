"""What ``hermes cron`` and ``hermes kanban`` hand to our gateway while it runs."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.island import Hosted, Island
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]
_ROOT = Path(__file__).parents[2]


def until_undone(ours: Hosted, jobs: list[str], cards: int) -> None:
    def as_expected() -> bool:
        undone = ours.status()["undone"]
        if undone is None:
            return not jobs and not cards
        return (undone["job_names"], undone["cards"]) == (jobs, cards)

    wait_until(as_expected)


def our_status(island: Island, *words: str) -> str:
    command = (sys.executable, "-m", "hermes_desktop", "gateway", "status", *words)
    process = island.start(*command, PYTHONPATH=str(_ROOT))
    return process.communicate(timeout=60)[0]


def create(island: Island, *words: str) -> str:
    code, said = island.hermes(*words)
    assert code == 0, said
    return said


def test_it_is_reported_until_it_is_gone(island: Island) -> None:
    ours = island.hosted("autostart")
    ours.reach("running")
    assert ours.status()["undone"] is None

    create(island, "cron", "create", "every 2h", "say hello", "--name", "hello")
    assert "will fire" in island.hermes("cron", "status")[1]  # that is the promise
    until_undone(ours, ["hello"], 0)
    made = create(island, "kanban", "create", "dig the garden")
    until_undone(ours, ["hello"], 1)

    assert "! Not run here: 1 scheduled job (“hello”) and 1 kanban card (board “default”)." in (
        our_status(island)
    )
    (found,) = json.loads(our_status(island, "--json"))
    assert (found["not_run"]["jobs"], found["not_run"]["cards"]) == (1, 1)

    create(island, "cron", "pause", _only_job(island)["id"])
    until_undone(ours, [], 1)
    (card,) = set(re.findall(r"\bt_\w+", made))
    create(island, "kanban", "archive", card)
    until_undone(ours, [], 0)
    assert "Not run" not in our_status(island)
    assert ours.status()["state"] == "running"


def _only_job(island: Island) -> dict[str, Any]:
    (job,) = island.file("cron/jobs.json")["jobs"]
    return dict(job)
