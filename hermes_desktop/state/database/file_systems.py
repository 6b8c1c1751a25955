"""Detection of the file system a path is on, from the mount table."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")
_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\w*|ncpfs|afs|9p|ceph|gluster\w*|lustre|gpfs|davfs\d?|webdav|afpfs|vboxsf|drvfs"
    r"|fuse\.(sshfs|rclone|gvfsd-fuse|s3fs|davfs2?|glusterfs|cephfs|goofys|gcsfuse|nfs\w*|smb\w*)"
)


@dataclass(frozen=True, slots=True)
class FileSystem:
    """The file system of a path.

    Attributes:
        kind: The system's name for it, "" if unknown.
        mount: The mount point.
        network: Whether several machines may share it, so that locks are not reliable.
    """

    kind: str
    mount: str = ""
    network: bool = False


def file_system_of(path: Path, *, mounts: Path = _MOUNTS) -> FileSystem:
    """Return the file system of a path, which need not exist.

    Args:
        path: The file.
        mounts: The mount table in the format of Linux.
    """
    if sys.platform != "linux":
        return _by_psutil(path)
    try:
        table = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return FileSystem("")
    best = FileSystem("")
    target = path.absolute().resolve()
    for line in table.splitlines():
        fields, _, rest = line.partition(" - ")
        mount = _OCTAL.sub(lambda m: chr(int(m.group(1), 8)), fields.split(" ")[4])
        # Later mounts hide earlier ones.
        if len(mount) >= len(best.mount) and target.is_relative_to(mount):
            best = _made(rest.split(" ")[0], mount)
    return best


def _made(kind: str, mount: str) -> FileSystem:
    return FileSystem(kind, mount, network=bool(_NETWORK.fullmatch(kind.lower())))


def _by_psutil(path: Path) -> FileSystem:
    import psutil  # noqa: PLC0415 - only where there is no /proc

    best = FileSystem("")
    target = path.absolute().resolve()
    for part in psutil.disk_partitions(all=True):
        if len(part.mountpoint) >= len(best.mount) and target.is_relative_to(part.mountpoint):
            best = _made(part.fstype, part.mountpoint)
    return best
