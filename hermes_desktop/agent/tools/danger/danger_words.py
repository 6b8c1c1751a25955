"""The findings about a command, with a text for the user."""

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from hermes_desktop.agent.tools.danger import danger_paths
from hermes_desktop.agent.tools.danger.danger_paths import Places
from hermes_desktop.agent.tools.danger.shell_reader import Word

_HIDDEN_ASSIGNMENTS = re.compile(
    r"^(LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|PS4|IFS|PATH|SHELL"
    r"|GIT_(?!AUTHOR_|COMMITTER_|TERMINAL_PROMPT$|TRACE|MERGE_AUTOEDIT$|OPTIONAL_LOCKS$)\w+"
    r"|\w*PAGER|EDITOR|VISUAL|BROWSER|\w*_ASKPASS|RSYNC_RSH|CVS_RSH|LESSOPEN|LESSCLOSE|TAR_OPTIONS"
    r"|PYTHON(STARTUP|PATH|HOME|BREAKPOINT|INSPECT)|PERL5(OPT|LIB|DB)|PERLLIB|RUBY(OPT|LIB)"
    r"|NODE_OPTIONS|SHELLOPTS|BASHOPTS|\w*RUSTC\w*|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS"
    r"|MAKEFLAGS|HGRCPATH|BASH_FUNC\w*)$"
)
_SHOWS = re.compile(r"^(\w*PAGER|(GIT_)?EDITOR|VISUAL|GIT_SEQUENCE_EDITOR)$")
_USUAL_ONES = frozenset(
    {"", "cat", "less", "more", "most", "bat", "true", ":", "vi", "vim", "nano"}
)
_USUAL = {
    "NODE_OPTIONS": re.compile(r"^(--max[-_]old[-_]space[-_]size=\d+)?$"),
    "JAVA_TOOL_OPTIONS": re.compile(r"^(-Xm[sx]\d+[kmg]\s*)*$", re.IGNORECASE),
    "MAKEFLAGS": re.compile(r"^-?j\s*\d*$"),
    "RUSTC_WRAPPER": re.compile(r"^(sccache)?$"),
}


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
    if not value.opaque and _is_usual(name, value.text):
        return
    found.add("hidden-program", f"changes {name}, which other programs use to run commands")


def _is_usual(name: str, text: str) -> bool:
    if _SHOWS.match(name):
        return text in _USUAL_ONES
    usual = _USUAL.get(name)
    return usual is not None and usual.match(text) is not None


def _is_own(value: Word, places: Places) -> bool:
    """Return whether all folders are inside the working folder."""
    root = str(places.root or places.cwd)
    names = [each for each in value.text.split(":") if each not in {"", "${PYTHONPATH}"}]
    if any("$" in each for each in names) or (value.opaque and "${PYTHONPATH}" not in value.text):
        return False
    paths = [places.absolute(each) for each in names]
    return all(each == root or each.startswith(root + "/") for each in paths)


# Deny rules

_LETTERS = re.compile(r"-[A-Za-z]+\*?")
_MOST_STARTS = 8
_LEAST_TOKENS = 2


def is_denied(rule: str, programs: Sequence[tuple[Word, ...]]) -> bool:
    """Return whether a rule such as ``git push*`` denies one of the programs.

    Its words may stand anywhere among the options: ``git -C . push`` is the same as ``git push``.
    A word that is only known at run time may be any word.

    Args:
        rule: With ``*`` and ``?``.
        programs: What is started, each with its arguments, without quotes and wrappers.
    """
    tokens = rule.split()
    if not tokens:
        return False
    starts = [0]
    if any(words[0].opaque and _is_many(words[0]) for words in programs):
        starts = list(range(_MOST_STARTS))  # a function that runs its arguments
    return any(
        _denies(tokens, words[start:])
        for words in programs
        for start in starts
        if start < len(words)
    )


def _denies(tokens: Sequence[str], words: Sequence[Word]) -> bool:
    program, *rest = words
    if program.opaque and (len(tokens) < _LEAST_TOKENS or _is_many(program)):
        return False  # it may be anything, and so may its rule
    if not program.opaque and not fnmatch.fnmatchcase(program.text, tokens[0]):
        return False
    flags = [each for each in tokens[1:] if each.startswith("-")]
    if not all(_has_flag(each, rest) for each in flags):
        return False
    return _in_order([each for each in tokens[1:] if not each.startswith("-")], tokens, rest)


def _in_order(wanted: Sequence[str], tokens: Sequence[str], words: Sequence[Word]) -> bool:
    """Return whether the words of a rule follow one another, with only options in between."""
    is_open = tokens[-1].endswith("*")
    if not wanted and is_open:
        return True
    reached = {0}  # how many words of the rule may be found so far
    before: Word | None = None
    for word in words:
        is_option = word.text.startswith("-") and not word.opaque
        is_value = before is not None and before.text.startswith("-")
        following: set[int] = set()
        for count in reached:
            if is_option or is_value:
                following.add(count)
            if count < len(wanted) and _is_word(wanted[count], word, known=is_value):
                following |= {count, count + 1} if wanted[count] == "*" else {count + 1}
        if len(wanted) in following and is_open:
            return True
        if reached and _is_many(word) and not is_value:
            return True
        reached, before = following, word
    return len(wanted) in reached


def _is_word(wanted: str, word: Word, *, known: bool) -> bool:
    if word.opaque:
        return not known  # what follows an option is its value
    return fnmatch.fnmatchcase(word.text, wanted) and (wanted == "*" or " " not in word.text)


def _has_flag(wanted: str, words: Sequence[Word]) -> bool:
    """Return whether an option is present; letters may be given together or one by one."""
    if any(fnmatch.fnmatchcase(each.text, wanted) or _is_many(each) for each in words):
        return True
    if not _LETTERS.fullmatch(wanted):
        return False
    given = {letter for each in words if _LETTERS.fullmatch(each.text) for letter in each.text[1:]}
    return set(wanted[1:].rstrip("*")) <= given


def _is_many(word: Word) -> bool:
    """Return whether a word may become several at run time."""
    return word.text == "{}" or (word.opaque and ("@" in word.text or "*" in word.text))
