"""What the assistant may ask for: canonical names of paths and hosts; what is refused unasked."""

import ipaddress
import os
import re
import stat
from pathlib import Path
from urllib.parse import urlsplit

from hermes_desktop.agent.sandbox.grants import Access, Grant
from hermes_desktop.agent.sandbox.own_places import Homes, is_within, why_refused
from hermes_desktop.agent.sandbox.proxy import is_listed
from hermes_desktop.agent.sandbox.toolchains import system_folders, toolchains
from hermes_desktop.core.public_addresses import is_public

_LONGEST_HOST = 253
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_PRIVATE = ("localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp")
_PRIVATE_BELOW = ("home.arpa",)


class AccessRefusedError(ValueError):
    """Something that is never granted, so that the user is not asked. The message says why."""


def named_path(text: str, folder: Path, homes: Homes) -> Path:
    """Return the absolute path that a text names, links not followed."""
    words = text.strip()
    if words == "~" or words.startswith("~/"):
        words = str(homes.user) + words[1:]
    return folder / words


def path_access(text: str, grant: Grant, homes: Homes, *, write: bool) -> Access:
    """Return the access to a path, links followed.

    Args:
        text: The path; a relative one begins at the working folder.
        grant: What commands have already.
        homes: The homes.
        write: It is to be changed, too.

    Raises:
        AccessRefusedError: It is never granted, or there is no such file or folder.
    """
    if not text.strip().isprintable() or not text.strip():
        raise AccessRefusedError("That is no path.")
    real = Path(os.path.realpath(named_path(text, grant.folder, homes)))
    if not str(real).isprintable():
        raise AccessRefusedError("Its name holds characters that cannot be shown.")
    why = why_refused(real, homes)
    if not why and write and any(is_within(real, each) for each in system_folders()):
        why = "It belongs to the system."
    if why:
        raise AccessRefusedError(f"{real} is never granted. {why}")
    try:
        mode = real.stat().st_mode
    except OSError:
        raise AccessRefusedError(
            f"There is no {real}. To make something new, name the folder that is to hold it."
        ) from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise AccessRefusedError(f"{real} is neither a file nor a folder.")
    return Access("path", str(real), write)


def host_access(text: str) -> Access:
    """Return the access to a host.

    Names are not resolved here: that alone would tell the name to the servers of its domain. The
    proxy refuses a name that leads to a private address.

    Args:
        text: The name, or an address of a web page.

    Raises:
        AccessRefusedError: It is never granted.
    """
    name = text.strip().lower()
    try:
        name = (urlsplit(name if "//" in name else f"//{name}").hostname or "").rstrip(".")
        name = name if ":" in name else name.encode("idna").decode("ascii")
    except ValueError:  # UnicodeError is one
        name = ""
    if "*" in name:
        raise AccessRefusedError("Name one host, without *.")
    if _is_address(name):
        if not is_public(name):
            raise AccessRefusedError(f"{name} is a private address, which is never granted.")
        return Access("host", name)
    labels = name.split(".")
    if len(name) > _LONGEST_HOST or not all(_LABEL.fullmatch(each) for each in labels):
        raise AccessRefusedError("That is no name of a host.")
    is_private = len(labels) == 1 or labels[-1] in _PRIVATE
    if is_private or labels[-1].isdecimal() or name.endswith(_PRIVATE_BELOW):
        raise AccessRefusedError(f"{name} belongs to a private network, which is never granted.")
    return Access("host", name)


def is_granted(access: Access, grant: Grant, homes: Homes) -> bool:
    """Return whether commands have an access already."""
    if access.kind == "host":
        return grant.network or is_listed(access.value, grant.hosts)
    had = [grant.folder, *grant.write]
    if not access.write:
        had += [*grant.read, *system_folders(), *toolchains(homes.user, grant.folder)]
    return any(is_within(Path(access.value), each.resolve()) for each in had)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True
