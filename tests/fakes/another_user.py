"""File permissions that take effect even if the tests run as root."""

import codecs
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

NOBODY = 65534


@contextlib.contextmanager
def folder_for_others() -> Iterator[Path]:
    """Yield a folder of the unprivileged user, at a place that every user can access.

    The folders of tests are not accessible to other users.
    """
    folder = Path(tempfile.mkdtemp(prefix="hermes-rights-", dir="/tmp"))
    try:
        give_away(folder)
        yield folder
    finally:
        shutil.rmtree(folder)


def give_away(path: Path) -> None:
    """Change the owner of a file to the unprivileged user, if the process may."""
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)


@contextlib.contextmanager
def not_root() -> Iterator[None]:
    """Run the whole process, with all of its threads, as the unprivileged user."""
    user, group = os.geteuid(), os.getegid()
    if user != 0:
        yield
        return
    codecs.lookup("utf-8-sig")  # an interpreter below /root cannot import it afterwards
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)
        os.setegid(group)
