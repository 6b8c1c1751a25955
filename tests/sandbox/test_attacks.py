"""Attacks that are really run through the assistant's tool: nothing outside may happen.

The whole corpus, with its table, is in ``tests/benchmarks/test_sandbox_figures.py``.
"""

from collections import Counter
from pathlib import Path

import pytest

from hermes_desktop.agent.sandbox.grants import Level
from tests.sandbox.attacks import attacks, chosen
from tests.sandbox.known_at_b import KNOWN_AT_B
from tests.sandbox.victim import Outcome, Victim, name_of

pytestmark = [pytest.mark.needs("git"), pytest.mark.slow, pytest.mark.timeout(1200)]
ONE_IN = 17
"""How many of the attacks are run here: so many that it takes a minute."""
GROUPS = {
    *("calls", "calls_in_steps", "change", "git", "hidden", "kernel", "network", "persistence"),
    *("read", "wrappers"),
}


def test_the_corpus_is_large_and_varied() -> None:
    found = Counter(attack.group for attack in attacks())

    assert found.keys() == GROUPS
    assert min(found.values()) >= 30
    assert sum(not attack.is_beyond for attack in attacks()) >= 900


def test_no_attack_is_there_twice() -> None:
    assert [each for each, n in Counter(map(name_of, attacks())).items() if n > 1] == []
    assert [each for each, n in Counter(a.calls for a in attacks()).items() if n > 1] == []


def run(folder: Path, short: Path, level: Level | None) -> Outcome:
    victim = Victim(folder, short, level)
    try:
        if level is None:
            return victim.run(each for each in chosen(ONE_IN) if not each[0].is_beyond)
        outcome = victim.run(chosen(ONE_IN, disguised=4))
        assert level is not Level.CLOSED or victim.stage.asked == []
        return outcome
    finally:
        victim.close()


def test_without_a_sandbox_most_do_harm(tmp_path: Path, short_folder: Path) -> None:
    """So the other tests mean something; some need a program that is missing here."""
    outcome = run(tmp_path, short_folder, None)
    print(outcome.table("No sandbox"))
    assert len(outcome.harmful) > 0.7 * outcome.ran.total()


@pytest.mark.needs("sandbox")
def test_at_level_a_nothing_happens_outside(tmp_path: Path, short_folder: Path) -> None:
    outcome = run(tmp_path, short_folder, Level.CLOSED)
    print(outcome.table("Level A"))
    assert outcome.harm == []


@pytest.mark.needs("landlock")
def test_at_level_b_no_content_changes_and_nothing_is_read_or_reached(
    tmp_path: Path, short_folder: Path
) -> None:
    outcome = run(tmp_path, short_folder, Level.PARTLY_HELD)
    print(outcome.table("Level B"))
    unknown = [each for each in outcome.harm if each[1] not in KNOWN_AT_B]
    assert [each for each in unknown if each[0] != "metadata"] == []
