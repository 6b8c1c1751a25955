"""Texts about secrets: place, state and consequences. No Qt.

Nothing here holds a value; its last four characters are in a text only on request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_desktop.core.text.capitals import capitalized
from hermes_desktop.ui.settings.saving.outcome_text import secret_words
from hermes_desktop.ui.words.gateway_words import listed
from hermes_desktop.ui.words.source_names import source_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hermes_desktop.services.secrets.secrets_repository import SecretPlace, SecretView, Where
    from hermes_desktop.settings.secrets import ReadState

HERMES_LOSES_IT = (
    "“hermes” commands, including “hermes gateway run”, no longer find it: they only look in "
    "the environment and in .env. To undo this, use “Move to .env…”."
)
PLAIN_WORDS = (
    "It is stored in the file plain-secrets.json in this home. Only you can read that file, "
    "but it is not encrypted: anyone who copies it has the token."
)
_NO_KEYRING = (
    "This desktop has no keyring. Start one (gnome-keyring, KWallet, KeePassXC), or keep the "
    "token in the environment or in .env."
)
_NO_KEYRING_YET = (
    "No keyring exists yet. Create one (choose a password when the desktop asks for it, or use "
    "Passwords and Keys or KWalletManager), or keep the token in the environment or in .env."
)
_SILENT = "The keyring does not answer. It may be waiting for its password in another window."
STATE_WORDS: Mapping[ReadState, tuple[str, str]] = {
    "stored": ("Works", "The keyring of this desktop keeps secrets encrypted."),
    "not stored": ("Not stored", ""),
    "missing": ("Missing", "It was stored in the keyring but is no longer there. Paste it again."),
    "damaged": ("Damaged", "Only part of it is still in the keyring. Paste it again."),
    "locked": ("Locked", "The keyring is locked. Unlock it to use its secrets."),
    "no keyring": ("No keyring", _NO_KEYRING),
    "no keyring yet": ("No keyring yet", _NO_KEYRING_YET),
    "not answering": ("Not answering", _SILENT),
}
"""A label of each state, and an explanation for the user."""

MOVED = frozenset({".env", "config.yaml", "plain file"})
"""Places that a secret can be moved out of, into the keyring."""
QUIET_STATES = frozenset({"Stored", "Not set"})
"""Results of :func:`spoken_state` that need no attention."""

_WHERE: Mapping[Where, str] = {
    "environment": "the environment",
    "keyring": "the keyring",
    "plain file": "a plain file",
    ".env": ".env",
    "config.yaml": "config.yaml",
    "gateway.json": "gateway.json",
}
_FIXED = frozenset({"environment"})


def where_words(place: SecretPlace, *, show_end: bool = False) -> str:
    """Return a place as text for a sentence: ``.env, ending in …1234``."""
    words = _WHERE[place.where]
    if place.where in {"config.yaml", "gateway.json"} and place.place:
        words = f"{words} ({place.place})"
    if show_end:
        end = f"…{place.end}" if place.end else "too short to show any of it"
        words = f"{words}, ending in {end}" if place.end else f"{words}, {end}"
    return words


def origin_words(view: SecretView | None, *, show_end: bool = False) -> str:
    """Return a sentence on the place of a secret; "" if it is stored nowhere."""
    if view is None or not view.places:
        return ""
    first = view.places[0]
    if first.where == "keyring" and first.state != "stored":
        return _kept_and_not_had(view, first, show_end=show_end)
    words = f"Stored in {where_words(first, show_end=show_end)}."
    if first.where == "environment":
        words = (
            f"Set in the environment as {first.place}"
            f"{_end_of(first) if show_end else ''}. It can be changed only there."
        )
    elif first.where == "plain file":
        words += " It is not encrypted there."
    return words


def conflict_words(view: SecretView | None) -> str:
    """Return a note if two places hold different values; "" if they do not."""
    if view is None or not view.differ:
        return ""
    stored = [place for place in view.places if place.state == "stored"]
    places = listed([where_words(place, show_end=True) for place in stored])
    words = f"Two places hold different values: {places}."
    if len(stored) > 2:  # noqa: PLR2004 - more than a pair
        words = f"{len(stored)} places hold different values: {places}."
    words += f" Hermes Desktop uses the one in {_WHERE[stored[0].where]}"
    theirs = next((place.where for place in stored if place.where in {"environment", ".env"}), None)
    hermes = next((place.where for place in stored if place.where == ".env"), theirs)
    if hermes is not None and hermes != stored[0].where:
        return f"{words}; “hermes” uses the one in {_WHERE[hermes]}."
    return f"{words}."


def also_words(view: SecretView | None) -> str:
    """Return a note on other places that hold the same value; "" without any."""
    if view is None or view.differ:
        return ""
    others = [_WHERE[place.where] for place in view.places[1:] if place.state == "stored"]
    return f"The same value is in {listed(others)}." if others else ""


def spoken_state(view: SecretView | None) -> str:
    """Return the state in one or two words for a table."""
    if view is None or not view.places:
        return "Not set"
    counts = view.counts
    first = view.places[0]
    if first.state != "stored":
        return STATE_WORDS[first.state][0]
    if view.differ:
        return "Values differ"
    return "Not encrypted" if counts is not None and counts.where == "plain file" else "Stored"


def label_words(view: SecretView) -> str:
    """Return the display name: ``Telegram bot token``, else the name of the variable."""
    return secret_words(view.label, view.platform) or view.name


def used_by(view: SecretView) -> str:
    """Return what a secret is used by."""
    if view.platform:
        return source_name(view.platform)
    return "Models" if view.label else "Unknown"


def movable(view: SecretView | None) -> bool:
    """Return whether a file holds a value that can be moved to the keyring."""
    return view is not None and any(each.where in MOVED for each in view.places)


def can_move_back(view: SecretView | None) -> bool:
    """Return whether Hermes Desktop stores the secret, so that it can be moved to ``.env``."""
    if view is None:
        return False
    return any(each.where in {"keyring", "plain file"} for each in view.places) and not any(
        each.where == ".env" for each in view.places
    )


def removable(view: SecretView | None) -> bool:
    """Return whether Hermes Desktop stores the secret."""
    return view is not None and any(each.where in {"keyring", "plain file"} for each in view.places)


def is_fixed(view: SecretView | None) -> bool:
    """Return whether a value set here has no effect because the environment sets one."""
    return view is not None and bool(view.places) and view.places[0].where in _FIXED


def places_words(view: SecretView, *, show_end: bool = False) -> str:
    """Return all places for a cell of a table."""
    found: list[str] = []
    for place in view.places:
        words = _WHERE[place.where].removeprefix("the ").removeprefix("a ")
        end = f" …{place.end}" if show_end and place.end else ""
        found.append(capitalized(words) + end if not found else words + end)
    return ", ".join(found)


def left_after_removal(view: SecretView) -> str:
    """Return a sentence on what takes effect once it is in neither keyring nor plain file."""
    left: Sequence[SecretPlace] = [
        each for each in view.places if each.where not in {"keyring", "plain file"}
    ]
    if left:
        return f"Then the one in {_WHERE[left[0].where]} is used."
    what = source_name(view.platform) if view.platform else "programs that use it"
    return f"It is then stored nowhere, and {what} cannot log in without it."


def _kept_and_not_had(view: SecretView, first: SecretPlace, *, show_end: bool) -> str:
    words = STATE_WORDS[first.state][1]
    counts = view.counts
    if counts is not None:
        words += f" Until then the one in {where_words(counts, show_end=show_end)} is used."
    return words


def _end_of(place: SecretPlace) -> str:
    return f", ending in …{place.end}" if place.end else ""
