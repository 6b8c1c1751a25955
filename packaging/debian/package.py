"""One package: its files, its control data, and the archive of both."""

import gzip
import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap

from licenses import add_missing_texts, licenses_in, objections
from linux.facts import COMMAND, DESCRIPTION, DEVELOPER, FEATURES, SUMMARY, Release
from linux.tree import desktop_tree
from python_packages import build_python_package

from debian.archive import Entry, ar, link, tar_xz
from debian.bundle import download, unpack
from debian.copyright import copyright_file
from debian.releases import PACKAGE, DebianRelease

PRIVATE = f"usr/lib/{PACKAGE}"
"""Folder of the virtual environment."""
_DOC = f"usr/share/doc/{PACKAGE}"
_STARTER = f"""\
#!/{PRIVATE}/bin/python3 -I
import sys

from hermes_desktop.__main__ import main

sys.exit(main())
"""
_POSTINST = f"""\
#!/bin/sh
set -e
if [ "$1" = configure ]; then
    py3compile -p {PACKAGE} /{PRIVATE}
fi
"""
_PRERM = f"""\
#!/bin/sh
set -e
py3clean -p {PACKAGE} /{PRIVATE}
"""
_WIDTH = 78
_OVERRIDES = {
    f"wrong-path-for-interpreter /{PRIVATE}/bin/python3 *": "the Python of the program's own"
    " environment, a link to Debian's",
    f"unusual-interpreter python [{PRIVATE}/lib/*]": "wheels are carried as they were published",
}
_OVERRIDES_OF_MACHINE_CODE = {
    f"shared-library-lacks-prerequisites [{PRIVATE}/lib/*/libicudata.so.*]": "only data",
    f"unstripped-binary-or-object [{PRIVATE}/lib/*]": "wheels are carried as they were published",
    f"embedded-library libjpeg [{PRIVATE}/lib/*/libqjpeg.so]": "part of the published wheel of Qt",
    f"embedded-library libyaml [{PRIVATE}/lib/*/_yaml.*]": "part of the published wheel of PyYAML",
}
"""Remarks of lintian that are accepted, with the reason; the latter only where it is carried."""


def build_package(debian: DebianRelease, release: Release, dist: Path) -> Path:
    """Build the package of a release of Debian into a folder.

    Raises:
        SystemExit: Something that it carries may not be handed out, or could not be fetched.
    """
    with tempfile.TemporaryDirectory() as name:
        packages = Path(name) / "site-packages"
        for wheel in [*download(debian, dist / "cache"), build_python_package("wheel", Path(name))]:
            unpack(wheel, packages)
        add_missing_texts(packages)
        if found := objections(licenses_in(packages)):
            raise SystemExit("\n".join(found))
        files = package_files(debian, release, packages)
    control = control_files(debian, release, files)
    file = dist / f"{PACKAGE}_{version(debian, release)}_{debian.architecture}.deb"
    members = (
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", tar_xz(control, release.epoch)),
        ("data.tar.xz", tar_xz(files, release.epoch)),
    )
    file.write_bytes(ar(members, release.epoch))
    return file


def version(debian: DebianRelease, release: Release) -> str:
    """Return the version, which rises with the release of Debian."""
    return f"{release.version}+deb{debian.number}"


def package_files(debian: DebianRelease, release: Release, packages: Path) -> dict[str, Entry]:
    """Return every file of a package by its path.

    Args:
        debian: The release of Debian.
        release: The version of the program.
        packages: The folder with everything that is carried.
    """
    files = {
        f"{PRIVATE}/pyvenv.cfg": Entry(_venv(debian).encode()),
        f"{PRIVATE}/bin/python3": link(f"../../../bin/python{debian.python}"),
        f"{PRIVATE}/bin/{COMMAND}": Entry(_STARTER.encode(), 0o755),
        f"usr/bin/{COMMAND}": link(f"../lib/{PACKAGE}/bin/{COMMAND}"),
        f"{_DOC}/copyright": Entry(copyright_file(licenses_in(packages)).encode()),
        f"{_DOC}/changelog.gz": Entry(_packed(_changelog(debian, release))),
        f"usr/share/lintian/overrides/{PACKAGE}": Entry(_overrides(debian).encode()),
    }
    for name, content in desktop_tree(release).items():
        is_page = name.startswith("usr/share/man/")
        files[f"{name}.gz" if is_page else name] = Entry(_packed(content) if is_page else content)
    inside = f"{PRIVATE}/lib/python{debian.python}/site-packages"
    for file in packages.rglob("*"):
        if file.is_file():
            files[f"{inside}/{file.relative_to(packages).as_posix()}"] = Entry(file.read_bytes())
    return files


def control_files(
    debian: DebianRelease, release: Release, files: Mapping[str, Entry]
) -> dict[str, Entry]:
    """Return the control data of a package with these files."""
    sums = "".join(
        f"{hashlib.md5(entry.content, usedforsecurity=False).hexdigest()}  {name}\n"
        for name, entry in sorted(files.items())
        if not entry.is_link
    )
    size = sum(len(entry.content) // 1024 + 1 for entry in files.values())
    return {
        "control": Entry(_control(debian, release, size).encode()),
        "md5sums": Entry(sums.encode()),
        "postinst": Entry(_POSTINST.encode(), 0o755),
        "prerm": Entry(_PRERM.encode(), 0o755),
    }


def _control(debian: DebianRelease, release: Release, size_kib: int) -> str:
    major, minor = debian.python.split(".")
    python = (f"python3 (>= {debian.python})", f"python3 (<< {major}.{int(minor) + 1})")
    paragraphs = ("\n ".join(wrap(each, _WIDTH)) for each in DESCRIPTION)
    features = "".join(f"\n  * {each}" for each in FEATURES)
    values = {
        "Package": PACKAGE,
        "Version": version(debian, release),
        "Architecture": debian.architecture,
        "Maintainer": f"{DEVELOPER} <packages@hermes-desktop.invalid>",
        "Installed-Size": str(size_kib),
        "Depends": ", ".join((*python, *sorted(debian.depends))),
        "Recommends": "bubblewrap, gnome-keyring | org.freedesktop.secrets",
        "Section": "net",
        "Priority": "optional",
        "Description": f"{_lower(SUMMARY)}\n " + "\n .\n ".join(paragraphs) + features,
    }
    return "".join(f"{key}: {value}\n" for key, value in values.items())


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _changelog(debian: DebianRelease, release: Release) -> bytes:
    return (
        f"{PACKAGE} ({version(debian, release)}) unstable; urgency=medium\n\n"
        "  * See CHANGELOG.md in the source.\n\n"
        f" -- {DEVELOPER} <packages@hermes-desktop.invalid>  {release.mail_date}\n"
    ).encode()


def _overrides(debian: DebianRelease) -> str:
    accepted = dict(_OVERRIDES)
    if debian.architecture != "all":
        accepted |= _OVERRIDES_OF_MACHINE_CODE
    return "".join(f"# {why}\n{PACKAGE}: {tag}\n" for tag, why in accepted.items())


def _venv(debian: DebianRelease) -> str:
    values = {
        "home": "/usr/bin",
        "include-system-site-packages": "true",
        "version": debian.python,
    }
    return "".join(f"{key} = {value}\n" for key, value in values.items())


def _packed(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)
