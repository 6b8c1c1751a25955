"""Assessment of a shell command before it runs: may it do harm, and how much.

An assessment lists findings. ``hard`` findings are never run; others need the user's approval.
Text that cannot be analyzed is a finding, too: nothing passes because it is obfuscated.
"""

import base64
import binascii
import codecs
import contextlib
import re
import stat
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from hermes_desktop.agent.tools.danger import danger_paths, danger_programs
from hermes_desktop.agent.tools.danger.danger_paths import Places
from hermes_desktop.agent.tools.danger.danger_words import Danger, Found, changes_what_runs
from hermes_desktop.agent.tools.danger.shell_reader import (
    MOST_CHARACTERS,
    Reading,
    Simple,
    Word,
    read_shell,
)

# Pattern-based findings, which apply even to text that cannot be parsed. Pure.

# Every pattern here is bounded: a text crafted to be slow would block the whole program.
_FORK_BOMB = re.compile(
    r"([^\s(){};|&]{1,40})\s{0,8}\(\)\s{0,8}\{[^}]{0,200}?\1\s{0,8}\|\s{0,8}\1\s{0,8}&"
)
_SELF_STARTER = re.compile(
    r"([\w.-]{1,40})\s{0,8}\(\)\s{0,8}\{[^}]{0,200}?(?<![\w.-])\1\s{0,8}&(?!&)"
)
_RM = re.compile(r"\brm[ \t]{1,8}([^\n;|&]{0,200})")
_RECURSIVE = re.compile(r"-[a-zA-Z]*[rR]|--rec")
_ROOTS = frozenset({"/", "/*", "~", "~/", "~/*", "$HOME", "$HOME/", "${HOME}"})
_ROUGH = (
    (re.compile(r"\bmkfs(\.\w{1,8})?\s[^\n]{0,80}/dev/"), "format-disk", "formats a disk"),
    (re.compile(r">\s{0,8}/dev/(sd|hd|vd|xvd|nvme|mmcblk)"), "write-disk", "overwrites a disk"),
    (re.compile(r"\bof=/dev/(sd|hd|vd|xvd|nvme|mmcblk)"), "write-disk", "overwrites a disk"),
    (
        re.compile(r"\b(rmtree|rmSync|rm_rf|rm_r|remove_dir_all)\b\W{1,4}(/|~)['\"]"),
        "delete-root",
        "deletes the system or the whole home",
    ),
)
_POWER = re.compile(
    r"(^|[\n;&|({])[ \t]{0,8}(sudo[ \t]{1,8})?(shutdown|reboot|poweroff|halt)\b(?![\w.=/-])"
)


def pattern_findings(text: str, *, lost: bool = False) -> Iterator[tuple[str, str, bool]]:
    """Yield key, words and whether it is forbidden.

    Args:
        text: The whole text, or one that another program runs.
        lost: It could not be parsed, so that anything in it may run.
    """
    bare = re.sub(r"\\\n|['\"\\]", "", text)
    bare = re.sub(r"\$\{?IFS\}?", " ", bare)
    apart = re.sub(r"['\",()\[\]\\]{1,8}", " ", text)
    for candidate in (text, bare, apart):
        if _FORK_BOMB.search(candidate) or _SELF_STARTER.search(candidate):
            yield "fork-bomb", "starts copies of itself without end", True
        # In quotes it may be plain text: only what certainly runs is forbidden.
        for pattern, key, words in _ROUGH:
            if pattern.search(candidate):
                yield key, words, False
        for match in _RM.finditer(candidate):
            given = re.sub(r"[)}\]]+(\s|$)", " ", match[1]).split()
            if _ROOTS & set(given) and any(_RECURSIVE.match(each) for each in given):
                yield "delete-root", "deletes the system or the whole home", False
    if lost and _POWER.search(text):
        yield "power", "switches the machine off", False
    if re.search(r"/dev/(tcp|udp)/", bare):
        yield "raw-connection", "opens its own connection", False


# Shell text that is not directly part of a command: encoded, or in files. For the judge.

_MOST_BYTES = 64 * 1024
_MOST_TEXT = 9_000
_SHELL_LINE = re.compile(r"^#!.{0,80}\b(sh|bash|dash|ash|zsh|ksh)\b")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{4,4000}={0,2}")
_HEX = re.compile(r"[0-9a-fA-F\s:]{4,4000}")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|0?[0-7]{1,3}|u[0-9a-fA-F]{1,4}|[abefnrtv\\])")
_OF_ECHO = frozenset({"-n", "-e", "-E", "-en", "-ne", "--"})
_SETTING = re.compile(r"^[\w.-]+=!?(.+)$", re.DOTALL)
_TIMES = re.compile(r"^(?:[\d*/,-]+\s+){5}(.+)$", re.DOTALL)
_INSIDE = re.compile(r"[A-Za-z0-9+/]{10,400}={0,2}")
_MANY = re.compile(r"[\s(;]")
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}


