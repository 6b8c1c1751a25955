"""Tests that CI runs the commands of the README."""

import pytest

from tests.ci.readme_lines import CHECKOUT, readme_line


@pytest.mark.parametrize("name", ["demo", "tests"])
def test_each_is_one_line_that_begins_with_the_packages(name: str) -> None:
    assert readme_line(name).startswith("$(command -v sudo) apt-get update && ")


def test_the_line_itself_and_nothing_around_it() -> None:
    text = "a\n<!-- command: x -->\n```bash\nrun this\n```\n<!-- end -->\n```\nnot this\n```\n"
    assert readme_line("x", text) == "run this"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!-- command: x -->\n```bash\n\n```\n<!-- end -->",
        "<!-- command: x -->\n```bash\none\ntwo\n```\n<!-- end -->",
        "<!-- command: x -->\n```bash\none\n```\n<!-- end -->\n" * 2,
    ],
)
def test_none_or_two_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no single line"):
        readme_line("x", text)


def test_the_workflow_installs_the_same_packages() -> None:
    packages = readme_line("tests").partition("--no-install-recommends ")[2].partition(" && ")[0]
    workflow = CHECKOUT.joinpath(".github/workflows/ci.yml").read_text(encoding="utf-8")

    # The workflow brings its own Python.
    assert set(packages.split()) - {"python3-venv"} <= set(workflow.split())
