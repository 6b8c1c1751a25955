"""Tests of the comparison of two test runs."""

from pathlib import Path

import pytest

from tests.ci import outcomes
from tests.ci.outcomes import Outcomes, ran_in_neither, read, skips

REPORT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests"><testsuite name="pytest">
<testcase classname="tests.unit.test_a" name="test_good[x-1]" time="0.1" />
<testcase classname="tests.unit.test_a" name="test_bad" time="0.1">
<failure message="no">why</failure></testcase>
<testcase classname="tests.unit.test_a" name="test_known" time="0.1">
<skipped type="pytest.xfail" message="a known bug" /></testcase>
<testcase classname="tests.cli.test_b" name="test_bus" time="0.0">
<skipped type="pytest.skip" message="needs dbus-daemon">conftest.py:18: needs</skipped></testcase>
<testcase classname="tests.benchmarks.test_c" name="test_figure" time="0.0">
<skipped type="pytest.skip" message="Skipping benchmark" /></testcase>
</testsuite></testsuites>"""


def run_of(*ran: str, **skipped: str) -> Outcomes:
    return Outcomes(frozenset(ran), skipped)


def test_a_report_is_read() -> None:
    run = read(REPORT)

    names = ("test_good[x-1]", "test_bad", "test_known")
    assert run.ran == {f"tests.unit.test_a::{name}" for name in names}
    assert run.skipped == {
        "tests.cli.test_b::test_bus": "needs dbus-daemon",
        "tests.benchmarks.test_c::test_figure": "Skipping benchmark",
    }


@pytest.mark.parametrize("report", ["<testsuites />", "<testsuites><testsuite /></testsuites>"])
def test_a_report_without_tests_is_refused(report: str) -> None:
    with pytest.raises(ValueError, match="no test"):
        read(report)


def test_what_ran_in_one_of_two_runs_is_not_missed() -> None:
    line = run_of("a", "b", bus="needs dbus-daemon")
    own = run_of("bus", "b")

    assert ran_in_neither(line, own) == {}
    assert ran_in_neither(own, line) == {}


def test_what_both_skipped_is_missed_with_the_later_reason() -> None:
    line, own = run_of("a", bus="needs dbus-daemon"), run_of("b", bus="needs openbox")

    assert ran_in_neither(line, own) == {"bus": "needs openbox"}


def test_what_the_second_run_did_not_select_is_missed() -> None:
    line, own = run_of("a", other="not on Tuesdays"), run_of("b")

    assert ran_in_neither(line, own) == {"other": "not selected; skipped before: not on Tuesdays"}


def test_what_only_the_second_run_has_and_skips_is_missed() -> None:
    assert ran_in_neither(run_of("a"), run_of("a", new="why")) == {"new": "why"}


def test_figures_on_request_are_counted_apart() -> None:
    line = read(REPORT)

    assert ran_in_neither(line, run_of("tests.cli.test_b::test_bus")) == {}
    assert skips("The line", line).splitlines() == [
        "The line: 3 ran, 1 skipped",
        "  needs dbus-daemon: tests.cli.test_b (1)",
        "  measured on request only: tests.benchmarks (1)",
    ]


def test_a_missed_test_is_named_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first.xml", tmp_path / "second.xml"
    first.write_text(REPORT)
    second.write_text(REPORT)
    assert outcomes.main(str(first), str(second)) == 1
    assert (
        "RAN IN NEITHER: tests.cli.test_b::test_bus (needs dbus-daemon)" in capsys.readouterr().out
    )

    second.write_text(REPORT.replace("skipped", "properties"))
    assert outcomes.main(str(first), str(second)) == 0
    said = capsys.readouterr().out
    assert "The README's test line: 3 ran, 1 skipped" in said
    assert "CI's own environment: 5 ran, 0 skipped" in said
