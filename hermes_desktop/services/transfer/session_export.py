"""Export of sessions to files: JSON Lines, or one Markdown document each. Blocking."""

import contextlib
import hashlib
import json
import os
import re
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from hermes_desktop.core.errors import HermesError, RefusedError
from hermes_desktop.core.files.atomic_files import write_text_atomic
from hermes_desktop.core.files.home_files import refuse_home_file
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.state import SessionDB
from hermes_desktop.state.import_export import export
from hermes_desktop.state.records.cancellation import (
    CancelSignal,
    OnProgress,
    Progress,
    silent,
    stop_if,
)
from hermes_desktop.state.records.stored_values import seconds_of
from hermes_desktop.state.sessions.bulk_selection import SessionFilter

_NAMES = {"user": "You", "assistant": "Hermes", "system": "System", "tool": "Tool"}
_FRONT_MATTER = ("id", "title", "source", "model", "started_at", "ended_at", "end_reason", "cwd",
          "message_count", "input_tokens", "output_tokens")  # fmt: skip
_HIDDEN_ROLES = {"session_meta"}
_BACKTICKS = re.compile("`+")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_LONGEST_SLUG, _LONGEST_ID = 60, 100
_GOOD_ID = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{_LONGEST_ID - 1}}}")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""Names that Windows gives to devices, whatever their ending."""


def file_name(session_id: str, title: str | None) -> str:
    """Return a file name for the document: the id, and the title as far as file names allow.

    An id that is not a valid file name is followed by its checksum, so that names are unique.
    """
    plain = unicodedata.normalize("NFKD", title or "").encode("ascii", "ignore").decode()
    slug = _NOT_IN_NAMES.sub("-", plain.lower()).strip("-")[:_LONGEST_SLUG].strip("-")
    safe = _safe(session_id)
    return f"{safe}-{slug}.md" if slug else f"{safe}.md"


def _safe(session_id: str) -> str:
    if _GOOD_ID.fullmatch(session_id) and not _RESERVED.fullmatch(session_id):
        return session_id
    checksum = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"_{re.sub(r'[^A-Za-z0-9._-]', '_', session_id)[:_LONGEST_ID]}-{checksum}"


def document(conversation: Mapping[str, Any]) -> str:
    """Return the document: facts first, then the messages, with tool output in code blocks.

    Args:
        conversation: As returned by ``export_session_lineage``.
    """
    title = " ".join(str(conversation.get("title") or "Untitled session").split())
    parts = ["---\n", *_front(conversation), "---\n", f"\n# {title}\n"]
    for message in conversation.get("messages") or ():
        if message.get("role") not in _HIDDEN_ROLES:
            parts.extend(_message(message))
    return "".join(parts)


def _front(conversation: Mapping[str, Any]) -> Iterator[str]:
    """Yield YAML lines, each value written as JSON, which YAML can read."""
    segments = conversation.get("segments") or [conversation]
    values = {**conversation, "started_at": segments[0].get("started_at")}
    for name in _FRONT_MATTER:
        value = values.get(name)
        if value is None:
            continue
        if name in {"started_at", "ended_at"}:
            value = _time(value)
        yield f"{name}: {json.dumps(value, ensure_ascii=False)}\n"
    if len(segments) > 1:
        yield f"parts: {json.dumps([each.get('id') for each in segments])}\n"


def _message(message: Mapping[str, Any]) -> Iterator[str]:
    role = str(message.get("role"))
    name = _NAMES.get(role, role)
    if role == "tool" and message.get("tool_name"):
        name = f"{name} {message['tool_name']}"
    yield f"\n## {name} · {_time(message.get('timestamp'))}\n"
    text = _text(message.get("content"))
    if text.strip():
        yield "\n" + (_fenced(text) if role == "tool" else text.strip("\n")) + "\n"
    for call in message.get("tool_calls") or ():
        yield "\n" + _call(call) + "\n"


def _call(call: Any) -> str:
    inner = call.get("function") if isinstance(call, Mapping) else None
    function = inner if isinstance(inner, Mapping) else {}
    arguments = function.get("arguments", call if not function else "")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"**{function.get('name') or 'tool'}**\n\n{_fenced(text)}"


def _text(content: Any) -> str:
    """Return structured content as its text parts; other parts are named by their type."""
    if isinstance(content, list):
        return "\n\n".join(_part(part) for part in content)
    return content if isinstance(content, str) else "" if content is None else json.dumps(content)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping):
        text = part.get("text")
        return text if isinstance(text, str) else f"[{part.get('type') or 'attachment'}]"
    return str(part)


def _fenced(text: str) -> str:
    """Return a code block whose fence is longer than every run of backticks in it."""
    longest = max((len(found) for found in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.rstrip(chr(10))}\n{fence}"


def _time(moment: Any) -> str:
    seconds = seconds_of(moment)
    if seconds is None:
        return "?"
    try:
        return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return "?"


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
        raise RefusedError("The file already exists.", str(path), "Add --force to replace it.")


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
            "Check the folder and its permissions.",
        ) from error
