"""Run a line of the README in a fresh, minimal Debian 12, as on a new machine.

The base is created once by debootstrap and kept in HERMES_TEST_CACHE. Each run gets a copy of it,
the tracked files of the repository, and the configuration of this machine that ``carried`` selects.
Everything is mounted in a namespace of the run's own, so that nothing stays mounted, however it
ends.

    python -m tests.ci.bare_root possible       # if not: prints why, exit code 1
    python -m tests.ci.bare_root tests REPORT   # the test line; REPORT gets pytest's JUnit report
    python -m tests.ci.bare_root demo PICTURE   # the demo line, as pasted and with --screenshot
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.ci import carried
from tests.ci.readme_lines import CHECKOUT, readme_line

RELEASE = "bookworm"
PROGRAMS = ("debootstrap", "unshare", "setpriv", "chroot", "git")
INSIDE = Path("/hermes-desktop")
NO_SCREEN = 3
SHOT = "demo.png"
_OUT = CHECKOUT / ".ci" / "out"
_APART = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
_ENTER = """\
set -e
root=$1 folders=$2; shift 2
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/dev/shm"
while IFS= read -r folder; do
  [ -n "$folder" ] || continue
  mkdir -p "$root$folder"
  mount --bind "$folder" "$root$folder"
  mount -o remount,bind,ro "$root$folder"
