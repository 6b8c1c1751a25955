"""The Debian packages: complete, the same bytes twice, and what they depend on."""

import importlib.metadata
import io
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from debian.archive import Entry, ar, link, read_ar, tar_xz
from debian.bundle import is_used, pins
from debian.package import PRIVATE, control_files, package_files, version
from debian.releases import PACKAGE, RELEASES, DebianRelease
from linux.facts import Release
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

RELEASE = Release("0.1.0", 1_790_000_000)
IN_DEBIAN = {
    "pyside6-essentials": "python3-pyside6.qtcore",
    "pyyaml": "python3-yaml",
    "markdown-it-py": "python3-markdown-it",
    "jaraco-classes": "python3-jaraco.classes",
    "jaraco-context": "python3-jaraco.context",
    "jaraco-functools": "python3-jaraco.functools",
}
"""Names of Debian packages that are not ``python3-`` and the name of the distribution."""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A small ``site-packages`` folder."""
    folder = tmp_path / "site-packages"
    info = folder / "thing-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: thing\nVersion: 1\nLicense-Expression: MIT\n")
    (info / "LICENSE").write_text("The text of thing.\n")
    (folder / "thing.py").write_text("")
    return folder


def _package(debian: DebianRelease, packages: Path) -> bytes:
    files = package_files(debian, RELEASE, packages)
    control = control_files(debian, RELEASE, files)
    return ar(
        [
            ("debian-binary", b"2.0\n"),
            ("control.tar.xz", tar_xz(control, RELEASE.epoch)),
            ("data.tar.xz", tar_xz(files, RELEASE.epoch)),
        ],
        RELEASE.epoch,
    )


def test_the_same_files_give_the_same_bytes(packages: Path) -> None:
    assert _package(RELEASES[13], packages) == _package(RELEASES[13], packages)


def test_archives_contain_what_was_given() -> None:
    entries = {"usr/bin/x": link("../lib/x"), "usr/lib/x": Entry(b"odd", 0o755)}
    archive = read_ar(ar([("a", b"odd"), ("data.tar.xz", tar_xz(entries, 5))], 5))

    assert archive["a"] == b"odd"
    with tarfile.open(fileobj=io.BytesIO(archive["data.tar.xz"])) as tar:
        members = {member.name: member for member in tar.getmembers()}
    assert list(members) == [".", "./usr", "./usr/bin", "./usr/bin/x", "./usr/lib", "./usr/lib/x"]
    assert members["./usr/bin/x"].linkname == "../lib/x"
    assert members["./usr/lib/x"].mode == 0o755
    assert {(each.mtime, each.uid, each.uname) for each in members.values()} == {(5, 0, "root")}


@pytest.mark.parametrize("debian", RELEASES.values(), ids=lambda each: f"debian-{each.number}")
def test_a_package_is_complete(debian: DebianRelease, packages: Path) -> None:
    files = package_files(debian, RELEASE, packages)
    control = control_files(debian, RELEASE, files)["control"].content.decode()
    notice = files[f"usr/share/doc/{PACKAGE}/copyright"].content.decode()

    assert (
        files["usr/bin/hermes-desktop"].content.decode() == f"../lib/{PACKAGE}/bin/hermes-desktop"
    )
    assert files[f"{PRIVATE}/bin/hermes-desktop"].mode == 0o755
    assert f"{PRIVATE}/lib/python{debian.python}/site-packages/thing.py" in files
    assert " " not in PRIVATE
    assert "thing 1: MIT" in notice
    assert "The text of thing." in notice
    assert f"Version: {version(debian, RELEASE)}\n" in control
    assert "independent and not made by Nous Research" in control
    assert not [name for name in files if name.endswith((".pyc", ".1"))]


@pytest.mark.parametrize("debian", RELEASES.values(), ids=lambda each: f"debian-{each.number}")
def test_everything_that_is_imported_is_carried_or_comes_from_debian(debian: DebianRelease) -> None:
    """Also what the carried distributions need themselves."""
    carried = {canonicalize_name(name) for name in pins(debian)}
    from_debian = {re.split(r"[ (]", each)[0] for each in debian.depends}
    environment = {
        "python_version": debian.python,
        "python_full_version": f"{debian.python}.0",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "extra": "",
    }
    missing = [
        (name, needed)
        for name in ["hermes-desktop", *carried]
        for needed in _requirements(name, environment)
        if needed not in carried and IN_DEBIAN.get(needed, f"python3-{needed}") not in from_debian
    ]

    assert missing == []


def test_pinned_versions_are_those_that_the_program_accepts() -> None:
    accepted = {
        canonicalize_name(each.name): each.specifier
        for each in map(Requirement, importlib.metadata.requires("hermes-desktop") or [])
        if "dev" not in str(each.marker)
    }
    for debian in RELEASES.values():
        for name, pin in pins(debian).items():
            assert pin in accepted.get(canonicalize_name(name), Requirement("x").specifier)


def _requirements(name: str, environment: dict[str, str]) -> Iterator[str]:
    for line in importlib.metadata.requires(name) or []:
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate(environment):
            yield canonicalize_name(needed.name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("PySide6/QtWidgets.abi3.so", True),
        ("PySide6/Qt/lib/libQt6Core.so.6", True),
        ("PySide6/Qt/lib/libicudata.so.73", True),
        ("PySide6/Qt/plugins/platforms/libqxcb.so", True),
        ("PySide6/Qt/lib/libQt6Quick.so.6", False),
        ("PySide6/Qt/plugins/imageformats/libqpdf.so", False),
        ("PySide6/QtCore.pyi", False),
        ("PySide6/designer", False),
        ("shiboken6/Shiboken.abi3.so", True),
        ("shiboken6/include/shiboken.h", False),
        ("telegram/_bot.py", True),
        ("qasync-0.28.0.dist-info/RECORD", False),
        ("qasync-0.28.0.dist-info/licenses/LICENSE", True),
    ],
)
def test_what_is_carried_of_a_wheel(name: str, *, expected: bool) -> None:
    assert is_used(name) is expected


@pytest.mark.needs("dpkg-deb")
def test_dpkg_reads_a_package(packages: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.deb"
    file.write_bytes(_package(RELEASES[13], packages))
    done = subprocess.run(
        ["dpkg-deb", "--field", file, "Package", "Version", "Architecture"],
        capture_output=True,
        text=True,
        check=True,
    )
    subprocess.run(["dpkg-deb", "--extract", file, tmp_path / "out"], check=True)

    assert done.stdout.splitlines()[0] == f"Package: {PACKAGE}"
    assert (tmp_path / "out" / PRIVATE / "bin/hermes-desktop").is_file()
