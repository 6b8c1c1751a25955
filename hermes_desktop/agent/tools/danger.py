"""Judges a shell command before it runs: may it do harm, and how much.

A judgement lists what was found. ``hard`` findings are never done; others need a person's word.
Text that cannot be followed is a finding, too: nothing passes because it was too clever.
"""

import re
import unicodedata
from dataclasses import dataclass, replace

from hermes_desktop.agent.tools import danger_paths, danger_programs
from hermes_desktop.agent.tools.danger_paths import Places
from hermes_desktop.agent.tools.danger_words import Danger, Found
from hermes_desktop.agent.tools.shell_reader import (
    MOST_CHARACTERS,
    CannotReadError,
    Simple,
    Word,
    read_shell,
)

__all__ = ["Danger", "judge_command"]

_MOST_UNWRAPPED = 8
_MOST_STEPS = 1000
# Every pattern here is bounded: a text that is made to be slow would hold up the whole program.
_FORK_BOMB = re.compile(
    r"([^\s(){};|&]{1,40})\s{0,8}\(\)\s{0,8}\{[^}]{0,200}?\1\s{0,8}\|\s{0,8}\1\s{0,8}&"
)
_ROUGH_RM = re.compile(r"\brm[ \t]{1,8}([^\n;|&]{0,200})")
_ROOTS = frozenset({"/", "/*", "~", "~/", "~/*", "$HOME", "$HOME/", "${HOME}"})
_ROUGH = (
    (re.compile(r"\bmkfs(\.\w{1,8})?\s[^\n]{0,80}/dev/"), "format-disk", "formats a disk"),
    (re.compile(r">\s{0,8}/dev/(sd|hd|vd|xvd|nvme|mmcblk)"), "write-disk", "overwrites a disk"),
)  # fmt: skip
_HIDDEN_ASSIGNMENTS = re.compile(
    r"^(LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|PS4|IFS|PATH"
    r"|GIT_SSH|GIT_SSH_COMMAND|GIT_EXTERNAL_DIFF|GIT_PAGER|GIT_EDITOR|PAGER|EDITOR|VISUAL"
    r"|PYTHONSTARTUP|PYTHONPATH|PERL5OPT|PERL5LIB|RUBYOPT|NODE_OPTIONS|SHELLOPTS|LESSOPEN)$"
)
_SQL = re.compile(
    r"\b(drop\s+(table|database|schema|index|view|user|role|collection)|truncate\s+(table\s+)?\w"
    r"|delete\s+from\s+[\w.\"`]+\s*(;|\"|'|$)|delete\s+from\s+(?!.*\bwhere\b)"
    r"|update\s+[\w.\"`]+\s+set\s+(?!.*\bwhere\b)|alter\s+table\s+.*\bdrop\b|grant\s+all"
    r"|dropdatabase|flushall|flushdb|deletemany\(\{\}\))",
    re.IGNORECASE | re.DOTALL,
)
_HIDDEN_GLOB = re.compile(r"(^|/)\.(?!/|\./)[^/]*[*?\[{][^/]*|(^|/)\.hermes[^/]*/[^/]*[*?\[{]")
_TAKES_ALL = frozenset(
    {"grep", "egrep", "fgrep", "tar", "cp", "zip", "7z", "rsync", "ack", "ag", "mv", "ln", "cat"}
)
_SQL_CLIENTS = frozenset(
    {
        "psql",
        "mysql",
        "mariadb",
        "sqlite3",
        "mongo",
        "mongosh",
        "redis-cli",
        "sqlcmd",
        "clickhouse-client",
        "duckdb",
    }
)


def judge_command(text: str, places: Places) -> tuple[Danger, ...]:
    """What a command may do that needs a person's word, or is never done; () for nothing.

    Pure but for looking links up: nothing is run.
    """
    found = Found()
    if len(text) > MOST_CHARACTERS:
        found.add("too-long", "is too long to be judged", hard=True)
        return found.all()
    plain = unicodedata.normalize("NFKC", text)
    _rough(plain, found)
    if plain != text:
        found.add("lookalikes", "has characters that look like others")
    _Judge(places, found).text(text, 0)
    return found.all()


def _rough(text: str, found: Found) -> None:
    """What must be found even in text that cannot be followed."""
    bare = re.sub(r"\\\n|['\"\\]", "", text)
    bare = re.sub(r"\$\{?IFS\}?", " ", bare)
    for candidate in (text, bare):
        if _FORK_BOMB.search(candidate):
            found.add("fork-bomb", "starts copies of itself without end", hard=True)
        # In quotes it may be meant as text: only what is surely run is never done.
        for pattern, key, words in _ROUGH:
            if pattern.search(candidate):
                found.add(key, words)
        for match in _ROUGH_RM.finditer(candidate):
            given = match[1].split()
            if _ROOTS & set(given) and any(re.match(r"-[a-zA-Z]*[rR]|--rec", e) for e in given):
                found.add("delete-root", "deletes the system or the whole home")
    if re.search(r"/dev/(tcp|udp)/", bare):
        found.add("raw-connection", "opens a connection of its own")


