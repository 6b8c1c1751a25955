"""What a failed command lacked: paths in its output that exist outside, and refused hosts.

At level A a path that is not granted does not exist, so that "no such file" may mean "not granted".
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from hermes_desktop.agent.sandbox.grants import Grant, Missing
from hermes_desktop.agent.sandbox.own_places import Homes, is_grantable, is_within
from hermes_desktop.agent.sandbox.toolchains import system_folders, toolchains

_MOST = 5
_MOST_LINES = 400
_FAILED = re.compile(
    r"no such file|permission denied|read-only file system|cannot open|not permitted|not found"
    r"|ENOENT|EACCES|EROFS|EPERM",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:^|[\s'\"`:=(‘])((?:~?/)[^\s'\"`:;,)’]+)")
_HOST = re.compile(
    r"(?:could not resolve host(?:name)?:? |failed to resolve |unable to resolve host address "
    r"|getaddrinfo (?:ENOTFOUND|EAI_AGAIN) |lookup address of |error: lookup "
    r"|dial tcp: lookup )['\"‘“]?([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)",
    re.IGNORECASE,
)


def what_was_missing(
    output: str, grant: Grant, homes: Homes, denied: Iterable[str] = ()
) -> tuple[Missing, ...]:
    """Return what a failed command probably lacked, at most a few things.

    Places that are never granted are left out: nobody could grant them, and whether they exist
    is nobody's business.

    Args:
        output: What the command printed.
        grant: What it had.
        homes: The homes.
        denied: The hosts that were refused to it.
    """
    lines = output.splitlines()[-_MOST_LINES:]
    hosts = [*denied, *(each for line in lines for each in _HOST.findall(line))]
    found = [Missing("host", each.lower()) for each in hosts]
    found += [Missing("path", each) for each in _paths(lines, grant, homes)]
    return tuple(dict.fromkeys(found))[:_MOST]


def _paths(lines: Iterable[str], grant: Grant, homes: Homes) -> Iterator[str]:
    had = [each.resolve() for each in (grant.folder, *grant.read, *grant.write)]
    had += [*system_folders(), *toolchains(homes.user, grant.folder), homes.state]
    for line in lines:
        if not _FAILED.search(line):
            continue
        for text in _PATH.findall(line):
            path = str(homes.user) + text[1:] if text.startswith("~") else text
            real = Path(os.path.realpath(path))
            if any(is_within(real, each) for each in had) or not is_grantable(real, homes):
                continue
            # What was to be made is not there yet, and its folder is what was missing.
            wanted = real if os.path.lexists(real) else real.parent
            if os.path.lexists(wanted) and is_grantable(wanted, homes):
                yield str(wanted)
