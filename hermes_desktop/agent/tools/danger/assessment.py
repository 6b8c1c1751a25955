"""Assessment of a shell command before it runs: may it do harm, and how much.

An assessment lists findings. ``hard`` findings are never run; others need the user's approval.
Text that cannot be analyzed is a finding, too: nothing passes because it is obfuscated.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hermes_desktop.agent.tools.danger import danger_paths, danger_programs
from hermes_desktop.agent.tools.danger.danger_interpreters import is_interpreter
from hermes_desktop.agent.tools.danger.danger_paths import Places
from hermes_desktop.agent.tools.danger.danger_texts import (
    database_findings,
    hidden_texts,
    pattern_findings,
    script_text,
)
from hermes_desktop.agent.tools.danger.danger_words import Danger, Found, changes_what_runs
from hermes_desktop.agent.tools.danger.shell_reader import MOST_CHARACTERS, read_shell
from hermes_desktop.agent.tools.danger.shell_words import Reading, Simple, Word

_MOST_UNWRAPPED = 8
_MOST_STEPS = 2000
_MOST_TRIED = 24
_RUNS_TEXT = frozenset(
    {"runs-unseen", "runs-text", "unreadable", "delete-many", "hidden-program", "indirect",
     "system"})  # fmt: skip
_LASTING = frozenset(
    {"delete-root", "format-disk", "write-disk", "fork-bomb", "permissions-root", "move-vital"}
)
"""Forbidden in every script, whoever wrote it; the rest may be justified, and the user is asked."""
_HIDDEN_GLOB = re.compile(r"(^|/)\.(?!/|\./)[^/]*[*?\[{][^/]*|(^|/)\.hermes[^/]*/[^/]*[*?\[{]")
_TAKES_ALL = frozenset(
    {"grep", "egrep", "fgrep", "tar", "cp", "zip", "7z", "rsync", "ack", "ag", "mv", "ln", "cat"}
)
_ONLY_WORDS = frozenset({"echo", "printf", "true", "false", "mkdir", "test", "[", "[["})


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a command may do.

    Attributes:
        dangers: What needs approval, or is never run; () for nothing.
        programs: What it starts, each with its arguments, without quotes and wrappers.
    """

    dangers: tuple[Danger, ...]
    programs: tuple[tuple[Word, ...], ...] = ()


def judge(text: str, places: Places) -> Judgement:
    """Assess a command.

    Nothing is run; links are resolved, and scripts that it runs are read.
    """
    found = Found()
    if len(text) > MOST_CHARACTERS:
        found.add("too-long", "is too long to be judged", hard=True)
        return Judgement(found.all())
    plain = unicodedata.normalize("NFKC", text)
    for key, words, hard in pattern_findings(plain):
        found.add(key, words, hard=hard)
    if plain != text:
        found.add("lookalikes", "contains characters that look like others")
    _Judge(places, found).text(text, 0)
    return Judgement(found.all(), tuple(found.programs))


