"""The folder in which tools work: which one it is, and which ones never are."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_desktop.agent.sandbox.own_places import Homes, is_grantable
from hermes_desktop.agent.tools.base import ToolError

NAME = "Hermes"
"""Name of the default folder, in the documents folder."""
_NOT_NAMED = frozenset({"", ".", "auto", "cwd"})
_DOCUMENTS = re.compile(r'^\s*XDG_DOCUMENTS_DIR\s*=\s*"(.*)"\s*$', re.MULTILINE)
_CHOOSE = (
    "choose a folder for this session in its header in the window, or with "
    "`hermes-desktop sessions folder`"
)


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """The working folder of an agent's tools.

    Attributes:
        path: The folder; it may be missing.
        is_default: It is the default one, which is created when it is first needed.
        unconfirmed: The folder that an imported session had elsewhere, while the user has not
            chosen one here; "" otherwise. No tool works then.
    """

    path: Path
    is_default: bool = False
    unconfirmed: str = ""

    def require(self) -> None:
        """Make sure that tools can work here; create the default folder. Blocking.

        Raises:
            ToolError: They cannot; the message says what the user can do.
        """
        if self.unconfirmed:
            raise ToolError(
                "This session was imported and has no working folder yet, so nothing was done. "
                f"Tell the user: {_CHOOSE}."
            )
        if self.is_default:
            create_default(self.path)
        if not self.path.is_dir():
            raise ToolError(
                f"The working folder {self.path} is gone, so nothing was done. Tell the user: "
                f"restore it, or {_CHOOSE}."
            )


def create_default(folder: Path) -> None:
    """Create the default folder, readable by its owner alone, unless it exists. Blocking.

    Raises:
        ToolError: It cannot be created.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError(
            f"The working folder {folder} cannot be created ({error.strerror}), so nothing was "
            f"done. Tell the user: {_CHOOSE}, or set `terminal.cwd`."
        ) from error


def default_folder(user_home: Path, environ: Mapping[str, str]) -> Path:
    """Return the folder of work for which no other was chosen. Blocking: reads a small file.

    Args:
        user_home: The user's home folder.
        environ: The process environment.
    """
    return _documents(user_home, environ) / NAME


def chosen_in_settings(config: Mapping[str, Any], homes: Homes) -> Path | None:
    """Return ``terminal.cwd`` if it names a folder for work; a home is none.

    Args:
        config: The decoded config.yaml.
        homes: The homes.
    """
    section = config.get("terminal")
    named = section.get("cwd") if isinstance(section, Mapping) else None
    if not isinstance(named, str) or named.strip() in _NOT_NAMED or "\0" in named:
        return None
    given = named.strip()
    path = homes.user / given[2:] if given.startswith("~/") else Path(given)
    return path if path.is_absolute() and not holds_home(path, homes) else None


def chat_folder(
    config: Mapping[str, Any],
    homes: Homes,
    environ: Mapping[str, str],
    *,
    stored: Path | None = None,
    imported: str = "",
) -> WorkFolder:
    """Return the folder of a chat in the window or on a platform, which is never the home.

    Args:
        config: The decoded config.yaml.
        homes: The homes.
        environ: The process environment.
        stored: The folder of the session, if one was chosen.
        imported: The folder that an imported session had elsewhere.
    """
    if stored is not None and stored.is_absolute() and not holds_home(stored, homes):
        return WorkFolder(stored, stored == default_folder(homes.user, environ))
    usual = default_folder(homes.user, environ)
    if imported and stored is None:
        return WorkFolder(usual, unconfirmed=imported)
    named = chosen_in_settings(config, homes)
    return WorkFolder(usual, is_default=True) if named is None else WorkFolder(named)


def shell_folder(
    config: Mapping[str, Any], homes: Homes, *, stored: Path | None = None
) -> WorkFolder:
    """Return the folder of a session that a user runs in a shell: the shell's own, by default.

    Args:
        config: The decoded config.yaml.
        homes: The homes.
        stored: The folder of the session, if it has one.
    """
    if stored is not None and stored.is_absolute():
        return WorkFolder(stored)
    named = chosen_in_settings(config, homes)
    if named is not None:
        return WorkFolder(named)
    try:
        return WorkFolder(Path.cwd())
    except OSError:  # removed under the shell
        return WorkFolder(Path(os.environ.get("PWD") or homes.user))


def holds_home(folder: Path, homes: Homes) -> bool:
    """Return whether a folder is the user's home, or contains it. Blocking."""
    real, home = Path(os.path.realpath(folder)), homes.user.resolve()
    return real == home or real in home.parents


def why_not(folder: Path, homes: Homes) -> str:
    """Return why a folder may not be chosen for work, as a sentence; "" if it may. Blocking."""
    real, home = Path(os.path.realpath(folder)), homes.user.resolve()
    hermes = homes.hermes.resolve()
    wide = "your home folder: everything you own would be open to commands."
    reasons = (
        (real == home, f"It is {wide}"),
        (real in home.parents, f"It contains {wide}"),
        (
            real == hermes or real in hermes.parents or hermes in real.parents,
            "It contains the files of Hermes: its settings, keys and history.",
        ),
        (
            not is_grantable(real, homes),
            "It contains keys, settings of programs, or files of the system.",
        ),
        (not real.is_dir(), "It does not exist, or is not a folder."),
        (
            not os.access(real, os.R_OK | os.W_OK | os.X_OK),
            "You may not read and write there.",
        ),
    )
    return next((words for applies, words in reasons if applies), "")


def _documents(user_home: Path, environ: Mapping[str, str]) -> Path:
    """Return the documents folder of the desktop."""
    if sys.platform == "win32":
        from platformdirs import user_documents_path  # noqa: PLC0415 - only there

        return user_documents_path()
    settings = environ.get("XDG_CONFIG_HOME", "")
    base = Path(settings) if Path(settings).is_absolute() else user_home / ".config"
    try:
        named = _DOCUMENTS.search((base / "user-dirs.dirs").read_text("utf-8", "replace"))
    except OSError:
        named = None
    if named is None or sys.platform == "darwin":
        return user_home / "Documents"
    found = Path(named[1].replace("$HOME", str(user_home), 1))
    return found if found.is_absolute() else user_home / "Documents"
