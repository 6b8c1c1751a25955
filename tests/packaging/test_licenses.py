"""Licenses of what bundles carry."""

import importlib.metadata
import shutil
from pathlib import Path

import pytest
from debian.bundle import pins
from debian.releases import RELEASES
from licenses import Licensed, add_missing_texts, licenses_in, objections, only_gpl


@pytest.fixture(params=RELEASES, ids="debian-{}".format)
def packages(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with the metadata of what the package of a release carries, as installed here."""
    for name in [*pins(RELEASES[request.param]), "hermes-desktop"]:
        found = importlib.metadata.distribution(name)
        folder = tmp_path / f"{found.metadata['Name'].replace('-', '_').lower()}-1.dist-info"
        source = Path(str(found.locate_file(""))) / Path(str(found._path)).name
        shutil.copytree(source, folder)
    return tmp_path


def test_everything_in_a_bundle_may_be_handed_out(packages: Path) -> None:
    add_missing_texts(packages)

    assert objections(licenses_in(packages)) == []


def test_a_wheel_without_a_text_gets_it(packages: Path) -> None:
    missing = {line.partition(":")[0] for line in objections(licenses_in(packages))}

    assert missing <= {"pyside6-essentials", "shiboken6"}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("GPL-3.0-only", True),
        ("GPL-2.0-only OR GPL-3.0-only", True),
        ("AGPL-3.0-or-later", True),
        ("GNU General Public License v3 (GPLv3)", True),
        ("MIT AND GPL-2.0-or-later", True),
        ("LGPL-3.0-only OR GPL-2.0-only OR GPL-3.0-only", False),
        ("LGPL-3.0-only", False),
        ("GNU Lesser General Public License v3 (LGPLv3)", False),
        ("MIT", False),
    ],
)
def test_a_license_that_would_extend_to_the_program(expression: str, *, expected: bool) -> None:
    assert only_gpl(expression) is expected


def test_what_is_refused() -> None:
    text = {"LICENSE": "…"}

    assert objections([Licensed("fine", "1", "MIT", text)]) == []
    assert objections([Licensed("bare", "1", "MIT", {})]) == ["bare: it brings no license text"]
    assert len(objections([Licensed("strict", "1", "GPL-3.0-only", text)])) == 1
    assert objections([Licensed("silent", "1", "", text)]) == ["silent: its license is unknown"]
