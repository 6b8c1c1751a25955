"""What menus, software centers and packages say about the program, written once."""

import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from hermes_desktop import __version__

CHECKOUT = Path(__file__).resolve().parents[2]
NAME = "Hermes Desktop (Qt)"
"""Name in menus; that of the official program, which may also be installed, has no “(Qt)”."""
SUMMARY = "Sessions, chats and settings of your Hermes assistant"
DISCLAIMER = "This program is independent and not made by Nous Research."
DESCRIPTION = (
    (
        "This is a native program for people who use the personal assistant Hermes. It shows all"
        " sessions in a window, answers messaging platforms from the system tray, and keeps its"
        " settings and history in the folder that the command line hermes uses, too."
    ),
    DISCLAIMER,
)
FEATURES = (
    "Read, search, continue and export every session",
    "Approve what the assistant wants to run, and undo what it changed",
    "Host the gateway of messaging platforms, with or without a window",
    "Edit settings with their effect shown; secrets are stored in the keyring",
)
DEVELOPER = "The Hermes Desktop authors"
LICENSE = "MIT"
KEYWORDS = ("assistant", "chat", "AI", "model", "agent", "gateway", "Telegram")
CATEGORIES = ("Network", "Chat", "Qt")
COMMAND = "hermes-desktop"


@dataclass(frozen=True)
class Release:
    """The version that is packaged.

    Attributes:
        version: As the program prints it.
        epoch: When its last commit was made, in seconds; every date in a package is this one.
    """

    version: str
    epoch: int

    @property
    def date(self) -> str:
        """The day in UTC, as YYYY-MM-DD."""
        return datetime.fromtimestamp(self.epoch, UTC).strftime("%Y-%m-%d")

    @property
    def mail_date(self) -> str:
        """The time in the form of mail headers and Debian changelogs."""
        return format_datetime(datetime.fromtimestamp(self.epoch, UTC))


def this_release() -> Release:
    """Return the release of this checkout; ``SOURCE_DATE_EPOCH`` takes precedence over git.

    Raises:
        SystemExit: Neither the variable nor git tells the date.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH", "").strip()
    if given:
        return Release(__version__, int(given))
    command = ["git", "-C", str(CHECKOUT), "log", "-1", "--format=%ct"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit("Set SOURCE_DATE_EPOCH, or build in a git checkout (git).") from None
    return Release(__version__, int(done.stdout))
