"""The findings about a command, with a text for the user."""

import re
from dataclasses import dataclass, field

from hermes_desktop.agent.tools.danger import danger_paths
from hermes_desktop.agent.tools.danger.danger_paths import Places
from hermes_desktop.agent.tools.danger.shell_words import Word

_HIDDEN_ASSIGNMENTS = re.compile(
    r"^(LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|PS4|IFS|PATH|SHELL"
    r"|GIT_(?!AUTHOR_|COMMITTER_|TERMINAL_PROMPT$|TRACE|MERGE_AUTOEDIT$|OPTIONAL_LOCKS$)\w+"
    r"|\w*PAGER|EDITOR|VISUAL|BROWSER|\w*_ASKPASS|RSYNC_RSH|CVS_RSH|LESSOPEN|LESSCLOSE|TAR_OPTIONS"
    r"|PYTHON(STARTUP|PATH|HOME|BREAKPOINT|INSPECT)|PERL5(OPT|LIB|DB)|PERLLIB|RUBY(OPT|LIB)"
    r"|NODE_OPTIONS|SHELLOPTS|BASHOPTS|\w*RUSTC\w*|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS"
    r"|MAKEFLAGS|HGRCPATH|BASH_FUNC\w*)$"
)
_USUAL = re.compile(
    r"(\w*PAGER|(GIT_)?EDITOR|VISUAL|GIT_SEQUENCE_EDITOR)=(cat|less|more|most|bat|true|:|vim?|nano)?"
    r"|NODE_OPTIONS=(--max[-_]old[-_]space[-_]size=\d+)?|MAKEFLAGS=-?j\s*\d*|RUSTC_WRAPPER=(sccache)?"
    r"|JAVA_TOOL_OPTIONS=(?i:(-Xm[sx]\d+[kmg]\s*)*)"
)
"""Values with which such a variable changes nothing."""


@dataclass(frozen=True, slots=True)
class Danger:
    """One reason why a command needs approval.

    Attributes:
        key: A stable name of the kind.
        words: What it does, after "It": ``deletes a folder with all in it``.
        hard: It is never run, even with approval.
    """

    key: str
    words: str
    hard: bool = False


@dataclass(slots=True)
class Found:
    """A collection of dangers, each kind once; a hard one replaces a soft one of its kind.

    Attributes:
        steps: How many programs were assessed.
        written: Files with new content, written by the programs assessed so far.
        programs: What is started, each with its arguments.
    """

    steps: int = 0
    written: set[str] = field(default_factory=set)
    programs: list[tuple[Word, ...]] = field(default_factory=list)
    _by_key: dict[str, Danger] = field(default_factory=dict)

    def add(self, key: str, words: str, *, hard: bool = False) -> None:
        """Record a danger."""
        known = self._by_key.get(key)
        if known is None or (hard and not known.hard):
            self._by_key[key] = Danger(key, words, hard)

    def keys(self) -> set[str]:
        """Return the kinds that were found."""
        return set(self._by_key)

    def write(self, target: Word, places: Places, *, content: bool = False) -> None:
        """Record a written file, if that needs care.

        Args:
            target: The file.
            places: Where the command runs.
            content: Its new content comes from the command, or from elsewhere.
        """
        if not target.text or target.text == "-":
            return
        path = places.absolute(target.text)
        if content:
            self.written.add(path)
        if danger_paths.is_disk(path):
            self.add("write-disk", f"overwrites the disk {target.text}", hard=True)
            return
        if path == "/proc/sysrq-trigger":
            self.add("power", "switches the machine off", hard=True)
        why = danger_paths.needs_care_to_write(path, places)
        if why:
            self.add("writes-care", f"writes {target.text[:80]}; {why}")
        elif target.opaque:
            self.add("writes-unknown", "writes a file whose name is only known at run time")

    def all(self) -> tuple[Danger, ...]:
        """Return the findings, the worst first."""
        return tuple(sorted(self._by_key.values(), key=lambda each: not each.hard))


def changes_what_runs(name: str, value: Word, places: Places, found: Found) -> None:
    """Record a variable that determines which programs are run."""
    if not _HIDDEN_ASSIGNMENTS.match(name):
        return
    if name == "PYTHONPATH" and _is_own(value, places):
        return
    if not value.opaque and _USUAL.fullmatch(f"{name}={value.text}"):
        return
    found.add("hidden-program", f"changes {name}, which other programs use to run commands")


def _is_own(value: Word, places: Places) -> bool:
    """Return whether all folders are inside the working folder."""
    root = str(places.root or places.cwd)
    names = [each for each in value.text.split(":") if each not in {"", "${PYTHONPATH}"}]
    if any("$" in each for each in names) or (value.opaque and "${PYTHONPATH}" not in value.text):
        return False
    paths = [places.absolute(each) for each in names]
    return all(each == root or each.startswith(root + "/") for each in paths)
