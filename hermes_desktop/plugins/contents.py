"""The content of a plugin folder, read once, so that the same is shown, agreed to and run."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MOST_FILES = 2000
MOST_BYTES = 64_000_000
_PASSED_OVER = frozenset({"__pycache__", ".git"})


class UnreadableError(Exception):
    """A folder cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Contents:
    """A snapshot of a folder.

    Attributes:
        files: Digests by path inside the folder, with slashes.
        sizes: Sizes in bytes, by the same paths.
        sources: The content of the Python files among them.
        digest: The digest of all names and contents.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, bytes] = field(default_factory=dict)
    digest: str = ""


def read_contents(folder: Path) -> Contents:
    """Read every file of a folder. Blocking.

    Files that Python and git keep there are skipped. Links to folders are not followed.

    Raises:
        UnreadableError: It is too big, or something in it cannot be read.
    """
    files: dict[str, str] = {}
    sizes: dict[str, int] = {}
    sources: dict[str, bytes] = {}
    for path in _files_of(folder):
        name = path.relative_to(folder).as_posix()
        data = _read(path, MOST_BYTES - sum(sizes.values()))
        files[name] = hashlib.sha256(data).hexdigest()
        sizes[name] = len(data)
        if name.endswith(".py"):
            sources[name] = data
        if len(files) > MOST_FILES:
            raise UnreadableError(f"It has more than {MOST_FILES:,} files.")
    return Contents(files, sizes, sources, digest_of(files))


def digest_of(files: Mapping[str, str]) -> str:
    """Combine the digests of many files into one."""
    whole = hashlib.sha256()
    for name, digest in sorted(files.items()):
        whole.update(f"{name}\0{digest}\0".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _files_of(folder: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise UnreadableError(f"{error.filename}: {error.strerror}.") from error

    for where, folders, names in os.walk(folder, onerror=fail):
        links = [name for name in folders if Path(where, name).is_symlink()]
        folders[:] = sorted(set(folders) - _PASSED_OVER - set(links))
        for name in sorted([*names, *links]):
            if not name.endswith(".pyc"):
                yield Path(where, name)


def _read(path: Path, most: int) -> bytes:
    """Return the content of a file; for a link, also its target."""
    try:
        lead = f"-> {path.readlink()}\n".encode() if path.is_symlink() else b""
        if not path.is_file():  # a pipe could block forever
            return lead or b"(no plain file)"
        if path.stat().st_size > most:
            raise UnreadableError(f"It is larger than {MOST_BYTES // 1000000} MB.")
        return lead + path.read_bytes() if lead and path.suffix != ".py" else path.read_bytes()
    except OSError as error:
        raise UnreadableError(f"{path}: {error.strerror or type(error).__name__}.") from error