def script_text(path: str) -> str:
    """Return the text of a shell script, as far as it can be judged; "" otherwise. Blocking."""
    try:
        place = Path(path)
        status = place.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return ""
        text = place.read_bytes()[:_MOST_BYTES].decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
    is_other = text.startswith("#!") and not _SHELL_LINE.match(text)
    return "" if is_other or "\x00" in text else text[:_MOST_TEXT]


def hidden_texts(reading: Reading) -> list[str]:
    """Return the texts in a command that other programs may run, as they are and decoded."""
    found: dict[str, None] = {}
    for text in _literals(reading):
        for each in _decoded(text):
            cleaned = each.strip()
            if cleaned:
                found.setdefault(cleaned[:_MOST_TEXT])
    return list(found)


def _literals(reading: Reading) -> Iterator[str]:
    divides = {
        each for c in reading.commands for name, v in c.assigned if name == "IFS" for each in v.text
    }
    for command in reading.commands:
        yield from command.given
        for _, value in command.assigned:
            yield "".join(" " if each in divides else each for each in value.text)
        program = command.words[0].text.rpartition("/")[2] if command.words else ""
        if program in {"echo", "printf"}:
            words = [each.text for each in command.words[1:] if each.text not in _OF_ECHO]
            yield " ".join(words)
            yield from words
        elif program in reading.functions:
            yield " ".join(each.text for each in command.words[1:])
            yield from (each.text for each in command.words[1:])
        elif program == "git":
            yield from (m[1] for w in command.words if (m := _SETTING.match(w.text)))
        elif program not in {"grep", "rg", "cd"}:
            texts = [each.text for each in command.words[1:]]
            yield from (each for each in texts if command.loop or _MANY.search(each))


def _decoded(text: str) -> Iterator[str]:
    yield text
    if "\\" in text:
        yield _ESCAPE.sub(_character, text)
    yield text[::-1]
    if text[:1] in {"!", ":"}:
        yield text.lstrip("!:")
    if job := _TIMES.match(text):
        yield job[1]
    whole = [text] if _BASE64.fullmatch(text) else _INSIDE.findall(text)[:_MOST_INSIDE]
    for each in whole:
        with contextlib.suppress(binascii.Error, ValueError):
            raw = base64.b64decode(each + "=" * (-len(each) % 4), b"-_" if "_" in each else None)
            yield raw.decode("utf-8", "replace")
    if _HEX.fullmatch(text):
        with contextlib.suppress(ValueError):
            yield bytes.fromhex(text.replace(":", " ")).decode("utf-8", "replace")
    if " " in text or len(text) < _MOST_ROT:
        yield codecs.encode(text, "rot13")


_MOST_ROT = 64
_MOST_INSIDE = 4


def _character(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xu01234567":
        value = int(code[1:], 16) if code[0] in "xu" else int(code, 8) & 0xFF
        return chr(value) if value else " "
    return _NAMED.get(code, " ")


# Assessment of the statements passed to database programs. Pure.

_LOSS = re.compile(
    r"\b(drop\s+(table|database|schema|index|view|user|role|collection)|truncate\s+(table\s+)?\w"
    r"|delete\s+from\s+[\w.\"`]+\s*(;|\"|'|$)|delete\s+from\s+(?!.*\bwhere\b)"
    r"|update\s+[\w.\"`]+\s+set\s+(?!.*\bwhere\b)|alter\s+table\s+.*\bdrop\b|grant\s+all"
    r"|dropdatabase|flushall|flushdb|deletemany\(\{\}\))",
    re.IGNORECASE | re.DOTALL,
)
_RUNS = re.compile(
    r"(^|[\s'\"])\.(shell|system|load|excel)\b|\\!|\bprogram\s{1,8}['\"]|\\[og]\s{0,8}\|"
    r"|(^|['\";])\s{0,8}(system|pager)\s{1,8}\S|load_extension",
    re.IGNORECASE | re.MULTILINE,
)
_CLIENTS = frozenset(
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


def loses_data(programs: AbstractSet[str], text: str) -> bool:
    """Return whether one of these programs may be told to delete data."""
    return bool(programs & _CLIENTS) and _LOSS.search(text) is not None


def runs_programs(programs: AbstractSet[str], text: str) -> bool:
    """Return whether one of these programs may be told to run other programs."""
    return bool(programs & _CLIENTS) and _RUNS.search(text) is not None


__all__ = ["Danger", "Judgement", "judge", "judge_command"]

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


def judge_command(text: str, places: Places) -> tuple[Danger, ...]:
    """Return what a command may do that needs approval, or is never run; () for nothing."""
    return judge(text, places).dangers


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
        self._databases(reading, text)
        if not self.trying and self.found.keys() & _RUNS_TEXT:
            self._try_hidden(reading, depth)

    def _too_deep(self) -> None:
        self.found.add("unreadable", "starts programs through too many others", hard=True)

    def _databases(self, reading: Reading, text: str) -> None:
        clients = {_base(each.words[0].text) for each in reading.commands if each.words}
        if loses_data(clients, text):
            self.found.add("sql-loss", "reads data from a database")
        if runs_programs(clients, text):
            self.found.add("runs-text", "lets a database program run others")

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
        if self.trying or depth >= _MOST_UNWRAPPED or not danger_programs.reads_shell(program):
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
