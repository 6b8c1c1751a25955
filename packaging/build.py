"""Make what is handed out: ``python packaging/build.py TARGET…``, or ``--list``.

Everything comes from this checkout and goes to ``dist``. README.md beside this file says what each
target needs and how it was tried.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]  # the program, if it is not installed

from debian.package import build_package  # noqa: E402
from debian.releases import RELEASES  # noqa: E402
from linux.facts import CHECKOUT, this_release  # noqa: E402
from linux.tree import desktop_tree  # noqa: E402
from python_packages import build_python_package  # noqa: E402


def linux_files(dist: Path) -> list[Path]:
    """Menu entry, icons, metainfo, service, manual and completions, as a folder."""
    made = []
    for name, content in desktop_tree(this_release()).items():
        file = dist / "linux" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        made.append(file)
    return made


def wheel(dist: Path) -> list[Path]:
    """The wheel, for pip and pipx."""
    return [build_python_package("wheel", dist)]


def sdist(dist: Path) -> list[Path]:
    """The source archive."""
    return [build_python_package("sdist", dist)]


def deb12(dist: Path) -> list[Path]:
    """A package for Debian 12 on amd64, which carries Qt and newer libraries."""
    return [build_package(RELEASES[12], this_release(), dist)]


def deb13(dist: Path) -> list[Path]:
    """A package for Debian 13, which uses Debian's Qt and libraries."""
    return [build_package(RELEASES[13], this_release(), dist)]


TARGETS: dict[str, Callable[[Path], list[Path]]] = {
    "linux-files": linux_files,
    "wheel": wheel,
    "sdist": sdist,
    "deb12": deb12,
    "deb13": deb13,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the named targets and print the files; return the exit code."""
    parser = argparse.ArgumentParser(prog="packaging/build.py", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="what to make; see --list")
    parser.add_argument("--list", action="store_true", help="list the targets")
    parser.add_argument("--dist", type=Path, default=CHECKOUT / "dist", help="output folder")
    given = parser.parse_args(arguments)
    if unknown := set(given.targets) - TARGETS.keys():
        parser.error(f"no such target: {', '.join(sorted(unknown))}; --list shows them")
    if given.list or not given.targets:
        for name, build in TARGETS.items():
            sys.stdout.write(f"{name:14}{(build.__doc__ or '').splitlines()[0]}\n")
        return 0
    given.dist.mkdir(parents=True, exist_ok=True)
    for name in given.targets:
        for file in TARGETS[name](given.dist.resolve()):
            sys.stdout.write(f"{name}: {file} ({file.stat().st_size:,} bytes)\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
