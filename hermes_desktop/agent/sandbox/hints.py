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
_MOST_SAID = 40
_SAID_WITHOUT = {
    "the rights of an administrator": (
        r"no new privileges|effective uid is not 0|must be setuid root|must be suid to work",
        r"must be owned by uid 0 and have the setuid bit",
    ),
    "a service for containers": (
        r"cannot connect to the docker daemon|failed to connect to the docker api",
        r"(?:docker|podman|containerd)\.sock",
    ),
    "the screen": (
        r"(?:cannot|can't|could not|unable to) open (?:x )?display|no display name",
        r"could ?n[o']t connect to display|missing x server or \$display",
        r"failed to (?:open|connect to) (?:the )?wayland",
    ),
    "the services of your desktop or system": (
        r"failed to connect to (?:the )?(?:session |system |user scope )?bus",
        r"cannot autolaunch d-bus|could not connect to (?:the )?(?:d-bus|session bus)",
        r"has not been booted with systemd",
    ),
    "a sandbox of its own": (
        r"unshare failed: operation not permitted|no usable sandbox!",
        r"bwrap: (?:creating|no permissions)",
    ),
    "your keys or saved passwords": (
        r"ssh has no key here|could not open a connection to your authentication agent",
        r"could not read (?:username|password) for",
    ),
}
_WITHOUT = {
    lacks: re.compile("|".join(said), re.IGNORECASE) for lacks, said in _SAID_WITHOUT.items()
}
"""Patterns in the output of programs that lack what no grant can give, by what they lack."""
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


def ungrantable_need(output: str) -> str:
    """Return what a failed command lacked and no grant can give, as a noun; "" if unknown.

    Args:
        output: What the command printed; untrusted, so the answer is only a guess.
    """
    last = "\n".join(output.splitlines()[-_MOST_SAID:])
    return next((lacks for lacks, said in _WITHOUT.items() if said.search(last)), "")


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
