"""Level B: the rules of Landlock for one command, cut to what the kernel knows.

Landlock holds contents and names of files, not modes, times and existence; the seccomp filter
beside it holds sockets. A right that the kernel does not know is left out of every rule; what it
would have held is denied by the filter where that is possible.
"""

import ctypes
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hermes_desktop.agent.sandbox import toolchains
from hermes_desktop.agent.sandbox.grants import Grant
from hermes_desktop.agent.sandbox.own_places import Homes, is_within
from hermes_desktop.agent.sandbox.private_folders import PrivateFolders
from hermes_desktop.agent.sandbox.seccomp import filter_bytes, partly_held

_CREATE_RULESET, _ASK_VERSION = 444, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_BEFORE_REFER, _REFER, _TRUNCATE, _IOCTL_DEVICE, _RESOLVE_UNIX = 13, 13, 14, 15, 16
_CONNECT_AND_BIND, _SCOPES = 0b11, 0b11
NEWEST = 9
_SINCE_REFER, _SINCE_TRUNCATE, _SINCE_NET, _SINCE_IOCTL, _SINCE_SCOPES, _SINCE_UNIX = (
    2,
    3,
    4,
    5,
    6,
    9,
)
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | 1 << _TRUNCATE | 1 << _IOCTL_DEVICE
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_READABLE = ("/proc", *toolchains.DATA)


def landlock_version() -> int:
    """Return the kernel's ABI of Landlock; 0 where it is missing, switched off or refused."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        found = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_ASK_VERSION))
    except (OSError, AttributeError):
        return 0
    return max(0, int(found))


def handled_files(abi: int) -> int:
    """Return the rights on files that an ABI knows."""
    rights = (1 << _BEFORE_REFER) - 1
    for bit, since in (
        (_REFER, _SINCE_REFER),
        (_TRUNCATE, _SINCE_TRUNCATE),
        (_IOCTL_DEVICE, _SINCE_IOCTL),
        (_RESOLVE_UNIX, _SINCE_UNIX),
    ):
        if abi >= since:
            rights |= 1 << bit
    return rights


def landlock_order(
    argv: Sequence[str],
    grant: Grant,
    homes: Homes,
    own: PrivateFolders,
    *,
    abi: int,
    extra: Iterable[Path] = (),
) -> bytes:
    """Return the order for ``landlock_start.py``.

    Args:
        argv: The command.
        grant: What it may reach.
        homes: The folders to protect.
        own: Its private folders.
        abi: The kernel's ABI, see :func:`landlock_version`.
        extra: Further files that are readable.
    """
    known = min(abi, NEWEST)
    handled = handled_files(known)
    everything = handled & ~(1 << _IOCTL_DEVICE)
    reading = _EXECUTE | _READ_FILE | _READ_FOLDER
    hidden = [each for each in homes.never_granted() if each.exists()]
    rules: list[tuple[str, int]] = [
        *_rules(_readable(grant, homes, own, extra, hidden), reading & handled),
        *_rules(_writable(grant, own, hidden), everything),
        *_rules(map(Path, _DEVICES), (_READ_FILE | _WRITE_FILE | 1 << _TRUNCATE) & handled),
    ]
    online = grant.is_online
    net = _CONNECT_AND_BIND if known >= _SINCE_NET and not online else 0
    scopes = _SCOPES if known >= _SINCE_SCOPES else 0
    order: dict[str, Any] = {
        "argv": list(argv),
        "files": handled,
        "net": net,
        "scopes": scopes,
        "size": 24 if known >= _SINCE_SCOPES else 16 if known >= _SINCE_NET else 8,
        "rules": rules,
        "seccomp": filter_bytes(partly_held(known, online=online)).hex(),
    }
    return json.dumps(order).encode("utf-8", "surrogateescape")


def _readable(
    grant: Grant,
    homes: Homes,
    own: PrivateFolders,
    extra: Iterable[Path],
    hidden: Sequence[Path],
) -> Iterator[Path]:
    secret = toolchains.system_secrets()
    for each in toolchains.system_folders():
        yield from _around(each, secret)
    yield from map(Path, _READABLE)
    yield from toolchains.toolchains(homes.user, grant.folder)
    for granted in grant.read:
        yield from _around(granted.resolve(), hidden)
    yield own.git
    yield from extra


def _writable(grant: Grant, own: PrivateFolders, hidden: Sequence[Path]) -> Iterator[Path]:
    for each in (grant.folder, *grant.write):
        yield from _around(each.resolve(), hidden)
    yield own.caches
    yield own.temporary


def _around(folder: Path, hidden: Iterable[Path]) -> Iterator[Path]:
    """Return what covers a folder without some paths in it: rules only ever add rights."""
    inside = [each for each in hidden if is_within(each, folder)]
    if not inside:
        yield folder
    elif folder not in inside:
        with os.scandir(folder) as entries:
            children = [Path(each.path) for each in entries if not each.is_symlink()]
        for child in children:
            yield from _around(child, inside)


def _rules(paths: Iterable[Path], rights: int) -> Iterator[tuple[str, int]]:
    for each in paths:
        if each.is_dir():
            yield str(each), rights
        elif each.exists():
            yield str(each), rights & _ON_FILES
