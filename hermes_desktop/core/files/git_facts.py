"""The Git repository of a folder: its top folder and its branch, read from files.

No program is started: the configuration of an untrusted repository could make Git run another one.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

_MOST_READ = 4_096
_LONGEST_BRANCH = 255
_BRANCH = "ref: refs/heads/"
_ELSEWHERE = "gitdir: "


@dataclass(frozen=True, slots=True)
class GitRepository:
    """Properties of a repository.

    Attributes:
        root: Its top folder; in a linked worktree, the top folder of that worktree.
        branch: The branch that is checked out; None for a detached commit.
    """

    root: Path
    branch: str | None


def git_facts(folder: Path) -> GitRepository | None:
    """Find the repository of a folder; None outside of any. Blocking: reads small files."""
    try:
        for each in (folder, *folder.parents):
            place = each / ".git"
            if place.exists():
                return GitRepository(each, _branch(place))
    except OSError as error:
        log.info("Whether %s is in a Git repository is not known: %s", folder, error)
    return None


def _branch(place: Path) -> str | None:
    """Return the branch from the file ``HEAD``; ``place`` is a folder, or a file that names one."""
    if place.is_file():
        named = _first_line(place)
        if not named.startswith(_ELSEWHERE):
            return None
        place = place.parent / named.removeprefix(_ELSEWHERE)
    head = _first_line(place / "HEAD")
    branch = head.removeprefix(_BRANCH)
    usable = head.startswith(_BRANCH) and branch.isprintable() and len(branch) <= _LONGEST_BRANCH
    return branch if usable and branch else None


def _first_line(file: Path) -> str:
    if not file.is_file():
        return ""
    with file.open("rb") as stream:
        text = stream.read(_MOST_READ).decode("utf-8", "replace")
    return text.partition("\n")[0].strip()
