"""Detection of network changes by comparing default routes: another network, a tunnel, none."""

from pathlib import Path

_ANYWHERE = {"00000000", "0" * 32}
_IPV4_COLUMNS = 8
_IPV6_COLUMNS = 10


class NetworkWatch:
    """Compares the machine's default routes with those of the last check.

    A check reads two small files of the kernel (about 0.1 ms), so it can run on the event loop.
    Routes to neighbors do not count, because containers come and go. Where these files do not
    exist, no change is ever detected.

    Args:
        folder: The folder in which the kernel shows its routes.
    """

    def __init__(self, folder: Path = Path("/proc/net")) -> None:
        self._folder = folder
        self._seen = self._ways_out()

    def look(self) -> bool:
        """Return whether the routes changed since the last check."""
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
