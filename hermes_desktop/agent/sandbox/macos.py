"""Level B on macOS: the profile of ``sandbox-exec``. Never tried on a Mac; the probe decides.

The last rule that fits wins. Everything is denied at first; what is hidden is denied again at the
end, where it lies in a granted folder.
"""

import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from hermes_desktop.agent.sandbox.grants import Grant
from hermes_desktop.agent.sandbox.own_places import Homes
from hermes_desktop.agent.sandbox.private_folders import PrivateFolders
from hermes_desktop.agent.sandbox.toolchains import toolchains

_PROGRAM = "/usr/bin/sandbox-exec"
_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/System", "/Library", "/opt", "/private/etc", "/Applications"),
    *("/private/var/db/timezone", "/private/var/db/dyld", "/private/var/select"),
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_BEGINNING = """\
(version 1)
(deny default)
(allow process-fork process-exec)
(allow signal process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (literal "/"))"""
_ONLINE = """\
(allow network-outbound)
(allow system-socket)
(allow mach-lookup (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.trustd.agent"))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))"""


def is_macos() -> bool:
    """Return whether this computer runs macOS."""
    return platform.system() == "Darwin"


def macos_command(
    argv: Sequence[str], grant: Grant, homes: Homes, own: PrivateFolders
) -> tuple[str, ...]:
    """Return the command that runs another one by a profile."""
    return (_PROGRAM, "-p", macos_profile(grant, homes, own), *argv)


def macos_profile(grant: Grant, homes: Homes, own: PrivateFolders) -> str:
    """Return the profile for one command. The network is all or nothing.

    Args:
        grant: What the command may reach.
        homes: The folders to protect.
        own: Its private folders.
    """
    readable = [*map(Path, _SYSTEM), *toolchains(homes.user, grant.folder), *sorted(grant.read)]
    writable = [grant.folder, *sorted(grant.write), own.caches, own.temporary]
    rules = [
        _BEGINNING,
        _rule("allow file-read*", [*readable, *writable, own.git, *map(Path, _DEVICES)]),
        _rule("allow file-write*", [*writable, *map(Path, _DEVICES)]),
        _rule("deny file-read* file-write*", homes.never_granted()),
        # Our own folders lie below a hidden one.
        _rule("allow file-read*", [own.git, own.caches]),
        _rule("allow file-write*", [own.caches]),
    ]
    if grant.is_online:
        rules.append(_ONLINE)
    return "\n".join(rules)


def _rule(what: str, paths: Iterable[Path]) -> str:
    named = dict.fromkeys(str(name) for each in paths for name in (each, each.resolve()))
    return "\n  ".join([f"({what}", *(f"(subpath {_quoted(each)})" for each in named)]) + ")"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
