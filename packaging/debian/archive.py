"""The formats of a Debian package: ``ar`` and ``tar``, with the same bytes each time."""

import io
import lzma
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

_BLOCK = 60
"""Bytes of a header of ``ar``."""


@dataclass(frozen=True)
class Entry:
    """A file of a package.

    Attributes:
        content: Its bytes, or the target of a link.
        mode: Its permissions.
        is_link: Whether it is a symbolic link.
    """

    content: bytes
    mode: int = 0o644
    is_link: bool = False


def link(target: str) -> Entry:
    """Return a symbolic link."""
    return Entry(target.encode(), 0o777, is_link=True)


def tar_xz(entries: Mapping[str, Entry], epoch: int) -> bytes:
    """Return a compressed archive with all folders above the entries; everything is root's."""
    raw = io.BytesIO()
    folders = {
        str(folder)
        for name in entries
        for folder in PurePosixPath(name).parents
        if str(folder) != "."
    }
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(_header(".", epoch, 0o755, tarfile.DIRTYPE))
        for name in sorted(folders | entries.keys()):
            if name in folders:
                archive.addfile(_header(f"./{name}", epoch, 0o755, tarfile.DIRTYPE))
                continue
            entry = entries[name]
            if entry.is_link:
                header = _header(f"./{name}", epoch, entry.mode, tarfile.SYMTYPE)
                header.linkname = entry.content.decode()
                archive.addfile(header)
                continue
            header = _header(f"./{name}", epoch, entry.mode, tarfile.REGTYPE)
            header.size = len(entry.content)
            archive.addfile(header, io.BytesIO(entry.content))
    return lzma.compress(raw.getvalue(), preset=6)


def ar(members: Iterable[tuple[str, bytes]], epoch: int) -> bytes:
    """Return an archive of the members in their order."""
    made = [b"!<arch>\n"]
    for name, content in members:
        header = f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
        made += [header.encode("ascii"), content, b"\n" * (len(content) % 2)]
    return b"".join(made)


def read_ar(raw: bytes) -> dict[str, bytes]:
    """Return the members of an archive by name."""
    found: dict[str, bytes] = {}
    at = len(b"!<arch>\n")
    while at < len(raw):
        header = raw[at : at + _BLOCK].decode("ascii")
        size = int(header[48:58])
        at += _BLOCK
        found[header[:16].rstrip()] = raw[at : at + size]
        at += size + size % 2
    return found


def _header(name: str, epoch: int, mode: int, kind: bytes) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.mtime, header.mode, header.type = epoch, mode, kind
    header.uname = header.gname = "root"
    return header
