"""Attachments of messages, saved in the home under safe names."""

import contextlib
import hashlib
import logging
import mimetypes
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.files.atomic_files import make_private_folder
from hermes_desktop.gateway.platforms.messages import MessageEvent
from hermes_desktop.gateway.platforms.telegram.inbound import files_of
from hermes_desktop.gateway.platforms.telegram.records import Attachment, RefusalError

log = logging.getLogger(__name__)

_UNSAFE = re.compile(r"[^\w.\-]+")
_LONGEST = 80
_MOST_BYTES = 110
"""Length limit of a name; some encrypting file systems allow 143 for all of it."""
_TRIES = 2
_KEPT_S = 24 * 3600.0
_PREFIX = "telegram-"
_FOLDERS = {"photo": "images"}


_FETCHED = frozenset({"photo", "document"})
_NAMES = {
    "photo": "A picture",
    "document": "A file",
    "voice": "A voice message",
    "audio": "An audio file",
    "video": "A video",
    "animation": "An animation",
}

Fetch = Callable[[str, int], Awaitable[bytes]]


async def fetched(
    event: MessageEvent, fetch: Fetch, worker: WorkerThreads, home: Path, most: int
) -> MessageEvent:
    """Fetch a message's attachments: saved where possible, described as text where not."""
    files = [each for each in files_of(event) if each.kind != "sticker"]
    if not files:
        return event
    words, paths, types = [event.text] if event.text else [], [], []
    for each in files:
        if each.kind not in _FETCHED:
            words.append(
                f"[{_named(each)} came with this message; it cannot be played or viewed here.]"
            )
            continue
        if each.size is not None and each.size > most:
            words.append(
                f"[{_named(each)} came with this message but was not fetched: it is larger "
                f"than {most / 1e6:.3g} MB.]"
            )
            continue
        try:
            data = await _fetched(fetch, each.file_id, most)
            path = await worker.run(save, home, each, data)
        except (RefusalError, OSError) as error:
            log.warning("A file that came with a message could not be fetched: %s", error)
            words.append(
                f"[{_named(each)} came with this message but could not be fetched: {_why(error)}.]"
            )
            continue
        paths.append(str(path))
        types.append(each.mime or "application/octet-stream")
    return replace(event, text="\n".join(words), media_urls=tuple(paths), media_types=tuple(types))


async def _fetched(fetch: Fetch, file_id: str, most: int) -> bytes:
    """Fetch the content of a file, with a retry after a broken connection."""
    for _ in range(_TRIES - 1):
        with contextlib.suppress(OSError):
            return await fetch(file_id, most)
    return await fetch(file_id, most)


def _why(error: Exception) -> str:
    """Return why a file could not be fetched, without its intended path."""
    words = error.strerror if isinstance(error, OSError) and error.errno else None
    return (words or str(error)).rstrip(".")


def _named(each: Attachment) -> str:
    """Return a description for the model; a sender-chosen name is limited to one short line."""
    name = " ".join(each.file_name.replace("[", "(").replace("]", ")").split())[:_LONGEST]
    length = f" of {each.seconds} s" if each.seconds is not None else ""
    return f"{_NAMES.get(each.kind, 'Something')}{length}{f' “{name}”' if name else ''}"


def save(home: Path, attachment: Attachment, data: bytes) -> Path:
    """Write a file, readable for the owner alone. Blocking.

    Returns:
        Its path: always in the cache folder of the home, whatever name the sender chose.
    """
    folder = home / "cache" / _FOLDERS.get(attachment.kind, "documents")
    make_private_folder(folder)
    mark = hashlib.sha256(attachment.file_id.encode()).hexdigest()[:10]
    path = folder / f"{_PREFIX}{mark}-{safe_name(attachment)}"
    half = folder / f".{path.name}.part"
    try:
        half.touch(mode=0o600)
        half.write_bytes(data)
        half.replace(path)
    except OSError:  # e.g. the disk is full
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
        raise
    return path


def safe_name(attachment: Attachment) -> str:
    """Return a safe name for a file: its own without parts that could lead elsewhere."""
    given = attachment.file_name.replace("\\", "/").rpartition("/")[2]
    name = _UNSAFE.sub("_", given).strip("._") or attachment.kind
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, (mimetypes.guess_extension(attachment.mime) or "").lstrip(".")
    ending = ending[:12]
    stem = stem[: _LONGEST - len(ending) - 1]
    spare = _MOST_BYTES - len(ending.encode()) - 1
    stem = stem.encode()[:spare].decode(errors="ignore")
    return f"{stem}.{ending}" if ending else stem


def tidy(home: Path, now: float) -> None:
    """Delete what was saved more than a day ago. Blocking; never raises."""
    for name in ("images", "documents"):
        folder = home / "cache" / name
        for path in (*folder.glob(f"{_PREFIX}*"), *folder.glob(f".{_PREFIX}*.part")):
            with contextlib.suppress(OSError):
                if now - path.stat().st_mtime > _KEPT_S:
                    path.unlink()
