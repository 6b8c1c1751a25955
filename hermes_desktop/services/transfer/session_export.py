"""Export of sessions to files: JSON Lines, or one Markdown document each. Blocking."""

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from hermes_desktop.core.errors import HermesError, RefusedError
from hermes_desktop.core.files.atomic_files import write_text_atomic
from hermes_desktop.core.files.home_files import refuse_home_file
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.transfer.session_markdown import document, file_name
from hermes_desktop.state import SessionDB
from hermes_desktop.state.import_export import export
from hermes_desktop.state.records.cancellation import (
    CancelSignal,
    OnProgress,
    Progress,
    silent,
    stop_if,
)
from hermes_desktop.state.sessions.bulk_selection import SessionFilter

Clean = Callable[[Any], Any]
"""Removes secrets from an exported object."""

_STEP = "The export"


class ExportError(HermesError):
    """The files cannot be written."""


def choose(db: SessionDB, named: Sequence[str], choice: SessionFilter) -> list[str]:
    """Return the sessions to export: the named ones, those a filter selects, or all.

    A named session is exported with all its parts. A filter selects ended sessions, the oldest
    first. Without either, all sessions are returned, the latest activity first, archived ones and
    subagents included.
    """
    if named:
        parts = [part for each in named for part in db.get_compression_lineage(each) or [each]]
        return list(dict.fromkeys(parts))
    if choice:
        return [found.id for found in db.read(choice.select)]  # a copy spares nothing
    return db.read(lambda conn: export.ids_by_activity(conn, None))


def objects(
    db: SessionDB,
    ids: Sequence[str],
    clean: Clean,
    *,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> Iterator[Mapping[str, Any]]:
    """Yield exported sessions one after the other.

    Raises:
        CancelledError: It was cancelled.
    """
    for done, session in enumerate(db.export_each(ids), start=1):
        stop_if(cancel, _STEP)
        yield clean(session)
        on_progress(Progress("Exporting", done, len(ids)))


def write_json_lines(
    path: Path, found: Iterable[Mapping[str, Any]], paths: HermesPaths, *, force: bool = False
) -> int:
    """Write one object per line to a file (0600), which gets its name only when it is complete.

    An existing pipe or device receives the lines; it is never replaced.

    Returns:
        The number of sessions.

    Raises:
        RefusedError: The file exists already, and ``force`` was not given; or it belongs to a
            Hermes home.
        ExportError: It cannot be written; nothing is left behind.
    """
    refuse_home_file(path, paths)
    with _in_words(path), _place(path, force=force) as stream:
        count = 0
        for session in found:
            stream.write(json.dumps(session, ensure_ascii=False) + "\n")
            count += 1
        return count


def write_markdown(  # noqa: PLR0913 - each is a choice or a wire of the caller
    db: SessionDB,
    ids: Sequence[str],
    folder: Path,
    paths: HermesPaths,
    clean: Clean,
    *,
    force: bool = False,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> list[Path]:
    """Write a document for each conversation, whichever of its parts are named.

    Returns:
        The files, in order.

    Raises:
        RefusedError: One of the files exists already, and ``force`` was not given, or one
            belongs to a Hermes home; nothing was written.
        CancelledError: It was cancelled; documents that are complete stay.
        ExportError: A file cannot be written.
    """
    places = {tip: folder / file_name(tip, db.get_session_title(tip)) for tip in _tips(db, ids)}
    for path in places.values():
        refuse_home_file(path, paths)
        if not force:
            _refuse_existing(path)
    with _in_words(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    written: list[Path] = []
    for done, (tip, path) in enumerate(places.items(), start=1):
        stop_if(cancel, _STEP)
        conversation = db.export_session_lineage(tip)
        if conversation is not None:
            with _in_words(path):
                write_text_atomic(path, _encodable(document(clean(conversation))))
            written.append(path)
        on_progress(Progress("Exporting", done, len(places)))
    return written


def _tips(db: SessionDB, ids: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((db.get_compression_lineage(each) or [each])[-1] for each in ids))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise RefusedError("There is such a file already.", str(path), "Add --force to replace it.")


@contextlib.contextmanager
def _place(path: Path, *, force: bool) -> Iterator[TextIO]:
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("w", encoding="utf-8", errors="replace", newline="") as stream:
            yield stream
        return
    if not force:
        _refuse_existing(path)
    with _new_file(path) as stream:
        yield stream


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[TextIO]:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _in_words(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ExportError(
            "The export cannot be written.",
            f"{path}: {error.strerror or error}.",
            "Check the place.",
        ) from error
