"""The values of the sandbox: how firmly it holds, what a command may reach, what it lacked."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal


class Level(Enum):
    """How firmly the programs of the assistant are held. Fixed before a command starts."""

    CLOSED = "A"
    """bubblewrap: what is not granted does not exist inside."""
    PARTLY_HELD = "B"
    """Landlock and seccomp: contents and network are held, modes and times of files are not."""
    NONE = "C"
    """Nothing holds a program here; every command needs the user's approval."""


@dataclass(frozen=True, slots=True)
class SandboxStatus:
    """The result of the probe.

    Attributes:
        level: What works on this computer.
        error: The exact error of what did not work; "" at level A.
        remedy: What the user can do about it, in words of the distribution; "" if nothing helps.
    """

    level: Level
    error: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a command may reach besides the system and recognised toolchains.

    Attributes:
        folder: The working folder; readable and writable.
        read: Further files and folders that may be read.
        write: Further files and folders that may be read and written.
        hosts: Hosts that may be reached by name; ``*.example.org`` includes subdomains. Enforced at
            level A only: at level B any host opens the network as a whole.
        network: Every public host may be reached.
    """

    folder: Path
    read: frozenset[Path] = frozenset()
    write: frozenset[Path] = frozenset()
    hosts: frozenset[str] = frozenset()
    network: bool = False

    @property
    def is_online(self) -> bool:
        """Whether any host may be reached."""
        return self.network or bool(self.hosts)


@dataclass(frozen=True, slots=True)
class Access:
    """One thing that commands may reach besides their folder.

    Attributes:
        kind: A path or a host.
        value: The canonical path, or the host's name.
        write: A path may be changed, not only read.
    """

    kind: Literal["path", "host"]
    value: str
    write: bool = False


@dataclass(frozen=True, slots=True)
class Hold:
    """How firmly one command will be held.

    Attributes:
        level: The level at which it will run.
        doubt: What it does in spite of the sandbox, as the end of a sentence that begins with
            "It"; "" if nothing.
        leaves: It works outside its folder, or in one that is too wide, whatever else is held.
    """

    level: Level
    doubt: str = ""
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that a command tried to use and that was not granted.

    Attributes:
        kind: A path or a host.
        value: The canonical path, or the host's name.
    """

    kind: Literal["path", "host"]
    value: str
