"""Notices that the machine goes out by another way than before: another network, a tunnel, none."""

from pathlib import Path

_ANYWHERE = {"00000000", "0" * 32}
_IPV4_COLUMNS = 8
_IPV6_COLUMNS = 10


class NetworkWatch:
    """Compares the ways out that the system knows with those of the last look.

    A look reads two small files of the kernel (about 0.1 ms), so it can be made on the loop beside
    something else. Routes to neighbours do not count: containers come and go. Where there are no
    such files nothing ever changes.

    Args:
        folder: Where the kernel shows its routes.
    """

    def __init__(self, folder: Path = Path("/proc/net")) -> None:
        self._folder = folder
        self._seen = self._ways_out()

    def look(self) -> bool:
        """Whether something is another than at the last look."""
        before, self._seen = self._seen, self._ways_out()
        return before != self._seen

    def _ways_out(self) -> frozenset[tuple[str, ...]]:
        ways = set()
        for line in self._lines("route"):
            fields = line.split()
            if len(fields) >= _IPV4_COLUMNS and fields[1] in _ANYWHERE:
                ways.add((fields[0], fields[2], fields[7]))  # device, gateway, mask
        for line in self._lines("ipv6_route"):
            fields = line.split()
            if len(fields) >= _IPV6_COLUMNS and fields[0] in _ANYWHERE and fields[-1] != "lo":
                ways.add((fields[-1], fields[4], fields[1]))
        return frozenset(ways)

    def _lines(self, name: str) -> list[str]:
        try:
            return (self._folder / name).read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            return []