@dataclass(frozen=True, slots=True)
class _Judge:
    places: Places
    found: Found
    trying: bool = False

    def text(self, text: str, depth: int) -> None:
        """Assess shell text."""
        if depth > _MOST_UNWRAPPED:
            self._too_deep()
            return
        reading = read_shell(text)
        for problem in reading.problems:
            self.found.add("unreadable", f"cannot be judged: {problem}")
        if reading.lost:  # part of it may still run
            for key, words, _ in pattern_findings(text, lost=True):
                self.found.add(key, words, hard=True)
        judge = self
        for command in reading.commands:
            judge.command(command, depth)
            judge = judge.after(command)
        programs = {_base(each.words[0].text) for each in reading.commands if each.words}
        for key, words in database_findings(programs, text):
            self.found.add(key, words)
        if not self.trying and self.found.keys() & _RUNS_TEXT:
            self._try_hidden(reading, depth)

    def _too_deep(self) -> None:
        self.found.add("unreadable", "starts programs through too many others", hard=True)

    def after(self, command: Simple) -> "_Judge":
        """Return the judge of the next command: after ``cd`` relative paths mean other files."""
        program = command.words[0].text if command.words else ""
        if program not in {"cd", "pushd", "popd"}:
            return self
        operands = [each for each in command.words[1:] if not each.text.startswith("-")]
        target: str | None = "~"
        if operands:
            target = None if operands[0].opaque else operands[0].text
        elif len(command.words) > 1 or program == "popd":
            target = None
        return replace(self, places=self.places.after_cd(target))

    def command(self, command: Simple, depth: int) -> None:
        """Assess one program with its redirections and assignments."""
        for operator, target in command.redirects:
            self._redirect(operator, target)
        only_reads = bool(command.words) and command.words[0].text == "read"
        for name, value in command.assigned:
            if only_reads and name == "IFS":
                continue  # it only splits the input
            changes_what_runs(name, value, self.places, self.found)
        if not command.loop and command.words:
            self.words(command.words, depth)

    def words(self, words: Sequence[Word], depth: int, *, looked: bool = False) -> None:
        """Assess a program and its arguments.

        Args:
            words: The program first.
            depth: The number of programs that it is started through.
            looked: Its arguments were checked already, as those of the program that starts it.
        """
        first = words[0]
        self.found.steps += 1
        if depth > _MOST_UNWRAPPED or self.found.steps > _MOST_STEPS:
            self._too_deep()
            return
        program = _base(first.text)
        self.found.programs.append((replace(first, text=program), *words[1:]))
        if first.opaque or "{}" in first.text or _is_glob(first):
            self.found.add(
                "unreadable", "cannot be judged: the program that runs is only known at run time"
            )
            self._any_program(words[1:], depth)
            return
        if not program.isascii():
            self.found.add("lookalikes", "contains characters that look like others")
        if not looked:
            self._arguments(program, words[1:])
        for each in danger_programs.judge(program, words[1:], self.places, self.found):
            if isinstance(each, str):
                self.text(each, depth + 1)
            elif each:
                self.words(each, depth + 1, looked=True)
        self._script(words, depth)

    def _any_program(self, rest: Sequence[Word], depth: int) -> None:
        """Assess an unknown program: it may be the worst one."""
        self._try_words([Word("rm"), *rest], depth)
        for flag, text in pairwise(rest):
            if flag.text == "-c" and not text.opaque:
                self.text(text.text, depth + 1)

    def _script(self, words: Sequence[Word], depth: int) -> None:
        """Assess a local script, as far as it would be destructive."""
        program = _base(words[0].text)
        path = danger_programs.script_of(program, words, self.places)
        if path is None:
            return
        if path in self.found.written:
            self.found.add("runs-unseen", "runs something that was just written or downloaded")
        if self.trying or depth >= _MOST_UNWRAPPED or is_interpreter(program):
            return
        text = script_text(path)
        if text:
            for each in self._tried(lambda judge: judge.text(text, depth + 1)):
                if each.key in _LASTING:
                    self.found.add(each.key, f"runs a script that {each.words}", hard=True)

    # Commands hidden in a text that another program runs

    def _try_hidden(self, reading: Reading, depth: int) -> None:
        """Assess every text in the command, in any encoding, as if it were run."""
        texts = hidden_texts(reading)
        for text in texts[:_MOST_TRIED]:
            self._try_text(text, depth)
            for key, words, _ in pattern_findings(text):
                self.found.add(key, words, hard=key != "raw-connection")
        for kept in reading.lists[:_MOST_TRIED]:
            self._try_words(kept, depth)
        for command in reading.commands:
            if command.words and command.words[0].text == "set":
                self._try_words([e for e in command.words[1:] if e.text != "--"], depth)
            if any(each.opaque for each in command.words) or _is_fed(command):
                self._fill_in(command, texts, depth)

    def _fill_in(self, command: Simple, texts: Sequence[str], depth: int) -> None:
        self._try_words([Word(each.text) for each in command.words], depth)
        for text in texts[:_MOST_TRIED]:
            if _is_fed(command):
                parts = [Word(each) for each in text.split()[:_MOST_TRIED]]
                self._try_words([*command.words, *parts], depth)
            if " " in text:
                continue
            for known in (False, True):
                words = [
                    Word((each.text if known else "") + text)
                    if each.opaque or each.text == "{}"
                    else each
                    for each in command.words
                ]
                self._try_words(words, depth)

    def _try_text(self, text: str, depth: int) -> None:
        self._note_hard(lambda judge: judge.text(text, depth + 1))

    def _try_words(self, words: Sequence[Word], depth: int) -> None:
        if words:
            self._note_hard(lambda judge: judge.words(words, depth + 1))

    def _note_hard(self, ask: "Callable[[_Judge], None]") -> None:
        for each in self._tried(ask):
            self.found.add(each.key, each.words, hard=True)

    def _tried(self, ask: "Callable[[_Judge], None]") -> list[Danger]:
        """Return the findings that would be forbidden if this were run."""
        found = Found(steps=self.found.steps)
        ask(_Judge(self.places, found, trying=True))
        self.found.steps = found.steps
        return [each for each in found.all() if each.hard and each.key != "unreadable"]

    # Places

    def _arguments(self, program: str, words: Sequence[Word]) -> None:
        """Find names of places with secrets, whichever program reads them."""
        if program in _ONLY_WORDS:
            return
        for word in words:
            for text in _names_in(word):
                path = self.places.absolute(text)
                hidden = word.wild and bool(_HIDDEN_GLOB.search(text))
                whole = program in _TAKES_ALL and danger_paths.contains_home(path, self.places)
                if hidden or whole or danger_paths.holds_secrets(path, self.places):
                    self.found.add("reads-secrets", f"accesses {text[:80]}, which contains secrets")

    def _redirect(self, operator: str, target: Word) -> None:
        is_number = target.text.isdigit() or target.text == "-"
        if operator.startswith("<") and operator != "<>":
            if operator != "<<<":
                self._arguments("", [target])
            return
        if operator in {">&", "<&"} and is_number:
            return
        self.found.write(target, self.places, content=True)


def _is_fed(command: Simple) -> bool:
    """Return whether input of the program becomes arguments."""
    return bool(command.words) and _base(command.words[0].text) in {"xargs", "parallel"}


def _names_in(word: Word) -> set[str]:
    """Return the paths that a word may stand for."""
    whole = {word.text, word.text.partition("=")[2], word.text.partition("@")[2]}
    if word.wild and "{" in word.text:
        whole |= set(re.split(r"[{},]", word.text))
    names = {each.rpartition(":")[2] or each for each in whole}
    # A sentence is no path; a path may have blanks.
    paths = {each for each in names if " " not in each or each.startswith(("/", "~/", "./"))}
    return {each for each in paths if each and not each.startswith("-")}


def _is_glob(word: Word) -> bool:
    if not word.wild or word.text in {"[", "[["}:
        return False
    return bool(set(word.text) & set("*?[")) or ("{" in word.text and ".." in word.text)


def _base(program: str) -> str:
    name = program.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return name.removesuffix(".exe")
