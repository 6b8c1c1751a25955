"""Sensitive places on a disk: the system, files that run automatically, secrets."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from hermes_desktop.core.files import secret_places

_SYSTEM = ("etc", "boot", "usr", "bin", "sbin", "lib", "lib32", "lib64", "opt", "root", "srv")
_LIVE = ("dev", "proc", "sys", "run", "var")
_TOPS = frozenset({*_SYSTEM, *_LIVE, "home", "mnt", "media", "Users", "System", "Library"})
_HARMLESS_DEVICES = frozenset(
    {"null", "zero", "stdout", "stderr", "stdin", "tty", "full", "random"}
)
_DISKS = re.compile(r"^/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|loop|md|dm-|mapper/|rdisk)")
_ROOT_OF_A_PROCESS = re.compile(r"^/proc/([^/]+/task/)?[^/]+/root(?=/|$)")
_OWN_HIDDEN = frozenset({".cache", ".venv", ".git", ".gitignore", ".pytest_cache", ".mypy_cache"})


@dataclass(frozen=True, slots=True)
class Places:
    """Where a command or a file tool works.

    Attributes:
        cwd: The working folder.
        user_home: The user's home folder.
        home: The Hermes home.
        root: The original working folder, after a command went to another one; None: ``cwd``.
        known: False: ``cwd`` is a placeholder for a folder that is only known at run time.
    """

    cwd: Path
    user_home: Path
    home: Path
    root: Path | None = None
    known: bool = True

    def after_cd(self, text: str | None) -> "Places":
        """Return the places after ``cd``; None for an unknown folder: then the worst is assumed."""
        path = "/etc" if text is None else self.absolute(text)
        known = text is not None and (self.known or text.startswith(("/", "~")))
        return replace(self, cwd=Path(path), root=self.root or self.cwd, known=known)

    def knows(self, text: str) -> bool:
        """Return whether the path that a word names is known."""
        return self.known or text.startswith(("/", "~"))

    def absolute(self, text: str) -> str:
        """Return the path that a word names, with ``~`` and ``..`` resolved textually."""
        if text == "~" or text.startswith("~/"):
            text = str(self.user_home) + text[1:]
        elif text.startswith("~"):
            text = "/home/" + text[1:]
        return os.path.normpath(os.path.join(self.cwd, text))  # noqa: PTH118 - words, not files


def is_disk(path: str) -> bool:
    """Return whether a path names a disk device."""
    return bool(_DISKS.match(path))


def is_system(path: str) -> bool:
    """Return whether a path belongs to the system, or to the kernel."""
    parts = PurePosixPath(path).parts
    if len(parts) < 2:  # noqa: PLR2004 - the root
        return path.startswith("/")
    if parts[1] == "dev":
        return parts[-1] not in _HARMLESS_DEVICES and parts[2:3] not in (("fd",), ("shm",))
    if parts[1] == "var":
        return parts[2:3] != ("tmp",)
    return parts[1] in {*_SYSTEM, "proc", "sys", "run", "System", "Library"}


def is_vital(path: str, places: Places) -> bool:
    """Return whether losing this folder, or all its content, would ruin the system or the home."""
    path = _ROOT_OF_A_PROCESS.sub("", path)
    path = path.rstrip("*").rstrip("/") or "/"
    parts = PurePosixPath(path).parts
    home = str(places.user_home)
    if path in {"/", home} or home.startswith(path + "/"):
        return True
    if path in {str(places.home), str(places.home.resolve())}:
        return True
    top_only = len(parts) == 2 and parts[1] in _TOPS  # noqa: PLR2004 - "/" and a name
    user_folder = len(parts) == 3 and parts[1] in {"home", "Users"}  # noqa: PLR2004
    deep = len(parts) == 3 and parts[1] in {"usr", "var", "boot", "etc", "lib"}  # noqa: PLR2004
    kept = deep and parts[2] not in {"tmp", "local"}
    return top_only or user_folder or kept


def needs_care_to_write(path: str, places: Places) -> str:
    """Return why writing there needs approval, "" when it does not."""
    if _is_within(path, places.home):
        return "it belongs to Hermes itself"
    if is_system(path):
        return "it belongs to the system"
    if secret_places.starts_by_itself(path, str(places.user_home)):
        return "programs there run, or are trusted, without asking"
    if secret_places.keeps_secrets(path, str(places.user_home)):
        return "it contains secrets"
    if _sets_programs_up(path, places):
        return "it configures programs"
    return ""


def _sets_programs_up(path: str, places: Places) -> bool:
    """Return whether it is a hidden file of the home, or a program there: they configure programs.

    Except where the working folder itself is in such a folder.
    """
    home = str(places.user_home)
    if not path.startswith(home + "/"):
        return False
    first = PurePosixPath(path).parts[len(PurePosixPath(home).parts)]
    if first in _OWN_HIDDEN or not (first.startswith(".") or first == "bin"):
        return False
    return not f"{places.root or places.cwd}/".startswith(f"{home}/{first}/")


def holds_secrets(path: str, places: Places) -> bool:
    """Return whether reading there may reveal secrets."""
    if secret_places.keeps_secrets(path, str(places.user_home)):
        return True
    name = PurePosixPath(path).name
    return _is_within(path, places.home) and name in secret_places.OWN_NAMES


def contains_home(path: str, places: Places) -> bool:
    """Return whether a folder is the Hermes home or the user's home, or contains one of them."""
    if path == "/":
        return True
    folders = {str(places.home), os.path.realpath(places.home), str(places.user_home)}
    return any(each == path or each.startswith(path + "/") for each in folders)


def is_forbidden(path: str, places: Places) -> bool:
    """Return whether file tools never touch it, even with approval.

    That is the case for the keys and the history of Hermes, in the homes of all profiles, and for
    everything that this program keeps: secrets, approvals, what turns changed.
    """
    home = places.home
    root = home.parent.parent if home.parent.name == "profiles" else home
    if not _is_within(path, home) and not _is_within(path, root):
        return False
    name = PurePosixPath(path).name
    if name.startswith(secret_places.NEVER_OPENED):
        return True
    homes = (home, root, *(root / "profiles").glob("*"))
    return any(_is_within(path, each / "desktop") for each in homes)


def _is_within(path: str, folder: Path) -> bool:
    for each in {str(folder), os.path.realpath(folder)}:
        if path == each or path.startswith(each.rstrip("/") + "/"):
            return True
    return False
