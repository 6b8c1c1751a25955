"""Protection of the files of a Hermes home against being replaced by an export or a picture."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.core.paths import HermesPaths

EXPORTS = "session-exports"
"""The folder of a home in which exports may be written and replaced."""

_SQLITE_HEADER = b"SQLite format 3\0"
_EXPORT_SUFFIXES = frozenset({".jsonl", ".md", ".png"})
_REPLACEABLE_SUFFIX = ".jsonl"
_DOCUMENTS = frozenset({"agents.md", "hermes.md", "memory.md", "soul.md", "user.md"})
_FOLDERS = frozenset(
    {"cache", "cron", "desktop", "hooks", "kanban", "logs", "memories", "pairing", "pending"}
    | {"platforms", "plugins", "profiles", "runtime", "sessions", "skills"}
)
_STORE = "state.db"
_SETTINGS = "config.yaml"

_Identity = tuple[int, int]


def refuse_home_file(path: Path, paths: HermesPaths) -> None:
    """Check that a file to be written is none of the files a Hermes home consists of.

    In a home, only ordinary exports may be written: files in ``session-exports``; elsewhere,
    except in the folders that Hermes uses, JSON Lines files and new documents and pictures. A
    file is recognized under each of its names: through links, and in any spelling that the file
    system accepts.

    Args:
        path: The file; it need not exist.
        paths: The home in use. The homes of the other profiles are protected, too, and so is
            every folder that looks like a home.

    Raises:
        RefusedError: The file belongs to a home, or it is a database.
    """
    target = Path(os.path.realpath(path))
    homes = tuple(_homes(paths))
    identities = {found for home in homes if (found := _identity(home)) is not None}
    for folder in target.parents:
        if _identity(folder) in identities or _looks_like_home(folder):
            if not _is_export(target, target.relative_to(folder).parts):
                raise _refusal(path, folder)
            return
    if _is_database(target):
        raise RefusedError(
            "An export cannot replace a database.", str(path), "Choose another file."
        )
    if _has_other_names(target):
        found = _identity(target)
        for home in homes:
            if any(
                _identity(each) == found and not _is_export(each, each.relative_to(home).parts)
                for each in _files(home)
            ):
                raise _refusal(path, home)


def _homes(paths: HermesPaths) -> Iterator[Path]:
    yield paths.home
    yield paths.root
    with contextlib.suppress(OSError):
        yield from (paths.root / "profiles").iterdir()


def _looks_like_home(folder: Path) -> bool:
    return (folder / _STORE).is_file() and (folder / _SETTINGS).is_file()


def _is_export(target: Path, parts: tuple[str, ...]) -> bool:
    """Whether a file of a home, given by its path in it, may be written by an export."""
    name, suffix = parts[-1].casefold(), target.suffix.casefold()
    if _is_database(target):
        return False
    if len(parts) > 1 and parts[0] == EXPORTS:
        return True
    if len(parts) > 1 and parts[0].casefold() in _FOLDERS:
        return False
    if name in _DOCUMENTS or suffix not in _EXPORT_SUFFIXES:
        return False
    return suffix == _REPLACEABLE_SUFFIX or not target.exists()


def _is_database(target: Path) -> bool:
    try:
        if not stat.S_ISREG(target.stat().st_mode):
            return False  # opening a pipe would wait for its other end
        with target.open("rb") as stream:
            return stream.read(len(_SQLITE_HEADER)) == _SQLITE_HEADER
    except OSError:
        return False


def _files(home: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(home):
        yield from (Path(folder, name) for name in names)


def _has_other_names(target: Path) -> bool:
    try:
        return target.stat().st_nlink > 1
    except OSError:
        return False


def _identity(path: Path) -> _Identity | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _refusal(path: Path, home: Path) -> RefusedError:
    return RefusedError(
        "This file belongs to Hermes and cannot be replaced by an export.",
        f"{path} is part of the Hermes home {home}.",
        f"Choose a file elsewhere, or one in {home / EXPORTS}.",
    )
