"""The user's consents to run plugins and hooks, each for the exact content that was reviewed.

What was changed since needs a new consent.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic
from hermes_desktop.core.files.file_lock import hold

Standing = Literal["given", "refused", "changed", "none"]

ALLOWLIST = "shell-hooks-allowlist.json"
"""The allowlist of shell hooks that the ``hermes`` command keeps."""

_FILE = "plugin-consents.json"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Consent:
    """One answer of the user.

    Attributes:
        key: The plugin or hook.
        path: Its path at that time.
        digest: The digest of its content at that time.
        given: False: it must not run, even where another list allows it.
        files: Digests of its files, to report later which of them changed.
        at: The time of the answer, ISO 8601.
    """

    key: str
    path: str
    digest: str
    given: bool = True
    files: Mapping[str, str] = field(default_factory=dict)
    at: str = ""


class ConsentFile:
    """The consents of one home. Blocking; any thread, any of our processes.

    Args:
        folder: Our private folder; created when the first consent is written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / _FILE

    @property
    def path(self) -> Path:
        """The file that stores them."""
        return self._path

    def read(self) -> dict[str, Consent]:
        """Return all consents, by key.

        Raises:
            ConfigError: They cannot be read; nothing may run then.
        """
        try:
            data = json.loads(self._path.read_text(encoding="utf-8"))
            if data["version"] != _VERSION:
                raise self._unreadable("it was written by a newer version")
            return {each["key"]: _consent(each) for each in data["consents"]}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._unreadable(error.strerror or type(error).__name__) from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._unreadable("it is damaged, or was not written by this program") from error

    def write(self, consent: Consent) -> None:
        """Store a consent, replacing an earlier one. Raises as :meth:`read`."""
        self._change(lambda all_of_them: all_of_them.update({consent.key: consent}))

    def forget(self, key: str) -> None:
        """Delete a consent. Raises as :meth:`read`."""
        self._change(lambda all_of_them: all_of_them.pop(key, None))

    def _change(self, change: Any) -> None:
        try:
            make_private_folder(self._folder)
            with hold(self._folder / ".plugin-consents.lock"):
                consents = self.read()
                change(consents)
                items = [asdict(each) for _, each in sorted(consents.items())]
                text = json.dumps({"version": _VERSION, "consents": items}, indent=1)
                write_text_atomic(self._path, text + "\n")
        except OSError as error:
            raise ConfigError(
                "The consent cannot be saved.",
                f"{self._path}: {error.strerror or type(error).__name__}.",
                "Check the permissions of the folder.",
            ) from error

    def _unreadable(self, reason: str) -> ConfigError:
        return ConfigError(
            "The list of enabled plugins cannot be read, so no plugin runs.",
            f"{self._path}: {reason}.",
            "Move the file away, then enable the plugins again.",
        )


def anything_answered(home: Path, own_folder: Path) -> bool:
    """Return whether anything was ever allowed in a home, here or in the ``hermes`` command."""
    lists = (own_folder / _FILE, home / ALLOWLIST)
    return any(each.exists() for each in lists)


def consent_state(consent: Consent | None, path: str, digest: str) -> Standing:
    """Return what a consent means for the present content of its plugin or hook."""
    if consent is None:
        return "none"
    if not consent.given:
        return "refused"
    return "given" if (consent.path, consent.digest) == (path, digest) else "changed"


def _consent(item: Mapping[str, Any]) -> Consent:
    files = item["files"]
    if not isinstance(files, dict) or not isinstance(item["given"], bool):
        raise TypeError("an answer is none")
    return Consent(
        str(item["key"]),
        str(item["path"]),
        str(item["digest"]),
        item["given"],
        {str(name): str(digest) for name, digest in files.items()},
        str(item["at"]),
    )
