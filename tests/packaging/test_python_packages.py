"""Wheel and source archive: the same bytes twice, and what is inside."""

import configparser
import email
import email.message
import os
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from linux.facts import CHECKOUT
from python_packages import build_python_package

from hermes_desktop import __version__

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]
INFO = f"hermes_desktop-{__version__}.dist-info"


@pytest.fixture(scope="module")
def _one_date() -> Iterator[None]:
    """A date for where the checkout is no repository."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", os.environ.get("SOURCE_DATE_EPOCH", "1790000000"))
        yield


@pytest.fixture(scope="module")
def wheel(_one_date: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made once."""
    return build_python_package("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(_one_date: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, made once."""
    return build_python_package("sdist", tmp_path_factory.mktemp("sdist"))


def test_the_same_commit_gives_the_same_bytes(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    for kind, first in (("wheel", wheel), ("sdist", sdist)):
        second = build_python_package(kind, tmp_path)
        assert second.name == first.name
        assert second.read_bytes() == first.read_bytes()


def test_the_wheel_contains_the_program_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    assert {name.partition("/")[0] for name in names} == {"hermes_desktop", INFO}
    sources = {
        file.relative_to(CHECKOUT).as_posix()
        for file in (CHECKOUT / "hermes_desktop").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    shipped = {
        f"hermes_desktop/_resources/{file.relative_to(CHECKOUT / 'resources').as_posix()}"
        for folder in ("demo", "icons")
        for file in (CHECKOUT / "resources" / folder).iterdir()
    } | {"hermes_desktop/_resources/docs/guide.md"}
    assert {name for name in names if not name.startswith(INFO)} == sources | shipped
    assert f"{INFO}/licenses/LICENSE" in names


def test_the_wheel_has_both_entry_points_and_its_extras(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        entries = configparser.ConfigParser()
        entries.read_string(archive.read(f"{INFO}/entry_points.txt").decode())
        metadata = email.message_from_bytes(archive.read(f"{INFO}/METADATA"))

    assert dict(entries["console_scripts"]) == {"hermes-desktop": "hermes_desktop.__main__:main"}
    assert dict(entries["gui_scripts"]) == {"hermes-desktop-gui": "hermes_desktop.__main__:main"}
    assert metadata.get_all("Provides-Extra") == ["dev", "telegram"]
    assert _needed(metadata, "telegram") == {"python-telegram-bot"}
    assert "pytest" not in _needed(metadata, "")
    assert "PySide6-Essentials".lower() in _needed(metadata, "")


def test_the_source_archive_can_make_the_packages(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {
        "pyproject.toml",
        "LICENSE",
        "README.md",
        "PKG-INFO",
        "packaging/build.py",
        "packaging/linux/menu_entry.py",
        "resources/icons/hermes-desktop.svg",
        "tests/conftest.py",
    } <= names
    assert not [name for name in names if name.startswith((".venv", "dist", ".ci/out"))]


def _needed(metadata: email.message.Message, extra: str) -> set[str]:
    """The names of the distributions that are needed, always or with an extra."""
    found = set()
    for line in metadata.get_all("Requires-Dist", []):
        requirement, _, marker = line.partition(";")
        if (f"extra == '{extra}'" in marker) if extra else ("extra ==" not in marker):
            name = requirement.strip()
            for sign in "<>=!~ [":
                name = name.partition(sign)[0]
            found.add(name.lower())
    return found
