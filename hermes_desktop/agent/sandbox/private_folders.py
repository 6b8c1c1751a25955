"""The private folders of sandboxed commands: caches for each work folder, a temporary folder."""

import atexit
import contextlib
import hashlib
import shutil
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.agent.sandbox.own_places import Homes
from hermes_desktop.agent.sandbox.toolchains import settings_of_git
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic

_MOST_SETTINGS = 256 * 1024
_lock = threading.Lock()
_temporary: dict[Path, Path] = {}


@dataclass(frozen=True, slots=True)
class PrivateFolders:
    """What commands in one work folder have for themselves.

    Attributes:
        caches: Writable; kept between programs.
        temporary: Writable; /tmp inside; removed at the end of this program.
        git: The user's settings of git without credentials; readable.
    """

    caches: Path
    temporary: Path
    git: Path


def private_folders(folder: Path, homes: Homes) -> PrivateFolders:
    """Make the private folders of a work folder. Blocking; for any thread.

    Raises:
        OSError: They cannot be made.
    """
    name = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    place = homes.state / name[:16]
    caches, git = place / "caches", place / "gitconfig"
    with _lock:
        for each in (homes.state, place, caches, caches / "gnupg"):
            make_private_folder(each)
        settings = _settings_of_git(homes.user)
        if not git.exists() or git.read_text("utf-8") != settings:
            write_text_atomic(git, settings)
        if place not in _temporary or not _temporary[place].is_dir():
            _temporary[place] = Path(tempfile.mkdtemp(prefix="hermes-sandbox-"))
            atexit.register(shutil.rmtree, _temporary[place], ignore_errors=True)
        return PrivateFolders(caches, _temporary[place], git)


def _settings_of_git(home: Path) -> str:
    """Return the user's settings without credentials; both places count, as git has it."""
    texts = []
    for each in (home / ".config/git/config", home / ".gitconfig"):
        with contextlib.suppress(OSError), each.open(encoding="utf-8", errors="replace") as file:
            texts.append(settings_of_git(file.read(_MOST_SETTINGS)))
    return "".join(texts)