@dataclass(frozen=True, slots=True)
class _Judge:
    places: Places
    found: Found

    def text(self, text: str, depth: int) -> None:
        """Judge shell text."""
        if depth > _MOST_UNWRAPPED:
            self.found.add("unreadable", "starts programs through too many others")
            return
        try:
            commands = read_shell(text)
        except CannotReadError as error:
            self.found.add("unreadable", f"cannot be judged: {error}")
            return
        judge = self
        for command in commands:
            judge.command(command, depth)
            judge = judge.after(command)
        clients = {_base(each.words[0].text) for each in commands if each.words}
        if clients & _SQL_CLIENTS and _SQL.search(text):
            self.found.add("sql-loss", "takes data out of a database")

    def after(self, command: Simple) -> "_Judge":
        """Who judges what comes next: relative paths mean other files in another folder."""
        program = command.words[0].text if command.words else ""
        if program not in {"cd", "pushd", "popd"}:
            return self
        operands = [each for each in command.words[1:] if not each.text.startswith("-")]
        target: str | None = "~"
        if operands:
            target = None if operands[0].opaque else operands[0].text
        elif len(command.words) > 1 or program == "popd":
            target = None
        return replace(self, places=self.places.gone_to(target))

    def command(self, command: Simple, depth: int) -> None:
        """Judge one program with what belongs to it."""
        for operator, target in command.redirects:
            self._redirect(operator, target)
        for name, _ in command.assigned:
            if _HIDDEN_ASSIGNMENTS.match(name):
                self.found.add("hidden-program", f"changes {name}, by which other programs run")
        if not command.loop and command.words:
            self.words(command.words, depth)

    def words(self, words: list[Word], depth: int, *, looked: bool = False) -> None:
        """Judge a program and its arguments.

        Args:
            words: The program first.
            depth: Through how many others it is started.
            looked: Its arguments were looked at already, as those of whatever starts it.
        """
        first = words[0]
        self.found.steps += 1
        if self.found.steps > _MOST_STEPS:
            self.found.add("unreadable", "starts too many programs")
            return
        if first.opaque or _is_glob(first):
            self.found.add("unreadable", "cannot be judged: which program runs is only known later")
            return
        if first.bare and "{" in first.text and ("," in first.text or ".." in first.text):
            self.found.add("unreadable", "cannot be judged: it is written in parts")
            return
        program = _base(first.text)
        if not looked:
            self._arguments(program, words[1:])
        inner = danger_programs.judge(program, words[1:], self.places, self.found)
        for each in inner:
            if isinstance(each, str):
                self.text(each, depth + 1)
            elif each and depth < _MOST_UNWRAPPED:
                self.words(list(each), depth + 1, looked=True)
            elif each:
                self.found.add("unreadable", "starts programs through too many others")

    def _arguments(self, program: str, words: list[Word]) -> None:
        """Names of places that hold secrets, whatever reads them."""
        if program in {"echo", "printf", "true", "false", "mkdir", "test", "[", "[["}:
            return
        for word in words:
            for text in _names_in(word):
                path = self.places.absolute(text)
                hidden = word.bare and bool(_HIDDEN_GLOB.search(text))
                whole = program in _TAKES_ALL and danger_paths.is_around_home(path, self.places)
                if hidden or whole or danger_paths.holds_secrets(path, self.places):
                    self.found.add("reads-secrets", f"touches {text[:80]}, where secrets are kept")

    def _redirect(self, operator: str, target: Word) -> None:
        is_number = target.text.isdigit() or target.text == "-"
        if operator.startswith("<") and operator != "<>":
            if operator != "<<<":
                self._arguments("", [target])
            return
        if operator in {">&", "<&"} and is_number:
            return
        self.found.write(target, self.places)


def _names_in(word: Word) -> set[str]:
    """The paths that a word may stand for."""
    whole = {word.text, word.text.partition("=")[2], word.text.partition("@")[2]}
    if word.bare and "{" in word.text:
        whole |= set(re.split(r"[{},]", word.text))
    names = {each.rpartition(":")[2] or each for each in whole}
    return {each for each in names if each and " " not in each and not each.startswith("-")}


def _is_glob(word: Word) -> bool:
    return word.bare and word.text not in {"[", "[["} and bool(set(word.text) & set("*?["))


def _base(program: str) -> str:
    name = program.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return name.removesuffix(".exe")
