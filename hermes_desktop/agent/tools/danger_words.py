"""What was found in a command, in words for a person."""

from dataclasses import dataclass, field

from hermes_desktop.agent.tools import danger_paths
from hermes_desktop.agent.tools.danger_paths import Places
from hermes_desktop.agent.tools.shell_reader import Word


@dataclass(frozen=True, slots=True)
class Danger:
    """One reason to hold a command.

    Attributes:
        key: A stable name of the kind.
        words: What it does, after "It": ``deletes a folder with all in it``.
        hard: It is never done, whoever allows it.
    """

    key: str
    words: str
    hard: bool = False


@dataclass(slots=True)
class Found:
    """Gathers dangers, each kind once; a hard one stands over a soft one of its kind.

    Attributes:
        steps: How many programs were judged.
    """

    steps: int = 0
    _by_key: dict[str, Danger] = field(default_factory=dict)

    def add(self, key: str, words: str, *, hard: bool = False) -> None:
        """Note one."""
        known = self._by_key.get(key)
        if known is None or (hard and not known.hard):
            self._by_key[key] = Danger(key, words, hard)

    def write(self, target: Word, places: Places) -> None:
        """Note a place that is written to, if that needs care."""
        if not target.text or target.text == "-":
            return
        path = places.absolute(target.text)
        if danger_paths.is_disk(path):
            self.add("write-disk", f"overwrites the disk {target.text}", hard=True)
            return
        why = danger_paths.needs_care_to_write(path, places)
        if why:
            self.add("writes-care", f"writes {target.text[:80]}; {why}")
        elif target.opaque:
            self.add("writes-unknown", "writes a file whose name is only known later")

    def all(self) -> tuple[Danger, ...]:
        """What was found, the worst first."""
        return tuple(sorted(self._by_key.values(), key=lambda each: not each.hard))
