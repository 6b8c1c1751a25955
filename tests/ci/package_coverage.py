"""A comparison of the coverage of each package with its minimum.

``python -m tests.ci.package_coverage`` runs the quick unit tests under coverage, or reads a given
report of ``coverage json``. It prints the figure of each package, and fails if one is below its
minimum in the table ``[tool.package-coverage]`` of pyproject.toml, if a package has no minimum, or
if the report lacks one. The files directly in ``hermes_desktop`` count as the package
``hermes_desktop``. Lines that only a child process runs count as not covered.
"""

import json
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.ci.readme_lines import CHECKOUT

ROOT = "hermes_desktop"
MEASURED = ("tests/unit", "-q", "-n", "2", "-m", "not needs and not slow", "--cov")
_REPORT = CHECKOUT / ".ci" / "out" / "coverage.json"


@dataclass(frozen=True)
class Lines:
    """The lines of one package that can run, and how many of them did."""

    covered: int
    all: int

    @property
    def percent(self) -> float:
        """The covered share. A package without a line that can run is covered."""
        return 100 * self.covered / self.all if self.all else 100.0


def read(report: str) -> dict[str, Lines]:
    """Return the lines of each package in a JSON report.

    Raises:
        ValueError: It contains no file of the program.
    """
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in json.loads(report)["files"].items():
        folders = PurePosixPath(name).parent.parts
        if folders[:1] == (ROOT,):
            package = sums[folders[:2][-1]]
            package[0] += file["summary"]["covered_lines"]
            package[1] += file["summary"]["num_statements"]
    if not sums:
        raise ValueError(f"the report holds no file of {ROOT}")
    return {name: Lines(*numbers) for name, numbers in sums.items()}


def minimums(pyproject: str) -> dict[str, int]:
    """Return the table of minimums, in percent."""
    return dict(tomllib.loads(pyproject)["tool"]["package-coverage"])


def problems(measured: Mapping[str, Lines], least: Mapping[str, int]) -> list[str]:
    """Return, as sentences, which packages are below their minimum or cannot be compared."""
    found = []
    for name in sorted(measured.keys() | least.keys()):
        if name not in least:
            percent = measured[name].percent
            found.append(f"{name}: {percent:.1f} % covered, but it has no minimum.")
        elif name not in measured:
            found.append(f"{name}: not in the report; its minimum is {least[name]} %.")
        elif measured[name].percent < least[name]:
            percent = measured[name].percent
            found.append(f"{name}: {percent:.1f} % covered, the minimum is {least[name]} %.")
    return found


def figures(measured: Mapping[str, Lines], least: Mapping[str, int]) -> str:
    """Return a table of the packages: lines, covered share and minimum."""
    lines = ["package             lines  covered  minimum"]
    for name, each in sorted(measured.items()):
        minimum = f"{least[name]} %" if name in least else "none"
        lines.append(f"{name:<18} {each.all:>6}  {each.percent:>5.1f} %  {minimum:>7}")
    return "\n".join(lines)


def measure() -> int:
    """Run the tests, write the report, and return pytest's exit code."""
    _REPORT.parent.mkdir(parents=True, exist_ok=True)
    _REPORT.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", *MEASURED, f"--cov-report=json:{_REPORT}"]
    return subprocess.run(command, cwd=CHECKOUT, check=False).returncode


def main(report_file: str | None = None) -> int:
    if report_file is None and (code := measure()):
        return code
    measured = read(Path(report_file or _REPORT).read_text("utf-8"))
    least = minimums(CHECKOUT.joinpath("pyproject.toml").read_text("utf-8"))
    print(figures(measured, least))
    found = problems(measured, least)
    for line in found:
        print(f"COVERAGE: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
