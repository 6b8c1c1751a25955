"""The Python distributions that a package carries, without what the program does not use."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

from debian.releases import DebianRelease

_PLATFORMS = ("manylinux_2_34_x86_64", "manylinux_2_28_x86_64", "manylinux_2_17_x86_64")
_QT_MODULES = ("Core", "DBus", "Gui", "Network", "Svg", "Widgets")
_QT_LIBRARIES = (*_QT_MODULES, "OpenGL", "WaylandClient", "WlShellIntegration", "XcbQpa")
_QT_PLUGINS = {
    "iconengines": ("qsvgicon",),
    "imageformats": ("qgif", "qico", "qjpeg", "qsvg", "qwebp"),
    "platforminputcontexts": (
        "composeplatforminputcontextplugin",
        "ibusplatforminputcontextplugin",
    ),
    "platforms": ("qminimal", "qoffscreen", "qwayland", "qxcb"),
    "platformthemes": ("qgtk3", "qxdgdesktopportal"),
    "wayland-decoration-client": ("adwaita", "bradient"),
    "wayland-graphics-integration-client": ("qt-plugin-wayland-egl",),
    "wayland-shell-integration": ("wl-shell-plugin", "xdg-shell", "qt-shell"),
    "xcbglintegrations": ("qxcb-egl-integration", "qxcb-glx-integration"),
}
_KEPT_OF_PYSIDE = (
    re.compile(r"PySide6/\w+\.py"),
    re.compile(rf"PySide6/Qt({'|'.join(_QT_MODULES)})\.abi3\.so"),
    re.compile(r"PySide6/libpyside6\.abi3\.so[.\d]*"),
    re.compile(rf"PySide6/Qt/lib/libQt6({'|'.join(_QT_LIBRARIES)})\.so\.6"),
    re.compile(r"PySide6/Qt/lib/libicu\w+\.so\.\d+"),
    *(
        re.compile(rf"PySide6/Qt/plugins/{folder}/lib({'|'.join(map(re.escape, names))})\.so")
        for folder, names in _QT_PLUGINS.items()
    ),
)
_NEVER = (".pyi", "py.typed", "RECORD", ".pyc")
_FOR_BUILDS = ("shiboken6/include/", "shiboken6/lib/")


def download(release: DebianRelease, cache: Path) -> list[Path]:
    """Return the pinned wheels of a release, fetched by pip, which checks their hashes.

    Raises:
        SystemExit: A wheel cannot be fetched, or is not the pinned one.
    """
    folder = cache / f"debian-{release.number}"
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--only-binary", ":all:", "--python-version", release.python]
    command += [word for platform in _PLATFORMS for word in ("--platform", platform)]
    command += ["--requirement", str(release.bundle), "--dest", str(folder)]
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"The wheels of {release.bundle.name} could not be fetched.")
    pinned = {f"{name.replace('-', '_')}-{number}-" for name, number in pins(release).items()}
    # Only these: the folder may still have wheels that were pinned earlier.
    return [each for each in sorted(folder.glob("*.whl")) if each.name.startswith(tuple(pinned))]


def pins(release: DebianRelease) -> dict[str, str]:
    """Return the version of each distribution that the package of a release carries."""
    lines = release.bundle.read_text(encoding="utf-8").splitlines()
    pairs = (line.removesuffix(" \\").partition("==") for line in lines if "==" in line)
    return {name: number for name, _, number in pairs}


def unpack(wheel: Path, packages: Path) -> None:
    """Unpack what is used of a wheel into a ``site-packages`` folder."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith("/") and is_used(name):
                archive.extract(name, packages)


def is_used(name: str) -> bool:
    """Return whether a file of a wheel is used at run time."""
    if name.endswith(_NEVER) or name.startswith(_FOR_BUILDS):
        return False
    if PurePosixPath(name).parts[0] == "PySide6":
        return any(pattern.fullmatch(name) for pattern in _KEPT_OF_PYSIDE)
    return True