done <<< "$folders"
# Not with exec: as the first process of its namespace the shell reaps what others leave behind.
code=0
chroot "$root" /usr/bin/env -i "$@" || code=$?
exit "$code"
"""


def mirror(targets: str) -> str | None:
    """Return the mirror of Debian 12 in the output of ``apt-get indextargets``."""
    for line in targets.splitlines():
        address, release, component = line.split("|")
        if (release, component) == (RELEASE, "main"):
            return address
    return None


def why_impossible() -> str | None:
    """Return why no bare root can be created here; None if it can."""
    if os.geteuid() != 0:
        return "only root may make one"
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        return f"not installed: {', '.join(missing)}"
    apart = subprocess.run([*_APART, "true"], capture_output=True, text=True, check=False)
    if apart.returncode:
        return f"no namespaces here: {apart.stderr.strip()}"
    if mirror(_index_targets()) is None:
        return f"the apt sources of this machine have no {RELEASE}"
    return None


def kept_base() -> Path:
    """Return the unpacked minimal system, created if necessary."""
    named = os.environ.get("HERMES_TEST_CACHE")
    cache = Path(named) if named else _OUT / "cache"
    base = cache / f"debian-{RELEASE}-minbase"
    if not base.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with _folder_in(cache) as folder:
            made = folder / "root"
            _debootstrap(made)
            made.rename(base)
    return base


@dataclass(frozen=True)
class BareRoot:
    """A root to run lines in.

    Attributes:
        path: Its path on this machine.
        shown: Folders of this machine that are readable inside, at the same path.
    """

    path: Path
    shown: tuple[Path, ...]

    @property
    def checkout(self) -> Path:
        """The tracked files inside, with the files that were generated."""
        return self.path / INSIDE.relative_to("/")

    def run(self, line: str, variables: Mapping[str, str], log: IO[bytes] | None = None) -> int:
        """Run a line in the checkout inside and return its exit code."""
        environment = {
            **carried.carried_variables(os.environ),
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": os.environ.get("HOME", "/root"),
            "DEBIAN_FRONTEND": "noninteractive",
            **variables,
        }
        command = [
            *("setpriv", "--pdeathsig", "KILL", *_APART),
            *("bash", "-c", _ENTER, "bash", str(self.path), "\n".join(map(str, self.shown))),
            *(f"{name}={value}" for name, value in environment.items()),
            *("bash", "-c", f"cd {INSIDE} && {line}"),
        ]
        print(f"$ {line}", flush=True)
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False
        ).returncode


@contextlib.contextmanager
def bare_root() -> Iterator[BareRoot]:
    """Create a copy of the base with configuration and tracked files; it is removed afterwards."""
    _OUT.mkdir(parents=True, exist_ok=True)
    for left in _OUT.glob("bare-*"):
        _remove(left)
    with _folder_in(_OUT) as folder:
        path = folder / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", kept_base(), path], check=True)
        places = carried.local_places(carried.pip_values(carried.pip_says("list")))
        shown = carried.mounted_folders(places)
        # A folder that every system has must not be covered by this machine's.
        shown = [each for each in shown if not (path / each.relative_to("/")).exists()]
        _carry_files(path)
        root = BareRoot(path, tuple(shown))
        _copy_tracked_files(root.checkout)
        yield root


def run_tests(report: Path) -> int:
    """Run the test line; return its exit code."""
    with bare_root() as root:
        options = os.environ.get("PYTEST_ADDOPTS", "")
        variables = {"PYTEST_ADDOPTS": f"{options} --junitxml=report.xml".strip()}
        code = root.run(readme_line("tests"), variables)
        made = root.checkout / "report.xml"
        if made.is_file():
            shutil.copy(made, report)
    return code


def run_demo(picture: Path) -> int:
    """Run the demo line: without a screen it must fail, with ``--screenshot`` paint the window."""
    line = readme_line("demo")
    with bare_root() as root, tempfile.TemporaryFile() as log:
        codes = [root.run(f"{line}{more}", {}, log) for more in ("", f" --screenshot {SHOT}")]
        log.seek(0)
        said = log.read().decode(errors="replace")
        if codes != [NO_SCREEN, 0] or said.count(f"--screenshot {SHOT}") != 1:
            print(said[-5000:])
            print(f"Exit codes {codes} in place of {[NO_SCREEN, 0]}, or another sentence.")
            return 1
        shutil.copy(root.checkout / SHOT, picture)
    return 0


def _debootstrap(target: Path) -> None:
    address = mirror(_index_targets())
    assert address is not None
    command = ["debootstrap", "--variant=minbase", "--include=ca-certificates"]
    environment = dict(os.environ)
    for name in ("http", "https"):
        if proxy := _printed("apt-config", "shell", "PROXY", f"Acquire::{name}::Proxy"):
            environment.setdefault(f"{name}_proxy", proxy.partition("=")[2].strip("'"))
    subprocess.run([*command, RELEASE, str(target), address], env=environment, check=True)


def _carry_files(root: Path) -> None:
    shutil.rmtree(root / "etc/apt")
    subprocess.run(["cp", "-a", "/etc/apt", root / "etc/apt"], check=True)
    copied = [Path("/etc/hosts"), Path("/etc/resolv.conf")]
    # As files: links would point to certificates that the base may not have.
    copied += Path("/etc/ssl/certs").glob("*")
    copied += Path("/usr/share/keyrings").glob("*")
    copied += carried.pip_files(carried.pip_says("debug"))
    named = [
        *carried.carried_variables(os.environ).values(),
        *carried.pip_values(carried.pip_says("list")),
    ]
    copied += [place for place in carried.local_places(named) if place.is_file()]
    for file in copied:
        inside = root / file.relative_to("/")
        if file.is_file() and file != inside:
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.unlink(missing_ok=True)
            shutil.copy(file, inside)
    home = Path(os.environ.get("HOME", "/root"))
    (root / home.relative_to("/")).mkdir(parents=True, exist_ok=True)


def _copy_tracked_files(checkout: Path) -> None:
    names = _printed("git", "-C", str(CHECKOUT), "ls-files", "-z").split("\0")
    for name in names:
        file = CHECKOUT / name
        if name and (file.is_symlink() or file.is_file()):
            checkout.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, checkout / name, follow_symlinks=False)


@contextlib.contextmanager
def _folder_in(place: Path) -> Iterator[Path]:
    # Only root may access the folder; the root within is open, since apt fetches as another user.
    folder = Path(tempfile.mkdtemp(prefix="bare-", dir=place))
    try:
        yield folder
    finally:
        _remove(folder)


def _remove(folder: Path) -> None:
    subprocess.run(["rm", "-rf", "--one-file-system", str(folder)], check=True)


def _index_targets() -> str:
    form = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)"
    return _printed("apt-get", "indextargets", "--format", form, "Created-By: Packages")


def _printed(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main(command: str, *files: str) -> int:
    if command == "possible":
        why = why_impossible()
        print(f"No bare root: {why}." if why else "A bare root can be made here.")
        return 1 if why else 0
    return {"tests": run_tests, "demo": run_demo}[command](Path(files[0]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
