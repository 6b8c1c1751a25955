"""The release feed: a small JSON document that names the newest release.

Its form: ``{"version": "1.2.0", "date": "2026-12-01", "notes": "plain text", "page": "https://…"}``.
``notes`` and ``page`` may be missing; other keys are ignored, so that later versions of the
program can read more from the same document.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from hermes_desktop.core.text.escape_sequences import plain_output
from hermes_desktop.services.updates.versions import order_of

FEED_URL = ""
"""The address of the release feed. Empty: there is no server for it yet."""
FEED_VARIABLE = "HERMES_DESKTOP_RELEASE_FEED"
"""The variable that names another feed, for tests: an https address, or http on this machine."""
NO_FEED = "" if FEED_URL else "There is no release feed to check yet."
"""Why the setting has no effect in this version; "" if it has."""

MOST_NOTES = 4000
_MOST_PAGE = 500
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UNSEEN = re.compile(r"[\x08\r\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]")


class FeedError(ValueError):
    """The document is not a release feed; the message names the faulty key."""


@dataclass(frozen=True, slots=True)
class Release:
    """The release that a feed names; see the module for its keys."""

    version: str
    date: str
    notes: str = ""
    page: str = ""


def feed_address(environ: Mapping[str, str]) -> str:
    """Return the address of the feed; "" where there is none."""
    return environ.get(FEED_VARIABLE, "").strip() or FEED_URL


def read_release(document: Any) -> Release:
    """Return the release that a decoded feed names.

    Raises:
        FeedError: The document is not a feed, or one of its values is not valid.
    """
    if not isinstance(document, Mapping):
        raise FeedError("it is not an object")
    version, day = document.get("version"), document.get("date")
    if not isinstance(version, str) or order_of(version) is None:
        raise FeedError("version")
    if not isinstance(day, str) or not _is_day(day):
        raise FeedError("date")
    notes, page = document.get("notes", ""), document.get("page", "")
    if not isinstance(notes, str):
        raise FeedError("notes")
    if not isinstance(page, str) or not (page == "" or _is_page(page)):
        raise FeedError("page")
    return Release(version, day, _plain(notes), page)


def _is_day(text: str) -> bool:
    try:
        return bool(_DAY.fullmatch(text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_page(address: str) -> bool:
    if len(address) > _MOST_PAGE or not address.isascii() or not address.isprintable():
        return False
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return parts.scheme == "https" and bool(host) and "@" not in parts.netloc and " " not in address


def _plain(notes: str) -> str:
    """Return notes without control characters and direction marks, and not too long."""
    text = _UNSEEN.sub("", plain_output(notes[: 4 * MOST_NOTES]))
    # A half of a surrogate pair can be written in JSON but cannot be stored.
    text = text.encode("utf-8", "replace").decode("utf-8").strip()
    return text if len(text) <= MOST_NOTES else f"{text[:MOST_NOTES].rstrip()}…"
