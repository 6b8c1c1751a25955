"""The states of a secret, with messages for the user."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hermes_desktop.core.errors import HermesError

ReadState = Literal[
    "stored",
    "not stored",
    "missing",
    "damaged",
    "locked",
    "no keyring",
    "no keyring yet",
    "not answering",
]
"""The state of one secret.

``missing`` is one that was stored and is gone, ``damaged`` one of which parts are, ``no keyring
yet`` a service that stores secrets but has no collection for them.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a secret.

    Attributes:
        detail: The message of the keyring, if any.
    """

    state: ReadState
    value: str | None = field(default=None, repr=False)
    detail: str = ""


class SecretStoreError(HermesError):
    """The keyring operation failed.

    Attributes:
        state: The state in a word.
    """

    def __init__(self, state: ReadState, detail: str = "") -> None:
        title, hint = _WORDS[state]
        super().__init__(title, detail, hint)
        self.state = state


_ELSEWHERE = (
    "keep the secret in the environment or in .env, or in a file with "
    "`hermes-desktop secrets set NAME --plain`"
)
_CREATE = (
    "Try again and choose a password when the desktop asks for one, or create a default keyring "
    "(Passwords and Keys, KWalletManager)"
)
_WORDS: Mapping[ReadState, tuple[str, str]] = {
    "stored": ("The keyring holds another value than it was given.", "Try again."),
    "not stored": ("That secret is not in the keyring.", "See `hermes-desktop secrets list`."),
    "missing": ("That secret is no longer in the keyring.", "Set it again."),
    "damaged": ("That secret is no longer whole in the keyring.", "Set it again."),
    "locked": ("The keyring is locked.", "Unlock it and try again."),
    "no keyring": (
        "There is no keyring on this desktop.",
        f"Start one (gnome-keyring, KWallet, KeePassXC); else {_ELSEWHERE}.",
    ),
    "no keyring yet": (
        "No keyring exists yet.",
        f"{_CREATE}; else {_ELSEWHERE}.",
    ),
    "not answering": (
        "The keyring is not answering.",
        f"See whether it waits for its password, and try again; else {_ELSEWHERE}.",
    ),
}
