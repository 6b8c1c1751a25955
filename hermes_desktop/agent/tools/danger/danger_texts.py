"""Findings from the text of a command: patterns, texts hidden in it, statements for databases."""

import base64
import binascii
import codecs
import contextlib
import re
import stat
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from hermes_desktop.agent.tools.danger.shell_expansion import unescaped
from hermes_desktop.agent.tools.danger.shell_words import Reading

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
_UNSEEN = re.compile(r"[\0\a\b\x1b\f\v]")
_OF_ECHO = frozenset({"-n", "-e", "-E", "-en", "-ne", "--"})
_SETTING = re.compile(r"^[\w.-]+=!?(.+)$", re.DOTALL)
_TIMES = re.compile(r"^(?:[\d*/,-]+\s+){5}(.+)$", re.DOTALL)
_INSIDE = re.compile(r"[A-Za-z0-9+/]{10,400}={0,2}")
_MANY = re.compile(r"[\s(;]")
_MOST_ROT = 64
_MOST_INSIDE = 4


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
        yield _UNSEEN.sub(" ", unescaped(text))
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
    {"psql", "mysql", "mariadb", "sqlite3", "mongo", "mongosh", "redis-cli", "sqlcmd",
     "clickhouse-client", "duckdb"}
)  # fmt: skip


def database_findings(programs: AbstractSet[str], text: str) -> Iterator[tuple[str, str]]:
    """Yield key and words of what one of these programs may be told to do."""
    if programs & _CLIENTS:
        if _LOSS.search(text):
            yield "sql-loss", "deletes or overwrites data in a database"
        if _RUNS.search(text):
            yield "runs-text", "lets a database program run others"
