"""Which file system a path lies on, by the table of mounts."""

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
    """Where a file lies.

    Attributes:
        kind: As the system calls it, "" if it cannot be told.
        mount: Where it hangs.
        network: Whether several machines may share it, so that locks cannot be relied on.
    """

    kind: str
    mount: str = ""
    network: bool = False


def file_system_of(path: Path, *, mounts: Path = _MOUNTS) -> FileSystem:
    """Look up the file system of a path, which need not exist.

    Args:
        path: The file.
        mounts: The table, as Linux writes it.
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
        # Later lines lie over earlier ones.
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
