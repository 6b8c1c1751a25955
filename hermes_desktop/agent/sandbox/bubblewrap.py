"""Level A: the command line of bubblewrap for one command.

Inside, the root is an empty file system in memory. What is not mounted does not exist there: the
home is empty but for toolchains and granted paths, /run holds no socket, the network has a loopback
of its own. One layer of namespaces only: some distributions refuse a second one.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from hermes_desktop.agent.sandbox import toolchains
from hermes_desktop.agent.sandbox.grants import Grant
from hermes_desktop.agent.sandbox.own_places import Homes, is_within
from hermes_desktop.agent.sandbox.private_folders import PrivateFolders

_NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"),
    "--unshare-cgroup-try",
)
_BOUNDS = ("--die-with-parent", "--new-session", "--cap-drop", "ALL")
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def find_bubblewrap() -> Path | None:
    """Return the program; None where there is none that only the administrator can replace."""
    found = shutil.which("bwrap")
    if found is None:
        return None
    path = Path(found).resolve()
    status = path.stat()
    trusted = status.st_uid in {0, 65534} and not status.st_mode & _OTHERS_MAY_WRITE
    return path if trusted else None


def bubblewrap_command(  # noqa: PLR0913 - what is seen inside
    program: Path,
    grant: Grant,
    homes: Homes,
    own: PrivateFolders,
    *,
    cwd: Path,
    seccomp: int,
    extra: Iterable[Path] = (),
) -> list[str]:
    """Return bubblewrap's arguments, to which ``--`` and the command are added.

    The environment is no part of them: arguments can be read by every user of the computer.
    bubblewrap gets the cleaned environment itself and passes it on.

    Args:
        program: bubblewrap.
        grant: What the command may reach.
        homes: The folders to protect.
        own: The command's private folders.
        cwd: The working directory of the command.
        seccomp: The descriptor from which bubblewrap reads the filter.
        extra: Further files that are readable inside.
    """
    words = [str(program), *_NAMESPACES, *_BOUNDS, *_system(), "--bind", str(own.temporary), "/tmp"]  # noqa: S108 - private, inside
    words += _home(grant, homes)
    words += _granted(grant)
    words += _hidden(grant, homes)
    words += ["--bind", str(own.caches), str(own.caches), "--ro-bind", str(own.git), str(own.git)]
    for each in extra:
        words += ["--ro-bind", str(each), str(each)]
    words += ["--remount-ro", "/", "--chdir", str(cwd), "--seccomp", str(seccomp)]
    return words


def _system() -> list[str]:
    words: list[str] = []
    for each in toolchains.system_folders():
        words += ["--ro-bind", str(each), str(each)]
    for target, name in toolchains.system_links():
        words += ["--symlink", target, name]
    for each in toolchains.system_secrets():
        words += _hide(each)
    return [*words, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/run", "--tmpfs", "/var/tmp"]  # noqa: S108 - private, inside


def _home(grant: Grant, homes: Homes) -> list[str]:
    words: list[str] = []
    for home in _names(homes.user):
        words += ["--tmpfs", str(home)]
    for each in toolchains.toolchains(homes.user, grant.folder):
        for name in _names(each):
            words += ["--ro-bind", str(each), str(name)]
    return words


def _granted(grant: Grant) -> list[str]:
    """Mount what is granted, outer folders first, so that the inner ones stay visible."""
    wanted = dict.fromkeys(grant.read, "--ro-bind")
    wanted |= dict.fromkeys((*grant.write, grant.folder), "--bind")
    words: list[str] = []
    for path, how in sorted(wanted.items(), key=lambda each: len(each[0].resolve().parts)):
        if path.exists():
            for name in _names(path):
                words += [how, str(path.resolve()), str(name)]
    return words


def _hidden(grant: Grant, homes: Homes) -> list[str]:
    """Hide what no grant covers, where it lies in a granted folder."""
    granted = [each.resolve() for each in (grant.folder, *grant.read, *grant.write)]
    words: list[str] = []
    for name in homes.never_granted_names():
        if any(is_within(name, each) for each in granted) and Path(name).exists():
            words += _hide(Path(name))
    return words


def _hide(path: Path) -> list[str]:
    if path.is_dir():
        return ["--tmpfs", str(path)]
    return ["--ro-bind", os.devnull, str(path)]


def _names(path: Path) -> Sequence[Path]:
    """Return a path as it is named and as it is without links: programs use both."""
    return tuple(dict.fromkeys((path.resolve(), path)))
