"""Files that came with messages."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.gateway.platforms.messages import MessageEvent
from hermes_desktop.gateway.platforms.telegram import attachments
from hermes_desktop.gateway.platforms.telegram.records import Attachment, RefusalError


@pytest.mark.parametrize(
    ("given", "mime", "safe"),
    [
        ("report.pdf", "", "report.pdf"),
        ("../../.ssh/authorized_keys", "", "authorized_keys"),
        ("..\\..\\boot.ini", "", "boot.ini"),
        ("a\x00b\nc.txt", "", "a_b_c.txt"),
        (".bashrc", "", "bashrc"),
        ("", "image/jpeg", "document.jpg"),
        ("...", "", "document"),
        ("Übersicht 中文.txt", "", "Übersicht_中文.txt"),
        ("x" * 300 + ".tar.gz", "", "x" * 77 + ".gz"),
    ],
)
def test_names_lead_nowhere(given: str, mime: str, safe: str) -> None:
    found = attachments.safe_name(Attachment("document", "f", given, mime))
    assert found == safe


def test_files_are_ours_alone_and_go_after_a_day(tmp_path: Path) -> None:
    old = attachments.save(tmp_path, Attachment("photo", "f1", "a.jpg"), b"old")
    new = attachments.save(tmp_path, Attachment("document", "f2", "a.txt"), b"new")
    other = tmp_path / "cache" / "images" / "somebody-elses.jpg"
    other.write_bytes(b"x")
    for each in (old, other):
        os.utime(each, (1.0, 1.0))
    attachments.tidy(tmp_path, new.stat().st_mtime)
    assert (old.exists(), new.exists(), other.exists()) == (False, True, True)
    assert new.stat().st_mode & 0o777 == 0o600
    assert new.parent == tmp_path / "cache" / "documents"


@pytest.mark.asyncio
async def test_what_cannot_be_had_is_said(tmp_path: Path) -> None:
    async def fetch(file_id: str, most: int) -> bytes:
        if file_id == "gone":
            raise RefusalError(400, "Bad Request: file is too big")
        return file_id.encode()

    files = [
        Attachment("photo", "p", "", "image/jpeg"),
        Attachment("document", "gone", "x].txt"),
        Attachment("document", "big", "big.iso", size=10**9),
        Attachment("voice", "v", seconds=3),
    ]

    event = MessageEvent(
        "look", metadata={"telegram_files": json.dumps([asdict(f) for f in files])}
    )
    worker = WorkerThreads("test-files")
    try:
        found = await attachments.fetched(event, fetch, worker, tmp_path, 1_000_000)
        same = await attachments.fetched(replace(event, metadata={}), fetch, worker, tmp_path, 1)
    finally:
        worker.close()
    lines = found.text.split("\n")
    assert lines[0] == "look"
    assert "A file “x).txt” came with this message but could not be fetched" in lines[1]
    assert "larger than 1 MB" in lines[2]
    assert lines[3].startswith("[A voice message of 3 s came with this message")
    assert [Path(each).read_bytes() for each in found.media_urls] == [b"p"]
    assert found.media_types == ("image/jpeg",)
    assert same.text == "look"


@pytest.mark.asyncio
async def test_a_full_disk_is_said_and_leaves_no_half_behind(tmp_path: Path) -> None:
    async def fetch(file_id: str, most: int) -> bytes:
        return b"x" * 10_000

    file = Attachment("document", "f", "a.txt")
    whole = attachments.save(tmp_path, file, b"")
    half = whole.with_name(f".{whole.name}.part")
    half.symlink_to("/dev/full")
    event = MessageEvent("look", metadata={"telegram_files": json.dumps([asdict(file)])})
    worker = WorkerThreads("test-files")
    try:
        found = await attachments.fetched(event, fetch, worker, tmp_path, 1_000_000)
    finally:
        worker.close()
    assert found.media_urls == ()
    assert found.text.endswith("could not be fetched: No space left on device.]")
    assert str(tmp_path) not in found.text
    assert not half.is_symlink()


def test_halves_that_a_killed_program_left_go_after_a_day(tmp_path: Path) -> None:
    whole = attachments.save(tmp_path, Attachment("document", "f", "a.txt"), b"x")
    half = whole.with_name(f".{whole.name}.part")
    half.write_bytes(b"half")
    attachments.tidy(tmp_path, whole.stat().st_mtime + 60)
    assert half.exists()
    attachments.tidy(tmp_path, whole.stat().st_mtime + 100_000)
    assert not half.exists()
    assert not whole.exists()
