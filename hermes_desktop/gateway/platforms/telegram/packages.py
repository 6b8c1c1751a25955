"""The package that Telegram requires besides the program itself, and how to install it."""

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "python-telegram-bot"
_WANTED = f"{PACKAGE}>=22.5,<23"


def install_command(prefix: str = sys.prefix, executable: str = sys.executable) -> str:
    """Return the command that installs the missing package where this program runs."""
    parts = Path(prefix).parts
    if "pipx" in parts:
        return f"pipx inject {Path(prefix).name} '{_WANTED}'"
    if "uv" in parts and "tools" in parts:
        return f"uv tool install --with '{_WANTED}' {Path(prefix).name}"
    return f"{executable} -m pip install '{_WANTED}'"


def missing_text() -> str:
    """Return a sentence about the missing package."""
    return f"The package {PACKAGE} is not installed. Run: {install_command()}"


def lacking() -> str:
    """Return that sentence if the package is missing, else "". Loads nothing."""
    return "" if find_spec("telegram") is not None else missing_text()
