"""Tests of the comparison of each package's coverage with its minimum."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.ci import package_coverage
from tests.ci.package_coverage import Lines, figures, minimums, problems, read
from tests.ci.readme_lines import CHECKOUT

COVERED = {"agent": Lines(90, 100), "ui": Lines(1, 3)}
PROGRAM = """\
from hermes_desktop import app
from hermes_desktop.agent.tools import ran


def never() -> None:
    print(app)
"""


def coverage(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "coverage", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=200)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report that the real program wrote about a small tree with three packages."""
    folder = tmp_path_factory.mktemp("measured")
    for name, text in {
        "__init__.py": "",
        "app.py": "name = 1\n",
        "agent/__init__.py": "",
        "agent/tools/__init__.py": "",
        "agent/tools/ran.py": "a = 1\nif not a:\n    b = 2\n    c = 3\n",
        "agent/left.py": "a = 1\nb = 2\n",
        "cli/__init__.py": "",
        "cli/main.py": PROGRAM,
    }.items():
        file = folder / "hermes_desktop" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "other.py").write_text("import hermes_desktop.cli.main\n")
    coverage(folder, "run", "--source=.", "other.py")
    coverage(folder, "json", "-o", "report.json")
    return folder / "report.json"


def test_a_report_is_read(report: Path) -> None:
    assert read(report.read_text()) == {
        "hermes_desktop": Lines(1, 1),
        "agent": Lines(2, 6),
        "cli": Lines(3, 4),
    }


def test_a_report_about_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="no file of hermes_desktop"):
        read('{"files": {"tests/test_a.py": {"summary": {}}}}')


def test_a_package_may_be_at_its_minimum() -> None:
    assert problems(COVERED, {"agent": 90, "ui": 33}) == []


def test_a_package_below_its_minimum_is_named_with_both_figures() -> None:
    assert problems(COVERED, {"agent": 91, "ui": 33}) == [
        "agent: 90.0 % covered, the minimum is 91 %."
    ]


def test_packages_and_minimums_belong_together() -> None:
    assert problems(COVERED, {"agent": 90, "state": 80}) == [
        "state: not in the report; its minimum is 80 %.",
        "ui: 33.3 % covered, but it has no minimum.",
    ]


def test_the_table_shows_what_was_measured() -> None:
    assert figures(COVERED, {"agent": 90}).splitlines() == [
        "package             lines  covered  minimum",
        "agent                 100   90.0 %     90 %",
        "ui                      3   33.3 %     none",
    ]


def test_an_empty_package_is_covered() -> None:
    assert problems({"new": Lines(0, 0)}, {"new": 100}) == []


def test_every_package_has_a_minimum() -> None:
    least = minimums(CHECKOUT.joinpath("pyproject.toml").read_text("utf-8"))
    packages = {each.parent.name for each in CHECKOUT.glob("hermes_desktop/*/__init__.py")}

    assert least.keys() == packages | {"hermes_desktop"}


def test_what_is_wrong_is_printed_and_fails(
    report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert package_coverage.main(str(report)) == 1
    said = capsys.readouterr().out
    assert "agent                   6   33.3 %" in said
    assert "COVERAGE: state: not in the report; its minimum is" in said
