"""Shell text that is not directly part of a command: encoded, or in files. For the judge."""

import base64
import binascii
import codecs
import contextlib
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from hermes_desktop.agent.tools.danger.shell_reader import Reading

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
