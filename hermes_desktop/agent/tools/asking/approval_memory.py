"""Approvals that are valid more than once, and the log of decisions. Thread-safe."""

import hashlib
import json
import logging
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.agent.tools.asking.moved_keys import ChatKeyAliases
from hermes_desktop.core.files.atomic_files import (
    make_private_folder,
    open_private,
    write_text_atomic,
)

log = logging.getLogger(__name__)

_MOST_LOG = 2_000_000


class ApprovalStore:
    """The memory of approvals: in memory for a chat, in a file if they are permanent.

    An approval is for one exact action – the same command in the same folder, the same file – and
    never for a kind of action.

    Args:
        folder: The folder of the files; None keeps nothing longer than the program runs.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._session: set[tuple[str, str]] = set()
        self._moved = ChatKeyAliases()

    @property
    def keeps(self) -> bool:
        """Whether anything can be approved permanently."""
        return self._folder is not None

    def allows(self, session_key: str, matter: str) -> bool:
        """Return whether an action needs no approval any more. Blocking: reads a file."""
        digest = _digest(matter)
        with self._lock:
            key = self._moved.now(session_key)
            return (key, digest) in self._session or digest in self._always()

    def allow(self, session_key: str, matter: str, choice: str, *, shown: str) -> None:
        """Remember an answer; one that cannot be written to the file is valid for the chat."""
        digest = _digest(matter)
        with self._lock:
            if choice in {"session", "always"}:
                self._session.add((self._moved.now(session_key), digest))
            if choice == "always":
                try:
                    self._keep(digest, shown)
                except OSError as error:
                    log.warning("A permanent approval could not be stored: %s", error)

    def forget(self, session_key: str) -> None:
        """Forget the approvals of a chat."""
        with self._lock:
            key = self._moved.now(session_key)
            self._session = {each for each in self._session if each[0] != key}

    def move(self, old_key: str, new_key: str) -> None:
        """Transfer the approvals of a chat that continues under another key."""
        with self._lock:
            self._moved.move(old_key, new_key)
            self._session = {(self._moved.now(key), what) for key, what in self._session}

    def note(self, decision: Mapping[str, Any]) -> None:
        """Log a decision; a log that cannot be written has no effect."""
        if self._folder is None:
            return
        path = self._folder / "decisions.jsonl"
        line = json.dumps(decision, ensure_ascii=True) + "\n"
        with self._lock:
            try:
                make_private_folder(self._folder)
                if path.exists() and path.stat().st_size > _MOST_LOG:
                    path.replace(path.with_suffix(".old.jsonl"))
                handle = open_private(path, os.O_WRONLY | os.O_APPEND)
                with os.fdopen(handle, "w", encoding="ascii") as stream:
                    stream.write(line)
            except OSError as error:
                log.warning("A decision was not logged: %s", error)

    def _always(self) -> Mapping[str, Any]:
        if self._folder is None:
            return {}
        try:
            kept = json.loads((self._folder / "allowed.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            log.warning("Permanent approvals cannot be read (%s) and are ignored", error)
            return {}
        return kept if isinstance(kept, dict) else {}

    def _keep(self, digest: str, shown: str) -> None:
        assert self._folder is not None  # noqa: S101 - such a choice is not offered
        make_private_folder(self._folder)
        kept = {**self._always(), digest: shown[:500]}
        write_text_atomic(self._folder / "allowed.json", json.dumps(kept, indent=1), mode=0o600)


def _digest(matter: str) -> str:
    return hashlib.sha256(matter.encode("utf-8", "replace")).hexdigest()
