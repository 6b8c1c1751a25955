"""Records of a program's background processes, in case the program is killed.

Each program has a separate file in ``desktop/processes``. The next program to start ends the
processes that a dead program left running, and reports them once.
"""

import json
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic
from hermes_desktop.core.ids import new_turn_id
from hermes_desktop.core.processes import process_tree

log = logging.getLogger(__name__)

_MOST_READ = 1_000_000


@dataclass(frozen=True, slots=True)
class LostProcess:
    """A background process of an earlier run.

    Attributes:
        command: Its command, without secrets.
        notify: Its session requested a notification of its end.
        ran_on: It was still alive when the next program started, which ended it.
    """

    id: str
    command: str
    cwd: str
    session_key: str
    session_id: str
    started_at: float
    notify: bool = False
    ran_on: bool = False


class ProcessRecords:
    """The file of this program. Blocking; for any thread, one at a time.

    Args:
        folder: ``desktop/processes`` of the home; created when first needed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / f"{os.getpid()}-{new_turn_id()[-8:]}.json"

    def write(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Record what runs, or was running when the program ended. Failures are logged."""
        listed = list(entries)
        try:
            if not listed:
                self._file.unlink(missing_ok=True)
                return
            make_private_folder(self._folder)
            pid = os.getpid()
            owner = {"pid": pid, "began": process_tree.began(pid)}
            text = json.dumps({"owner": owner, "processes": listed}, ensure_ascii=False)
            write_text_atomic(self._file, text)
        except OSError as error:
            log.warning("Background processes cannot be written down: %s", error)

    def take_lost(self) -> tuple[LostProcess, ...]:
        """End what dead programs left running; return their processes, once."""
        lost: list[LostProcess] = []
        try:
            files = sorted(self._folder.glob("*.json"))
        except OSError:
            return ()
        for file in files:
            if file != self._file:
                lost += _taken(file)
        return tuple(lost)


def _taken(file: Path) -> list[LostProcess]:
    document = _read(file)
    if document is None or _is_alive(document.get("owner")):
        return []
    mine = file.with_suffix(f".{os.getpid()}.taken")
    try:
        file.rename(mine)  # only the first to do this reports it
        mine.unlink()
    except OSError:
        return []
    entries = document.get("processes")
    found = [_lost(each) for each in entries if isinstance(each, dict)] if entries else []
    return [each for each in found if each is not None]


def _read(file: Path) -> dict[str, Any] | None:
    try:
        with file.open(encoding="utf-8") as stream:
            document = json.loads(stream.read(_MOST_READ))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _is_alive(owner: Any) -> bool:
    if not isinstance(owner, dict) or not isinstance(owner.get("pid"), int):
        return False
    now = process_tree.began(owner["pid"])
    return now is not None and now == owner.get("began")


def _lost(entry: Mapping[str, Any]) -> LostProcess | None:
    mark = entry.get("mark")
    ran_on = False
    if isinstance(mark, str) and mark and not entry.get("over"):
        ran_on = process_tree.end_marked(mark)
    try:
        return LostProcess(
            id=str(entry["id"]),
            command=str(entry["command"]),
            cwd=str(entry.get("cwd", "")),
            session_key=str(entry.get("session_key", "")),
            session_id=str(entry.get("session_id", "")),
            started_at=float(entry.get("started_at", 0.0)),
            notify=entry.get("notify") is True,
            ran_on=ran_on,
        )
    except (KeyError, TypeError, ValueError):
        return None
