"""Rights that count: as somebody who is not root, whoever runs the tests."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

NOBODY = 65534


@contextlib.contextmanager
def folder_for_others() -> Iterator[Path]:
    """A folder of that user's, where everybody gets to: those of tests are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="hermes-rights-", dir="/tmp"))
    try:
        give_away(folder)
        yield folder
    finally:
        shutil.rmtree(folder)


def give_away(path: Path) -> None:
    """Let a file belong to that user, where we may give anything away."""
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)


@contextlib.contextmanager
def not_root() -> Iterator[None]:
    """The whole process, all of its threads, has the rights of that user meanwhile."""
    user, group = os.geteuid(), os.getegid()
    if user != 0:
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)
        os.setegid(group)
