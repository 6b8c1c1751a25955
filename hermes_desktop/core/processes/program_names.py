"""Identification of the program that a process runs, by its command line."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

_PROC = Path("/proc")
_OWN_NAMES = frozenset({"hermes-desktop", "hermes_desktop"})
_OWN_FILES = (
    "hermes_desktop/__main__.py",
    "hermes_desktop/gateway/identity/identity.py",
    "hermes_desktop/gateway/identity.py",  # until 0.1; may still run while a newer one is installed
)
_WITH_VALUE = frozenset({"-X", "-W", "--check-hash-based-pycs"})
UNKNOWN = ""


def arguments_of(pid: int) -> list[str]:
    """Return the command line of a process on Linux; [] for a kernel thread.

    Raises:
        OSError: It cannot be read.
    """
    raw = (_PROC / str(pid) / "cmdline").read_bytes().rstrip(b"\0")
    return raw.decode("utf-8", "replace").split("\0") if raw else []


def program_in(arguments: Sequence[str]) -> str:
    """Return the program that a command line runs: for Python, the module or script.

    :data:`UNKNOWN` for Python with code from another source, and for an empty command line.
    """
    words = [each.replace("\\", "/") for each in arguments]
    if not words or not _is_python(words[0]):
        return words[0] if words else UNKNOWN
    rest = iter(words[1:])
    for word in rest:
        if word.startswith("-m"):
            return word[2:] or next(rest, UNKNOWN)
        if word in ("-c", "-"):
            break
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return UNKNOWN


def _is_python(program: str) -> bool:
    return PurePosixPath(program).name.lower().startswith(("python", "pypy"))


def is_own(arguments: Sequence[str]) -> bool:
    """Return whether a command line runs this program, its identity process included."""
    program = program_in(arguments)
    name = PurePosixPath(program).name.removesuffix(".exe")
    return name in _OWN_NAMES or program.endswith(_OWN_FILES)


def may_be_hermes(arguments: Sequence[str]) -> bool:
    """Return whether a command line may run ``hermes``: its name matches, or it is unknown."""
    if not arguments:
        return False
    program = program_in(arguments)
    return program == UNKNOWN or "hermes" in PurePosixPath(program).name.lower()
