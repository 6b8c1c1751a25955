"""A comparison of two test runs: what each skipped and what ran in neither.

``python -m tests.ci.outcomes FIRST.xml SECOND.xml`` reads the JUnit reports of the README's test
line and of CI's own environment, prints both lists of skips and fails if a test ran in neither. The
benchmarks in ``tests/benchmarks`` run on request and are only counted.
"""

import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ON_REQUEST = "tests.benchmarks."


@dataclass(frozen=True)
class Outcomes:
    """One run: the tests that ran, and why each of the others did not.

    Attributes:
        ran: Their ids, regardless of the result.
        skipped: The reason for each id.
    """

    ran: frozenset[str]
    skipped: Mapping[str, str]


def read(report: str) -> Outcomes:
    """Read a JUnit report.

    Raises:
        ValueError: It contains no test.
    """
    ran, skipped = set(), {}
    for case in ET.fromstring(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        skip = case.find("skipped")
        if skip is None or skip.get("type") == "pytest.xfail":
            ran.add(name)
        else:
            skipped[name] = skip.get("message") or "no reason was given"
    if not ran and not skipped:
        raise ValueError("the report holds no test")
    # A module that is skipped as a whole, or a test with a failed teardown, may be listed twice.
    return Outcomes(frozenset(ran), {name: why for name, why in skipped.items() if name not in ran})


def ran_in_neither(first: Outcomes, second: Outcomes) -> dict[str, str]:
    """Return the tests that no run ran, with the reason of the run that came closest.

    A test that the second run did not select lacks a marker.
    """
    missed = {}
    for name, why in {**second.skipped, **first.skipped}.items():
        if name not in first.ran | second.ran and not name.startswith(ON_REQUEST):
            missed[name] = second.skipped.get(name, f"not selected; skipped before: {why}")
    return missed


def skips(title: str, run: Outcomes) -> str:
    """Return what a run skipped, one reason per line, with the files and the number of tests."""
    wanted = {name: why for name, why in run.skipped.items() if not name.startswith(ON_REQUEST)}
    groups: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for name, why in wanted.items():
        groups[why][name.partition("::")[0]] += 1
    lines = [f"{title}: {len(run.ran)} ran, {len(wanted)} skipped"]
    for why, files in sorted(groups.items()):
        places = ", ".join(f"{file} ({count})" for file, count in sorted(files.items()))
        lines.append(f"  {why}: {places}")
    if figures := len(run.skipped) - len(wanted):
        lines.append(f"  measured on request only: {ON_REQUEST[:-1]} ({figures})")
    return "\n".join(lines)


def main(first_file: str, second_file: str) -> int:
    first, second = (read(Path(file).read_text("utf-8")) for file in (first_file, second_file))
    print(skips("The README's test line", first))
    print(skips("CI's own environment", second))
    missed = ran_in_neither(first, second)
    for name, why in sorted(missed.items()):
        print(f"RAN IN NEITHER: {name} ({why})")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
