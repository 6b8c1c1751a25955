"""Attacks that are really run through the assistant's tool: nothing outside may happen.

The whole corpus, with its table, is in ``tests/benchmarks/test_sandbox_figures.py``.
"""

from pathlib import Path

import pytest

from hermes_desktop.agent.sandbox.grants import Level
from hermes_desktop.agent.sandbox.landlock import landlock_version
from hermes_desktop.agent.sandbox.probe import probe
from tests.sandbox.attacks import ATTACKS, DISGUISES
from tests.sandbox.victim import Victim

pytestmark = [pytest.mark.needs(), pytest.mark.slow, pytest.mark.timeout(1200)]
ONE_IN = 13
"""How many of the disguises are run here; not a divisor of their number, so that they rotate."""


def test_the_corpus_is_large_enough() -> None:
    assert len(ATTACKS) * len(DISGUISES) >= 500


def test_without_a_sandbox_they_succeed(tmp_path: Path, short_folder: Path) -> None:
    """So the other tests mean something; what would reach beyond the home is left out."""
    victim = Victim(tmp_path, short_folder, None)
    try:
        outcome = victim.run(0, ("change", "read", "network"))
    finally:
        victim.close()
    print(outcome.table("No sandbox"))
    successful = {attack for _, attack, _ in outcome.harm}
    assert len(successful) > 0.75 * outcome.ran.total()


def test_at_level_a_nothing_happens_outside(tmp_path: Path, short_folder: Path) -> None:
    if probe().level is not Level.CLOSED:
        pytest.skip(f"needs bubblewrap and namespaces: {probe().error}")
    victim = Victim(tmp_path, short_folder, Level.CLOSED)
    try:
        outcome = victim.run(ONE_IN)
    finally:
        victim.close()
    print(outcome.table("Level A"))
    assert outcome.ran.total() > len(ATTACKS)
    assert outcome.harm == []
    assert victim.stage.asked == []


def test_at_level_b_no_content_changes_and_nothing_is_read_or_reached(
    tmp_path: Path, short_folder: Path
) -> None:
    if not landlock_version():
        pytest.skip("needs a kernel with Landlock")
    victim = Victim(tmp_path, short_folder, Level.PARTLY_HELD)
    try:
        outcome = victim.run(ONE_IN)
    finally:
        victim.close()
    print(outcome.table("Level B"))
    assert outcome.ran.total() > len(ATTACKS)
    # Known, and said in the setting that allows this level: modes, times and owners.
    assert [each for each in outcome.harm if each[0] != "metadata"] == []
